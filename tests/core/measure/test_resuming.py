"""What a continued run takes over from the run before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.experiments import asked

from mbench.contract.adapter import Support
from mbench.measure.facts import cases
from mbench.measure.resume import as_found
from mbench.results.records import CaseRecord, Run
from mbench.spec.planning import plan


@pytest.mark.parametrize(("compiler", "supported"), [("steady", True), ("imaginary", False)])
def test_a_compiler_that_was_found_comes_with_its_own_support(plugins, compiler, supported):
    """The placeholder's says nothing about it."""
    wanted = {"model": ("tiny-model",), "compiler": ("best",)}
    _, best = plan(asked(frameworks=("tiny", "flaky"), wanted=wanted), plugins)
    tiny, flaky = best.entries
    placeholder = Support.no("not eager") if supported else flaky.support
    best = replace(best, entries=(tiny, replace(flaky, support=placeholder)))
    found = replace(best, entries=(
        tiny, replace(flaky, case=replace(flaky.case, compiler=compiler))
    ))  # fmt: skip
    run = Run(Path("run"), None, cases={case.case: CaseRecord(case) for case in cases(found)})
    differences = []
    _, again = as_found(run, best, differences).entries
    assert differences == []
    assert (again.case.compiler, again.support.supported) == (compiler, supported)
