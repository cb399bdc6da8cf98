"""JUnit's XML, which CI servers show as tests: of a gate, or of a run's cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from mbench.console import printable
from mbench.contract.axes import name
from mbench.results.gate import FAILED, INCONCLUSIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.results.gate import Gate
    from mbench.results.summary import Summary

__all__ = ["Test", "junit", "tests_of", "written"]


@dataclass(frozen=True, kw_only=True)
class Test:
    """One test case."""

    case: str
    message: str
    tag: str = ""
    """`failure`, `error` or `skipped`; empty where it passed."""


def tests_of(gate: Gate, messages: Iterable[str]) -> list[Test]:
    """The cases of a gate as tests, with a message each. An inconclusive case is skipped if that
    is allowed; else it is an error, so that no CI server takes it for a success.
    """
    tags = {FAILED: "failure", INCONCLUSIVE: "skipped" if gate.forgives else "error"}
    return [
        Test(case=case.case, message="; ".join(filter(None, (case.outcome, case.why, message))),
             tag=tags.get(case.outcome, ""))
        for case, message in zip(gate.cases, messages, strict=True)
    ]  # fmt: skip


def junit(summary: Summary, /) -> str:
    """The gate's cases; without a gate all cases of the run, which pass if they were measured."""
    if summary.gate is not None:
        from mbench.reports.verdicts import evidence, sentence

        said = [f"{sentence(summary, pair)} ({evidence(pair)})" for pair in summary.comparisons
                if pair.against_first]  # fmt: skip
        tests = tests_of(summary.gate, said)
    else:
        tests = [
            Test(
                case=f"{case.label}: {name(case.axes)}",
                message=case.outcome if case.outcome == "ok" else f"{case.outcome}: {case.reason}",
                tag="" if case.outcome == "ok" else "failure",
            )
            for case in summary.cases
        ]
    return written(f"mbench {summary.run}", "mbench", tests)


def written(title: str, group: str, tests: Sequence[Test]) -> str:
    """The document of one suite, with all its tests in one `group`."""
    tags = [test.tag for test in tests]
    suite = ElementTree.Element(
        "testsuite",
        name=printable(title),
        tests=str(len(tests)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
    )
    for test in tests:
        element = ElementTree.SubElement(
            suite, "testcase", classname=group, name=printable(test.case)
        )
        if test.tag:
            ElementTree.SubElement(element, test.tag, message=printable(test.message))
        else:
            ElementTree.SubElement(element, "system-out").text = printable(test.message)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
