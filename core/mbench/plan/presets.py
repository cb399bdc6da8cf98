"""The protocols by name, and the options that replace their constants."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from mbench.contract.reading import Malformed, read_fields
from mbench.errors import UsageError
from mbench.plan.adaptive import Adaptive
from mbench.plan.counted import Counted
from mbench.plugins import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.plan.protocol import Protocol

__all__ = ["EFFORTS", "OPTIONS", "PRESETS", "choose", "written_down"]

PRESETS: dict[str, Protocol] = {
    preset.name: preset
    for preset in (
        Adaptive(),
        # DLPerf's README: 20 steps ignored, the next 100 timed, the median of 7 repetitions.
        Counted(name="dlperf", processes=7, warmup_steps=20, steps=100),
        # SuperBench's num_warmup and num_steps; every step is synchronised and timed.
        Counted(
            name="superbench", warmup_steps=64, steps=2048, step_by_step=("train", "inference")
        ),
        # NVIDIA DeepLearningExamples' MXNet benchmark.py as its tables were made: -i 500 -e 3 -w 1.
        Counted(
            name="nvidia",
            steps=500,
            epochs=3,
            warmup_epochs=1,
            step_by_step=("inference",),
            percentiles_by_epoch=True,
        ),
    )
}

EFFORTS: dict[str, dict[str, float]] = {
    "fast": {"processes": 3, "budget": 60.0},
    "rigorous": {"processes": 10, "until": 0.02, "budget": 3600.0},  # ten are judged by ranks
}
"""Sets of options by one word, for mbench's own protocol."""

OPTIONS = {
    "processes": "processes",
    "rounds": "rounds",
    "block": "block_seconds",
    "budget": "budget_seconds",
    "until": "half_width_goal",
    "max_processes": "most_processes",
    "steps": "steps",
    "warmup_steps": "warmup_steps",
    "epochs": "epochs",
    "warmup_epochs": "warmup_epochs",
    "duration": "duration_seconds",
    "timeout": "timeout_seconds",
    "memory_limit": "memory_limit_bytes",
    "seed": "seed",
}
"""The constant that each option of the command line replaces."""


def choose(name: str, options: Mapping[str, Any]) -> Protocol:
    """The protocol called `name` with its constants replaced by those `options` that are given.

    Raises UsageError for a name that there is not, and for an option that is another protocol's.
    """
    if name not in PRESETS:
        raise UsageError(f"unknown protocol {name!r}{nearest(name, PRESETS)}", option="--protocol")
    preset = PRESETS[name]
    known = {field.name for field in fields(preset) if field.init}
    effort = options.get("effort")
    if effort is not None and not isinstance(preset, Adaptive):
        flag = f"--{effort}"
        raise UsageError(f"{flag} is for the protocol adaptive, not for {name}", option=flag)
    given = {option: options[option] for option in OPTIONS if options.get(option) is not None}
    given = {**EFFORTS.get(effort or "", {}), **given}
    for option in given:
        if OPTIONS[option] not in known:
            flag = f"--{option.replace('_', '-')}"
            takes = ", ".join(f"--{o.replace('_', '-')}" for o in OPTIONS if OPTIONS[o] in known)
            raise UsageError(f"{flag} is not for the protocol {name}, which takes {takes}",
                             option=flag)  # fmt: skip
    if "max_processes" in given and "until" not in given:
        raise UsageError("--max-processes bounds --until; give both", option="--max-processes")
    return replace(preset, **{OPTIONS[option]: value for option, value in given.items()})


def written_down(constants: Any) -> Protocol:
    """The protocol that a run was measured by, from its constants; raises Malformed."""
    name = constants.get("name") if isinstance(constants, dict) else None
    if not isinstance(name, str) or name not in PRESETS:
        raise Malformed(f"no protocol is called {name!r:.60}")
    try:
        found: Protocol = read_fields(type(PRESETS[name]), constants, where=name, lenient=True)
    except UsageError as error:  # constants that contradict each other
        raise Malformed(f"{name}: {error}") from None
    return found
