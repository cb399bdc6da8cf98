"""Options that replace the constants of protocols, and those that cannot."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mbench.errors import UsageError
from mbench.spec.adaptive import Adaptive
from mbench.spec.build import build, launch_of, protocol_of
from mbench.spec.experiment import Checks, Launch


def test_options_replace_constants_and_nothing_else():
    assert protocol_of({"seed": 0, "models": ("x",)}) == Adaptive()
    chosen = protocol_of({"protocol": "dlperf", "steps": 7, "seed": 3, "timeout": 5.0})
    assert (chosen.steps, chosen.seed) == (7, 3)
    assert (chosen.name, chosen.warmup_steps, chosen.processes) == ("dlperf", 20, 7)
    assert protocol_of({"until": 0.02}).half_width_goal == 0.02
    assert launch_of({"timeout": 5.0, "device": "cuda"}) == Launch(
        timeout_seconds=5.0, device="cuda"
    )


def test_an_effort_is_a_set_of_options_and_what_is_given_beside_it_wins():
    fast, rigorous = (protocol_of({word: True}) for word in ("fast", "rigorous"))
    assert (fast.processes, fast.budget_seconds, fast.half_width_goal) == (3, 120.0, None)
    assert (rigorous.processes, rigorous.half_width_goal) == (10, 0.02)
    assert rigorous.budget_seconds > Adaptive().budget_seconds > fast.budget_seconds
    own = protocol_of({"rigorous": True, "until": 0.05, "rounds": 3})
    assert (own.half_width_goal, own.rounds, own.processes) == (0.05, 3, 10)


@pytest.mark.parametrize(
    ("name", "options", "option", "words"),
    [
        ("dlperv", {}, "--protocol", "did you mean dlperf?"),
        (
            "dlperf",
            {"rounds": 3},
            "--rounds",
            "which takes --processes, --seed, --metric, --warmup-steps",
        ),
        ("adaptive", {"warmup_steps": 3}, "--warmup-steps", "not for the protocol adaptive"),
        ("adaptive", {"max_processes": 3}, "--max-processes", "limits --until"),
        ("adaptive", {"max_processes": 3, "until": 0.1}, None, "3 is less than --processes 5"),
        ("nvidia", {"epochs": 1}, None, "leave none to time"),
        ("dlperf", {"fast": True}, "--fast", "is for the protocol adaptive"),
    ],
)
def test_contradictions_are_told_in_one_line(name, options, option, words):
    with pytest.raises(UsageError) as caught:
        protocol_of({"protocol": name, **options})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.option == option


class Adapters:
    """Plugins with made-up adapters; each has a switch for the compiler of its name."""

    def __init__(self, *names):
        adapters = {name: SimpleNamespace(switches=(name,)) for name in names}
        self.adapters = SimpleNamespace(unique=lambda: adapters)


def made(**given):
    return build(["one", "two"], given, Adapters("fuse", "go"))


def test_a_switch_chooses_its_compiler():
    def compilers(**given):
        return made(**given).sweeps[0].axes.get("compiler")

    assert compilers() is None
    assert compilers(fuse=True) == ("fuse",)
    assert compilers(fuse=False) is None
    assert compilers(fuse=True, compiler=("fuse", "x")) == ("fuse", "x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fuse": True, "compiler": ("x",)}, "--fuse contradicts --compiler x; give one of them"),
        ({"fuse": False, "compiler": ("fuse",)}, "--no-fuse contradicts --compiler fuse"),
        ({"steady": True, "steadiness": ("usual",)}, "--steady contradicts --steadiness usual"),
        ({"models": ("a",), "operators": ("b",)}, "--operators and --models both say what to"),
        ({"size": {"n": 1}, "image_size": {"n": 2}}, "n is given as 1 and as 2; give one of them"),
        ({"fast": True, "rigorous": True}, "--fast and --rigorous contradict each other"),
    ],
)
def test_what_contradicts_is_said(given, said):
    with pytest.raises(UsageError, match=said):
        made(**given)


def test_every_part_of_an_experiment_is_built():
    experiment = made(
        models=("a",), clip=False, size={"n": 2}, amp=True, fast=True, device="cpu", threads=3,
        allow_unequal=True, hosts="a,b",
    )  # fmt: skip
    assert [arm.text for arm in experiment.arms] == ["one", "two"]
    (sweep,) = experiment.sweeps
    assert sweep.axes == {"model": ("a",), "clip": (False,)}
    assert (sweep.sizes, sweep.amp, sweep.operators) == ({"n": 2}, True, False)
    assert experiment.protocol.processes == 3
    assert experiment.launch == Launch(device="cpu", threads=3, hosts="a,b")
    assert experiment.checks == Checks(mfu=False, allow_unequal=True)
    assert made(fast=True, mfu=True).checks.mfu
    assert made(operators=("a",)).sweeps[0].operators
