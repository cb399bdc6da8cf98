"""Which comparisons of a run that is continued get more sets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.experiments import asked, measured_by

from mbench.measure.further import further
from mbench.measure.preflight import Checked
from mbench.results.run import load_run
from mbench.spec.adaptive import Adaptive
from mbench.spec.planning import plan

BEFORE = Adaptive(processes=3, budget_seconds=90.0)


@pytest.fixture
def continued(write_run, plugins):
    """A function that says how a run of three sets is continued with other constants."""

    def continued(*, set_seconds, **constants):
        seconds = {label: [[1.0, 1.1, 1.2]] * 3 for label in ("tiny", "flaky")}
        run = load_run(write_run(seconds=seconds, protocol=BEFORE, set_seconds=set_seconds))
        wanted = {"model": ("tiny-model",), "batch_size": (8,)}
        comparisons = plan(asked(frameworks=tuple(seconds), wanted=wanted), plugins)
        experiment = measured_by(replace(BEFORE, **constants))
        checked = Checked(experiment=experiment, comparisons=tuple(comparisons), launcher=None)
        return further(run, checked).get(0)

    return continued


@pytest.mark.parametrize("known", [30.0, None])
def test_sets_are_added_even_if_the_last_session_had_none_to_measure(continued, known):
    """Such a session does not know how long a set takes; the budget tells how long it may."""
    more = continued(set_seconds=known, processes=6)
    assert (more.processes, more.budget_seconds) == (6, 100.0)
    more = continued(set_seconds=known, budget_seconds=60.0)
    assert (more.processes, more.budget_seconds) == (5, 60.0)
    assert continued(set_seconds=known) is None
