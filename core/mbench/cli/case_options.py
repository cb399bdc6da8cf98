"""The options that say what is measured, one for each axis of a case."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from mbench.cli.complete import of_axis
from mbench.cli.options import COMMAS, SIZE, Commas, DeviceName, apply
from mbench.contract.axes import AXES, Variables
from mbench.errors import UsageError

if TYPE_CHECKING:
    from mbench.cli.options import Decorator
    from mbench.contract.axes import Axis

__all__ = ["KEYS", "Size", "case_options", "join"]


class Numbers(Commas):
    """A comma-separated list of whole numbers, or of `words` among them."""

    name = "numbers"

    def __init__(self, *words: str, least: int = 1) -> None:
        self.words, self.least = words, least

    def item(
        self, text: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        if text in self.words:
            return text
        if not text.isdecimal() or int(text) < self.least:
            nor = "".join(f", nor {word}" for word in self.words)
            self.fail(f"{text!r} is not a whole number of {self.least} or more{nor}", param, ctx)
        return int(text)


class Size(click.ParamType[Any]):
    """A size of a model, as a mapping: "image_size=96"; or the value alone of the one named."""

    name = "size"

    def __init__(self, one: str = "") -> None:
        self.one = one

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, int]:
        name, _, number = (self.one, "", value) if self.one else value.partition("=")
        if not name or not number.isdecimal() or int(number) < 1:
            wanted = "a whole number of 1 or more" if self.one else "a size like image_size=96"
            self.fail(f"{value!r} is not {wanted}", param, ctx)
        return {name: int(number)}


def gather(context: click.Context, _: click.Parameter, given: tuple[dict[str, int], ...]) -> None:
    """Put the sizes of one option to those of the others."""
    join(context.params.setdefault("sizes", {}), given)


def join(sizes: dict[str, int], given: tuple[dict[str, int], ...]) -> None:
    """Add what is given to `sizes`; raises UsageError where both say something else."""
    for name, value in [item for size in given for item in size.items()]:
        if sizes.setdefault(name, value) != value:
            raise UsageError(f"{name} is given as {sizes[name]} and as {value}; give one of them")


size_option = partial(click.option, multiple=True, expose_value=False, callback=gather)

MODEL = next(axis for axis in AXES if axis.name == "model")
ASKED = [axis for axis in AXES if axis.asked and axis.kind != Variables]
"""The axes that have an option. Variables for all stand around mbench; for one, behind its name."""
FLAGS = {"model": "--models", "sizes": "--size"}
TYPES: dict[str, click.ParamType[Any]] = {
    "batch_size": Numbers("max"), "device": DeviceName(), "threads": SIZE,
}  # fmt: skip
DEFAULTS = {
    "batch_size": "what suits model and device", "device": "auto", "threads": "the physical cores",
}  # fmt: skip
SHORT: dict[str, dict[str, Decorator]] = {
    "model": {
        "operators": click.option("--operators", type=COMMAS, default=None, metavar="MODELS",
                                  shell_complete=of_axis(MODEL),
                                  help="Instead of --models: every operator that these are made "
                                       "of, at their batch and other sizes, each once."),
    },
    "precision": {
        "amp": click.option("--amp/--no-amp", default=None,
                            help="Mixed precision as frameworks have it here: amp-fp16 on CUDA, "
                                 "amp-bf16 on CPU."),
    },
    "steadiness": {
        "steady": click.option("--steady/--no-steady", default=None,
                               help="The same as --steadiness steady: memory kept in huge pages, "
                                    "fixed addresses, the same cores, for all alike."),
    },
    "sizes": {
        "image-size": size_option(
            "--image-size", type=Size("image_size"), metavar="PIXELS",
            help="Pixels per side, for small machines; marked as non-standard."),
        "sequence-length": size_option(
            "--sequence-length", type=Size("sequence_length"), metavar="TOKENS",
            help="Tokens per sequence, for small machines; marked as non-standard."),
    },
}  # fmt: skip
"""Other ways to say what an axis is, beside its own option and the switches of compilers."""


def flag(axis: Axis) -> str:
    return FLAGS.get(axis.name, f"--{axis.name.replace('_', '-')}")


def option(axis: Axis) -> Decorator:
    """The option of one axis. Without it, None: a sweep knows what is usual."""
    if axis.name == "sizes":
        return size_option(flag(axis), type=Size(), metavar="NAME=VALUE", help=axis.says)
    flags, default = flag(axis), DEFAULTS.get(axis.name, axis.first or axis.usual)
    kind: Any = TYPES.get(axis.name, COMMAS)
    if axis.kind is bool:
        flags, no = f"{flag(axis)}/--no-{flag(axis)[2:]}", "" if axis.usual else "no-"
        kind, default = None, f"{no}{flag(axis)[2:]}"
    elif axis.kind is int and axis.name not in TYPES:
        kind = Numbers(least=min(1, axis.usual))
    said = f"{axis.says}  [default: {default}]"
    return click.option(
        flags, axis.name, type=kind, default=None, help=said, shell_complete=of_axis(axis)
    )


case_options = apply(
    [each for axis in ASKED for each in (option(axis), *SHORT.get(axis.name, {}).values())]
)

KEYS = [
    key
    for axis in ASKED
    if not axis.machine
    for key in (flag(axis).removeprefix("--"), *SHORT.get(axis.name, ()))
]
"""What a sweep of a suite may say: what is measured, not where."""
