"""What is recorded about a case besides its times."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from support.experiments import asked

from mbench.contract.adapter import FrameworkInfo
from mbench.engine.outcome import CaseEnded
from mbench.environments.environment import Environment
from mbench.measure import facts
from mbench.proofs.tolerances import DROPPED, TIMED, TIMED_LOSSES
from mbench.results import events
from mbench.results.calibration import Calibration, keep
from mbench.results.identity import planned_identity
from mbench.spec.planning import plan


@pytest.fixture
def comparison(plugins):
    sweep = asked(
        frameworks=("tiny", "flaky==1"), wanted={"model": ("tiny-model",), "batch_size": (8,)}
    )
    (comparison,) = plan(sweep, plugins)
    return comparison


def test_a_case_says_what_it_is_and_how_much_work(comparison):
    tiny, flaky = facts.cases(comparison)
    assert (tiny.case, flaky.case, flaky.comparison) == (0, 1, 0)
    assert (flaky.label, flaky.framework, flaky.framework_title) == ("flaky==1", "flaky", "Flaky")
    assert tiny.axes == comparison.entries[0].case
    assert tiny.flops_per_sample == 3 * 2 * 256 * 64
    assert (tiny.samples, tiny.standard, tiny.gates.answers) == ("samples", True, TIMED["fp32"])


@pytest.mark.parametrize(
    ("model", "precision", "gate"),
    [("resnet18", "fp32", TIMED["fp32"]), ("resnet18", "bf16", TIMED_LOSSES["bf16"]),
     ("bert-base", "fp32", DROPPED)],
)  # fmt: skip
def test_first_losses_may_lie_further_apart_where_dropout_draws(plugins, model, precision, gate):
    sweep = asked(frameworks=("tiny",), wanted={"model": (model,), "precision": (precision,)})
    (comparison,) = plan(sweep, plugins)
    assert facts.gates(comparison.entries[0].case).answers == gate


@pytest.mark.parametrize(
    ("model", "precision", "held"),
    [("resnet18", "fp32", {"norm", "direction", "statistics", "growth"}),
     ("resnet18", "bf16", {"norm", "direction"}), ("resnet18", "fp16", set()),
     ("bert-base", "fp32", {"norm", "tensor", "growth"}), ("bert-base", "bf16", {"norm"})],
)  # fmt: skip
def test_updates_are_held_to_what_shows_of_them(plugins, model, precision, held):
    sweep = asked(frameworks=("tiny",), wanted={"model": (model,), "precision": (precision,)})
    (comparison,) = plan(sweep, plugins)
    gates = vars(facts.gates(comparison.entries[0].case))
    assert {n for n in ("norm", "tensor", "direction", "statistics", "growth") if gates[n]} == held


def test_an_environment(comparison):
    found = Environment(
        label="tiny", python=Path("/a/python"), python_version="3.12.1", managed=True, digest="d",
        packages={"numpy": "2"},
    )  # fmt: skip
    assert facts.environment(comparison.entries[1], found) == events.Environment(
        case=1, python="/a/python", python_version="3.12.1", managed=True, digest="d",
        packages={"numpy": "2"}, installed=facts.digest_of(found),
    )  # fmt: skip


def test_what_is_known_of_this_machines_noise_stands_beside_the_framework(comparison, machine):
    (tiny, _), system = comparison.entries, machine()
    info = FrameworkInfo(version="1.2", devices=["cpu"], device_name="CPU", threads=1)
    of_case = events.Framework(case=0, **vars(info))
    assert list(facts.framework(tiny, info, system)) == [of_case]
    known = Calibration(
        run="r", started=datetime.now(timezone.utc).isoformat(), ratios=[1.0], disturbances=[]
    )
    here = planned_identity(tiny.case, framework="tiny", version="1.2", system=system)
    keep(here, known)
    calibrated = events.Calibration(case=0, **vars(known))
    assert list(facts.framework(tiny, info, system)) == [of_case, calibrated]
    other = replace(system, cpu="another")
    assert list(facts.framework(tiny, info, other)) == [of_case]


@pytest.mark.parametrize(("log", "written"), [(Path("logs", "3.log"), "logs/3.log"), (None, None)])
def test_how_a_case_fell_short(comparison, log, written):
    found = facts.outcome(comparison.entries[0], CaseEnded("oom", "too large", log=log))
    assert found == events.Outcome(case=0, outcome="oom", reason="too large", log=written)
