"""From options to a protocol: the constants that each of them replaces."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from mbench.errors import UsageError
from mbench.plugins.manager import nearest
from mbench.spec.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.spec.protocol import Protocol

__all__ = ["EFFORTS", "OPTIONS", "effort_of", "protocol_of"]

EFFORTS: dict[str, dict[str, Any]] = {
    "fast": {"processes": 3, "budget": 120.0, "mfu": False},
    "rigorous": {"processes": 10, "until": 0.02, "budget": 3600.0},  # ten are judged by ranks
}
"""Sets of options by one word, for mbench's own protocol."""

OPTIONS = {
    "processes": "processes",
    "rounds": "rounds",
    "builds": "builds",
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


def effort_of(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options that a word among `options` stands for; one that is given itself wins."""
    return EFFORTS.get(options.get("effort") or "", {})


def protocol_of(name: str, options: Mapping[str, Any]) -> Protocol:
    """The protocol called `name` with its constants replaced by those `options` that are given.

    Raises UsageError for a name that there is not, and for an option that is another protocol's.
    """
    if name not in PRESETS:
        raise UsageError(f"unknown protocol {name!r}{nearest(name, PRESETS)}", option="--protocol")
    preset = PRESETS[name]
    known = {field.name for field in fields(preset) if field.init}
    effort = {option: value for option, value in effort_of(options).items() if option in OPTIONS}
    if any(OPTIONS[option] not in known for option in effort):
        flag = f"--{options['effort']}"
        raise UsageError(f"{flag} is for the protocol adaptive, not for {name}", option=flag)
    given = {option: options[option] for option in OPTIONS if options.get(option) is not None}
    given = {**effort, **given}
    for option in given:
        if OPTIONS[option] not in known:
            flag = f"--{option.replace('_', '-')}"
            takes = ", ".join(f"--{o.replace('_', '-')}" for o in OPTIONS if OPTIONS[o] in known)
            raise UsageError(f"{flag} is not for the protocol {name}, which takes {takes}",
                             option=flag)  # fmt: skip
    if "max_processes" in given and "until" not in given:
        raise UsageError("--max-processes bounds --until; give both", option="--max-processes")
    return replace(preset, **{OPTIONS[option]: value for option, value in given.items()})
