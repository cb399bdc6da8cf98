"""All options of an experiment, in the order of the help, derived from the fields that they set."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING

from mbench.contract.axes import AXES, MACHINE, Sizes, Variables
from mbench.machine import devices
from mbench.spec import values
from mbench.spec.adaptive import Adaptive
from mbench.spec.data import sources
from mbench.spec.experiment import AUTO, Checks, Launch
from mbench.spec.fixed_steps import Counted
from mbench.spec.option import Option, asked_fields
from mbench.spec.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.contract.axes import Axis
    from mbench.plugins.manager import Plugins
    from mbench.spec.protocol import Protocol

__all__ = [
    "CASES",
    "CHECKS",
    "CONSTANTS",
    "EFFORTS",
    "IN_SUITES",
    "LAUNCH",
    "OPTIONS",
    "PROTOCOL",
    "TRAINING",
    "constants_of",
    "switches",
]

EFFORTS: Mapping[str, Mapping[str, object]] = {
    "fast": {"processes": 3, "budget": 120.0, "mfu": False},
    "rigorous": {"processes": 10, "until": 0.02, "budget": 3600.0},  # enough for rank tests
}
"""Sets of options that one word stands for, in mbench's own protocol."""


def known_devices() -> Sequence[str]:
    return (AUTO, *devices.names())


def device(value: object) -> str:
    return values.choice(*known_devices())(value)


NAMES = {"model": "models", "sizes": "size"}
"""Names of options that differ from those of their axes."""
SEVERAL: Mapping[object, str] = {int: "NUMBERS", str: "LIST"}
"""What the help calls several values, by their kind."""
READERS: Mapping[str, values.Reader] = {
    "batch_size": values.numbers("max"), "device": device,
    "data": sources, "mode": values.modes, "sizes": values.sizes,
    "threads": values.whole,
}  # fmt: skip
DEFAULTS = {
    "batch_size": "what suits the model and device", "device": AUTO,
    "threads": "the cores that mbench may use",
}  # fmt: skip
SHORT: Mapping[str, tuple[Option, ...]] = {
    "model": (
        Option(name="operators", read=values.names, metavar="MODELS", axis="model",
               says="Instead of --models: measure each operator of these models once, at the "
               "sizes that it has there."),
    ),
    "precision": (
        Option(name="amp", read=values.switch, says="Mixed precision: amp-fp16 on CUDA "
               "where the framework has it, else amp-bf16."),
    ),
    "steadiness": (
        Option(name="steady", read=values.switch, says="Same as --steadiness steady: memory in "
               "huge pages, fixed addresses and fixed cores for every process."),
    ),
    "sizes": (
        Option(name="image_size", read=values.size("image_size"), metavar="PIXELS",
               says="Pixels per side, for small machines; marked as non-standard."),
        Option(name="sequence_length", read=values.size("sequence_length"), metavar="TOKENS",
               says="Tokens per sequence, for small machines; marked as non-standard."),
        Option(name="prompt_length", read=values.size("prompt_length"), metavar="TOKENS",
               says="Tokens of each prompt, in prefill and decode."),
        Option(name="new_tokens", read=values.size("new_tokens"), metavar="TOKENS",
               says="Tokens that follow each prompt one by one, in decode."),
    ),
}  # fmt: skip
"""Other ways to set an axis, besides its own option and the switches of compilers."""


def of_axis(axis: Axis) -> Option:
    """The option of an axis; if it is not given, the sweep uses the usual value."""
    name, default = NAMES.get(axis.name, axis.name), axis.first or axis.usual
    read: values.Reader
    if axis.kind is bool:
        read, default = values.switch, f"{'' if axis.usual else 'no-'}{name}"
    elif axis.kind is int and axis.name not in READERS:
        read = values.numbers(least=min(1, axis.usual))
    else:
        read = READERS.get(axis.name, values.names)
    return Option(
        name=name, read=read, says=axis.says, axis=axis.name,
        default=DEFAULTS.get(axis.name, "" if axis.kind == Sizes else str(default)),
        metavar=SEVERAL.get(axis.kind, "") if axis.many else "",
        choices=known_devices if axis.name == "device" else None,
    )  # fmt: skip


CASES: tuple[Option, ...] = tuple(
    option
    for axis in AXES
    if axis.asked and axis.kind != Variables  # variables for all are set for mbench itself
    for option in (of_axis(axis), *SHORT.get(axis.name, ()))
)
"""What is measured."""
IN_SUITES = tuple(option for option in CASES if option.axis not in MACHINE)
"""What a suite's sweep may set: what is measured, not where."""


def switches(plugins: Plugins) -> tuple[Option, ...]:
    """The switches of compilers, provided by adapters: each is a short way to name a compiler."""
    adapters = plugins.adapters.unique().values()
    names = dict.fromkeys(name for adapter in adapters for name in adapter.switches)
    return tuple(
        Option(name=name, read=values.switch, says=f"Same as --compiler {name}.") for name in names
    )


CONSTANTS: Mapping[str, str] = {
    option.name: field
    for kind in (Adaptive, Counted)
    for field, option in asked_fields(kind).items()
}
"""The constant of a protocol that each option replaces."""


def constants() -> Iterator[Option]:
    """Options of constants, with each protocol's default and the protocols that have it."""
    found = {option.name: option for kind in (Adaptive, Counted)
             for option in asked_fields(kind).values()}  # fmt: skip
    for name, option in found.items():
        having = {p.name: p for p in PRESETS.values() if CONSTANTS[name] in constants_of(p)}
        says = option.says.removesuffix(".")
        if all(isinstance(one, Adaptive) for one in having.values()):
            says += " (adaptive)"
        elif all(isinstance(one, Counted) for one in having.values()):
            says += " (published protocols)"
        default = option.default or in_words({p: getattr(one, CONSTANTS[name])
                                              for p, one in having.items()})  # fmt: skip
        yield replace(option, says=f"{says}.", default=default)


def constants_of(protocol: Protocol) -> set[str]:
    """The constants of a protocol that can be replaced."""
    return {field.name for field in fields(protocol) if field.init}


def in_words(by_protocol: Mapping[str, object]) -> str:
    """ "5; dlperf 7, superbench 1": mbench's own protocol is not named."""
    first = next(iter(by_protocol.values()))
    if all(value == first for value in by_protocol.values()):
        return "" if first is None else number(first)
    own = by_protocol.get(Adaptive().name)
    others = ", ".join(f"{name} {number(value)}" for name, value in by_protocol.items()
                       if value != own)  # fmt: skip
    return others if own is None else f"{number(own)}; {others}"


def number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


PROTOCOL: tuple[Option, ...] = (
    Option(name="protocol", read=values.text, default=Adaptive().name,
           says="How to measure: adaptive, or as published: dlperf, superbench, nvidia."),
    Option(name="fast", read=values.switch, one_way=True,
           says="For a first look: 3 processes in about 120 s, without MFU. Explicit options "
           "take precedence (adaptive)."),
    Option(name="rigorous", read=values.switch, one_way=True,
           says="For publication: 10 processes or more, until all intervals are within 2%, for "
           "at most 3600 s. Explicit options take precedence (adaptive)."),
    *constants(),
)  # fmt: skip
"""How it is measured."""


def of_fields(kind: type[Launch] | type[Checks]) -> Iterator[Option]:
    defaults = {field.name: field.default for field in fields(kind)}
    for name, option in asked_fields(kind).items():
        default = defaults[name]
        if option.default or default is MISSING or default is None or option.one_way:
            yield option
        elif isinstance(default, bool):
            yield replace(option, default=option.key if default else f"no-{option.key}")
        else:
            yield replace(option, default=number(default))


LAUNCH = tuple(of_fields(Launch))
"""Where workers run, and how they are started, besides the axes of machines."""
CHECKS = tuple(of_fields(Checks))
"""What is done besides measuring."""
OPTIONS: Mapping[str, Option] = {
    option.name: option for option in (*CASES, *PROTOCOL, *LAUNCH, *CHECKS)
}
"""All options by keyword, except the `switches` that adapters provide."""
ONE = {
    "precision": OPTIONS["precision"].says,
    "tier": "How far frameworks are tuned: default follows their first tutorials, tuned their "
    "performance guides.",
    "compiler": "A compiler by name; default is the tier's own.",
}
"""What the help says of options of which a training run takes a single value."""
TRAINING = tuple(
    replace(option, says=ONE[option.name], metavar="NAME") if option.name in ONE else option
    for option in (*CASES, *LAUNCH)
    if option.axis in ("precision", "tier", "compiler", "device", "threads")
    or option.name in ("amp", "provision", "timeout", "memory_limit")
)  # fmt: skip
"""The options that training runs also have; the task says what else is trained, and how."""
