"""The axes of a case: what tells cases apart, in one table that everything else follows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from mbench.contract.compat import CHECKS, hints_of
from mbench.contract.feed import RESIDENT, STORAGE, WARM
from mbench.contract.precision import PRECISIONS
from mbench.contract.rank import ALONE
from mbench.contract.secrets import masked_values
from mbench.contract.tier import DEFAULT, TIERS

__all__ = ["AXES", "MACHINE", "SETTINGS", "STEADINESS", "STEADY", "Axes", "Axis", "Sizes",
           "Variables", "alike", "hushed", "key", "name"]  # fmt: skip

STEADY = "steady"
STEADINESS = ("usual", STEADY)
if TYPE_CHECKING or CHECKS:
    Sizes = Mapping[str, int]
    Variables = Mapping[str, str]
else:
    Sizes = Variables = Mapping


@dataclass(frozen=True, kw_only=True)
class Axes:
    """What a case is. A field with its metadata is one row of the table, and all an axis needs.

    Fields are in the order in which a case is described. `batch_size` is samples per device;
    `sizes` replace the model's own, by name.
    """

    model: str = field(
        metadata={
            "says": "Names, patterns, families (vgg), or zoo; see mbench list models.",
            "first": "resnet50",
        }
    )
    mode: str = field(
        metadata={
            "says": "The kind of work: train, inference, forward (a training step up to its loss), "
            "backward (up to its gradients), prefill (a prompt into a cache), decode (tokens "
            "after it) or load (images from files, and no step); see mbench list modes.",
            "after": " ",
            "first": "train",
        }
    )
    sizes: Sizes = field(
        default_factory=dict,
        hash=False,
        metadata={"says": "A size of the model by name; may be given several times."},
    )
    batch_size: int = field(
        metadata={
            "says": "Samples per device and step; max is the largest that fits all frameworks.",
            "word": "batch {}",
        }
    )
    scale: str = field(
        default=ALONE,
        metadata={
            "says": "Nodes x devices per node, as in 1x1,1x8,2x8. Each device has a process and a "
            "batch of its own; in training, all share one model.",
            "word": "on {} devices",
            "plain": "on 1 device",
        },
    )
    precision: str = field(
        metadata={"says": f"{', '.join(PRECISIONS)}.", "known": PRECISIONS, "first": "fp32",
                  "setting": True, "manner": "in"}
    )  # fmt: skip
    tier: str = field(
        default=DEFAULT,
        metadata={
            "says": "How far each framework is tuned: default follows its first tutorials, tuned "
            "its performance guide, best adds its fastest compiler; all means each of them.",
            "word": "tier {}",
            "known": TIERS,
            "setting": True,
            "manner": "in",
        },
    )
    compiler: str = field(
        metadata={
            "says": "Compilers by name; default is the tier's own, best the fastest, measured "
            "beside the default.",
            "first": "default",
            "setting": True,
        }
    )
    device: str = field(metadata={"says": "Where the frameworks compute.", "machine": True})
    threads: int = field(
        metadata={"says": "Threads of each framework.", "word": "threads {}", "machine": True,
                  "quiet": True, "setting": True}
    )  # fmt: skip
    variables: Variables = field(
        default_factory=dict,
        hash=False,
        metadata={"says": "Environment variables for its worker only.", "setting": True},
    )
    steadiness: str = field(
        default="usual",
        metadata={
            "says": "usual leaves memory and threads as each framework places them; steady places "
            "them alike in every process, which narrows intervals but changes what is measured.",
            "known": STEADINESS,
            "setting": True,
        },
    )
    clip: bool = field(
        default=True,
        metadata={
            "says": "Gradient clipping, in workloads that have it.",
            "word": "without clipping",
            "plain": "with clipping",
        },
    )
    accumulate: int = field(
        default=1,
        metadata={
            "says": "Micro-batches into which the batch of a training step is divided: their "
            "gradients are accumulated before the update.",
            "word": "{} micro-batches",
        },
    )
    checkpoint: bool = field(
        default=False,
        metadata={
            "says": "Activation checkpointing in training: only what enters a layer is kept, and "
            "the rest is computed again in the backward pass.",
            "word": "with checkpointing",
            "plain": "without checkpointing",
        },
    )
    data: str = field(
        default=RESIDENT,
        metadata={
            "says": "Where batches come from: resident (made once, they stay on the device), or a "
            "folder of JPEG images, which each framework's own input pipeline reads.",
            "word": "data {}",
            "plain": "resident data",
        },
    )
    loaders: int = field(
        default=0,
        metadata={
            "says": "Processes or threads of a framework's input pipeline; 0: one for each thread "
            "of the framework.",
            "word": "{} loaders",
            "setting": True,
        },
    )
    storage: str = field(
        default=WARM,
        metadata={
            "says": "Files of --data: warm ones are in memory when a block begins, cold ones have "
            "to be read from disk.",
            "word": "storage {}",
            "plain": "storage warm",
            "known": STORAGE,
        },
    )
    dropout: bool = field(
        default=True,
        metadata={
            "says": "Dropout, in workloads that have it.",
            "word": "without dropout",
            "plain": "with dropout",
            "asked": False,
        },
    )


if TYPE_CHECKING:
    AxisValues = Mapping[str, Any]  # by the names of axes
    AnyCase = Axes | AxisValues


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A row of the table: a field of a case, an option, a key of suites, a column."""

    name: str
    kind: object
    """str, int, bool, Sizes or Variables."""
    says: str
    """What it is, for the help."""
    word: str = "{}"
    """How a value is described; {} stands for its text."""
    after: str = ", "
    """What separates this description from the one before it."""
    usual: Any = None
    """The value that is not mentioned: the field's default."""
    plain: str = ""
    """How the usual value is described next to others, if not like any other value."""
    first: str | None = None
    """The value if none is requested, unless it is the usual one; None: it is chosen elsewhere."""
    known: Collection[str] = ()
    """All possible values, if they are known here."""
    machine: bool = False
    """Whether it is about where a case runs, not about its work: a suite does not state it, and a
    sweep has a single value."""
    quiet: bool = False
    """Whether it is mentioned only where cases differ in it."""
    setting: bool = False
    """Whether entries of one comparison may differ in it and still do equal work."""
    manner: str = "with"
    """The word between a framework and its value of a setting: "torch with inductor"."""

    asked: bool = True
    """Whether users may ask for it; if not, only mbench itself makes cases that differ in it."""

    @property
    def many(self) -> bool:
        """Whether a sweep may have several values, which multiply its number of cases."""
        return self.asked and not self.machine and self.kind in (str, int, bool)

    @property
    def column(self) -> str:
        """The column heading that people read."""
        return self.word[: -len(" {}")] if self.word.endswith(" {}") else self.name

    def of(self, case: AnyCase) -> Any:
        """The value of a case, or of its document; variables come without secrets."""
        value = case[self.name] if isinstance(case, Mapping) else getattr(case, self.name)
        return masked_values(value) if value and self.kind == Variables else value

    def value(self, case: AnyCase) -> Any:
        """`of` as one plain value: sizes and variables as text, the way users type them; None if
        there are none.
        """
        value = self.of(case)
        if isinstance(value, Mapping):
            return ",".join(f"{name}={value[name]}" for name in sorted(value)) or None
        return value

    def text(self, case: AnyCase) -> str:
        """The value as people read it in a column."""
        value = self.of(case)
        if self.kind == Variables:
            return ", ".join(f"{name}={value[name]}" for name in sorted(value))
        if isinstance(value, Mapping):
            return ", ".join(f"{name.replace('_', ' ')} {size}" for name, size in value.items())
        if isinstance(value, bool):
            return "yes" if value else "no"
        return str(value)


def _rows() -> Iterable[Axis]:
    kinds = hints_of(Axes)
    for row in fields(Axes):
        usual = None if row.default is MISSING else row.default
        if row.default_factory is not MISSING:
            usual = row.default_factory()
        yield Axis(**{"name": row.name, "kind": kinds[row.name], "usual": usual, **row.metadata})


AXES = tuple(_rows())
MACHINE = frozenset(axis.name for axis in AXES if axis.machine)
"""The axes that have one value per run, so they do not tell its cases apart."""

SETTINGS = tuple(axis.name for axis in AXES if axis.setting)
"""The axes in which entries of one comparison may differ."""


def key(case: AnyCase, *, less: Collection[str] = ()) -> tuple[Any, ...]:
    """What tells a case from others, as one value; `less` names axes to ignore."""
    return tuple(axis.value(case) for axis in AXES if axis.name not in less)


def name(case: AnyCase, *, less: Collection[str] = (), beside: bool = False) -> str:
    """A case in words, without the axes in `less` and those with their usual value.

    A name for several cases has the axes that they share. With `beside`, the case is listed next to
    others that differ in all axes but those in `less`, so usual values are mentioned too.
    """
    said = ""
    for axis in AXES:
        if axis.name in less or (isinstance(case, Mapping) and axis.name not in case):
            continue
        usual = axis.usual is not None and axis.of(case) == axis.usual
        if usual and not (beside and (axis.plain or axis.text(case))):
            continue
        word = (usual and axis.plain) or axis.word.format(axis.text(case))
        said += (axis.after if said else "") + word
    return said


def alike(cases: Collection[AnyCase], *, among: Iterable[Axis] = AXES) -> frozenset[str]:
    """The axes in which `cases` do not differ."""
    return frozenset(axis.name for axis in among if len({axis.value(case) for case in cases}) < 2)


def hushed(cases: Collection[AnyCase], *, among: Iterable[Axis] = AXES) -> frozenset[str]:
    """The axes not to mention for `cases`: all are usual, or a quiet axis has a single value."""
    shared = alike(cases, among=among)
    return frozenset(
        axis.name
        for axis in among
        if axis.name in shared
        and (axis.quiet if axis.usual is None else all(axis.of(c) == axis.usual for c in cases))
    )
