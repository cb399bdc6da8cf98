"""A run's file in which one value is wrong is refused in one line, or all reports show it."""

from __future__ import annotations

import copy
import functools
import json
from contextlib import suppress
from dataclasses import replace
from importlib import import_module

import pytest
from screens import on_screen

from mbench.cli.builtin import LAYOUTS
from mbench.contract.device import warn
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.reports import html
from mbench.reports.formats import FORMATS
from mbench.results import events
from mbench.results.difference import differ
from mbench.results.encoding import encode
from mbench.results.events import EVENTS
from mbench.results.facts import Tried
from mbench.results.folder import EVENTS_FILE
from mbench.results.proof import FindingRecord
from mbench.results.run import load_run
from mbench.results.summary import analyse
from mbench.spec.adaptive import Adaptive
from mbench.spec.presets import PRESETS

SAMPLE = {"at_nanoseconds": 5, "busy_seconds": 3.0, "stolen_seconds": 0.0, "worker_seconds": 1.0,
          "available_bytes": 100, "page_faults": 7, "mhz": 2000.0, "joules": 9.0,
          "gpu": {"celsius": 50, "slowed_by": 4}}  # fmt: skip
LATER = {**SAMPLE, "at_nanoseconds": 10**9, "busy_seconds": 5.0, "joules": 19.0}
MISSING = object()
WRONG = (MISSING, None, "x", "\ud800", 0, -1, 1.5, True, [], {}, [[]], 2**63 - 1, 10**30, 1e308)
FINDING = FindingRecord(
    check="outputs", error=1e-12, gate=1e-9, where="logits", note="", passed=True
)


@pytest.fixture
def whole_run(write_run, proven, machine):
    """A function that writes a run in which every event occurs, with the protocol of that name."""

    def whole_run(protocol):
        folder = write_run(
            seconds={"tiny": [[1.0, 1.1], [1.2], [1.1]], "flaky": [[2.0, 2.1], [1.9], [2.0]]},
            single={"tiny": [5.0, 6.0]},
            watched={"tiny": [[[SAMPLE, SAMPLE, LATER]] * 2, [[SAMPLE, LATER]], [[SAMPLE, LATER]]]},
            ceiling={"tiny": [{"operator": "matmul", "size": 8, "amount": 1, "steps": 1,
                               "nanoseconds": [7]},
                              {"operator": "add", "size": 8, "reason": "unsupported: no"}]},
            calibrated={"tiny": [1.0, 0.9, 1.1]},
            ends={"flaky==1": CaseEnded("oom", "too large")},
            proofs={"tiny": replace(proven.yes, findings=[FINDING]), "flaky": proven.no},
            system={"gpus": [{"name": "G", "driver_version": "1"}], "variables": {"A": "1"}},
            protocol=PRESETS[protocol], set_seconds=7.0, frameworks=("tiny", "flaky", "flaky==1"),
        )  # fmt: skip
        of_process = {"case": 0, "process": 0}
        tried = [Tried(value=8, step_seconds=0.1, peak_bytes=1)]
        more = [
            events.OperatorCounts(comparison=0, counts={"resnet50": 3}),
            events.DataSet(
                comparison=0,
                folder="/p",
                files=9,
                classes=0,
                names="ab",
                digest="cd",
                digest_of="sizes",
            ),
            events.Pixels(case=0, grade="equal", largest=0.0, mean=0.0, psnr=None, failures=[]),
            events.PartBlock(**of_process, round=0, part="step", steps=4, nanoseconds=5),
            events.Search(comparison=0, label="tiny", what="batch_size", chosen=8, tried=tried),
            events.Environment(
                case=0,
                python="/p",
                python_version="3.11",
                managed=True,
                digest="d",
                packages={"a": "1"},
            ),
            events.WorkerState(
                **of_process,
                rank=0,
                interpreter="CPython 3.11.7",
                garbage_collector="off",
                allocator="/libc.so",
                cores="0",
                scheduling="",
                boot_id="b",
                slowing={"tracemalloc": "PYTHONTRACEMALLOC=1"},
            ),
            events.Evidence(
                **of_process,
                round=0,
                each=False,
                step=20,
                due=115.0,
                batch=3,
                loss=4.0,
                outputs={"logits": (1.0,) * 6},
                waited=10**9,
                looked=10**6,
            ),
            *(
                events.Changes(
                    **of_process,
                    step=step,
                    due=6.0 * step,
                    parameters={"w": (1.0,) * 6},
                    statistics={"m": (1.0,) * 6},
                )
                for step in (16, 20)
            ),
            events.Build(
                **of_process,
                round=1,
                prepare_seconds=0.1,
                first_step_nanoseconds=10**9,
                warmup_blocks=[(1, 10**9)],
            ),
            events.Rounding(
                case=0, answers=0.1, norm=0.1, tensor=0.1, direction=0.1, statistics=0.1
            ),
            events.Node(case=0, host="b", ranks=[0], system=machine()),
            *(
                events.PastRatio(
                    case=1,
                    baseline=0,
                    run=run,
                    started="then",
                    ratio=0.5,
                    low=0.4,
                    high=0.6,
                    process_pairs=3,
                )
                for run in ("r", "s")
            ),
            events.Surroundings(checks=[warn("other load", "1.0 of 2 cores", "end it")]),
            events.OtherMbench(pid=1, since="then"),
            events.Absence(ended="then", seconds=8.0, what="mbench"),
            events.Resumed(arguments=["mbench"], mbench="0.1.0", at="then", protocol=Adaptive()),
        ]
        with (folder / EVENTS_FILE).open("a") as file:
            file.writelines(encode(event) + "\n" for event in more)
        return folder

    return whole_run


def places(value, at=()):
    """The paths to everything within an event; of each list, only to its first item."""
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for name, part in inner:
        if isinstance(part, dict | list):
            yield from places(part, (*at, name))
        elif name != "event":
            yield (*at, name)


def changed(event, place, value):
    made = copy.deepcopy(event)
    holder = made
    for name in place[:-1]:
        holder = holder[name]
    if value is MISSING:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return made


def render_all(summary, whole):
    for render in FORMATS.values():
        on_screen(render(summary)).encode()
    for name in LAYOUTS:
        with suppress(MbenchError):  # it may have no row for such a run
            import_module(f"mbench.reports.compat_formats.{name}").render(summary, format_="csv")
    with suppress(MbenchError):  # no case in common
        differ(whole, summary, fail_if_slower=0.03)


@pytest.mark.parametrize(
    ("protocol", "kinds", "fewest"), [("adaptive", set(EVENTS), 170), ("nvidia", {"run"}, 40)]
)
def test_a_wrong_value_is_refused_in_one_line_or_shown_by_all_reports(
    whole_run, monkeypatch, protocol, kinds, fewest
):
    monkeypatch.setattr(html, "template", functools.cache(html.template))  # once for all pages
    folder = whole_run(protocol)
    path = folder / EVENTS_FILE
    lines = path.read_text().splitlines()
    made = [json.loads(line) for line in lines]
    assert {event["event"] for event in made} == set(EVENTS)
    whole = analyse(load_run(folder))
    render_all(whole, whole)
    tried, shown, refusals = set(), {repr(whole)}, []
    for at, event in enumerate(made):
        for place in places(event) if event["event"] in kinds else ():
            kind = (event["event"], *(0 if isinstance(name, int) else name for name in place))
            if kind in tried:
                continue
            tried.add(kind)
            for value in WRONG:
                line = json.dumps(changed(event, place, value))
                path.write_text("\n".join((*lines[:at], line, *lines[at + 1 :], "")))
                try:
                    summary = analyse(load_run(folder))
                except MbenchError as error:
                    refusals.append(str(error))
                    continue
                refusals += summary.oddities
                if repr(summary) not in shown:
                    shown.add(repr(summary))
                    render_all(summary, whole)
    assert len(tried) > fewest
    assert len(refusals) > 5 * fewest
    assert not any("\n" in said for said in refusals)
