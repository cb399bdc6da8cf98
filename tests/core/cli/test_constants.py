"""Options that replace the constants of protocols, and those that cannot."""

from __future__ import annotations

import pytest

from mbench.cli.constants import protocol_of
from mbench.errors import UsageError
from mbench.spec.adaptive import Adaptive


def test_options_replace_constants_and_nothing_else():
    assert protocol_of("adaptive", {"seed": 0, "rounds": None, "models": ("x",)}) == Adaptive()
    chosen = protocol_of("dlperf", {"steps": 7, "seed": 3, "timeout": 5.0})
    assert (chosen.steps, chosen.seed, chosen.timeout_seconds) == (7, 3, 5.0)
    assert (chosen.name, chosen.warmup_steps, chosen.processes) == ("dlperf", 20, 7)
    assert protocol_of("adaptive", {"until": 0.02}).half_width_goal == 0.02


def test_an_effort_is_a_set_of_options_and_what_is_given_beside_it_wins():
    fast, rigorous = (protocol_of("adaptive", {"effort": word}) for word in ("fast", "rigorous"))
    assert (fast.processes, fast.budget_seconds, fast.half_width_goal) == (3, 120.0, None)
    assert (rigorous.processes, rigorous.half_width_goal) == (10, 0.02)
    assert rigorous.budget_seconds > Adaptive().budget_seconds > fast.budget_seconds
    own = protocol_of("adaptive", {"effort": "rigorous", "until": 0.05, "rounds": 3})
    assert (own.half_width_goal, own.rounds, own.processes) == (0.05, 3, 10)


@pytest.mark.parametrize(
    ("name", "options", "option", "words"),
    [
        ("dlperv", {}, "--protocol", "did you mean dlperf?"),
        ("dlperf", {"rounds": 3}, "--rounds", "which takes --processes, --steps"),
        ("adaptive", {"warmup_steps": 3}, "--warmup-steps", "not for the protocol adaptive"),
        ("adaptive", {"max_processes": 3}, "--max-processes", "bounds --until"),
        ("adaptive", {"max_processes": 3, "until": 0.1}, None, "3 is less than --processes 5"),
        ("nvidia", {"epochs": 1}, None, "leave none to time"),
        ("dlperf", {"effort": "fast"}, "--fast", "is for the protocol adaptive"),
    ],
)
def test_contradictions_are_told_in_one_line(name, options, option, words):
    with pytest.raises(UsageError) as caught:
        protocol_of(name, options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.option == option
