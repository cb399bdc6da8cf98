"""Turns the axes that a user names into comparisons: cases alike but for their framework."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mbench.contract.adapter import SUPPORTED, Support
from mbench.contract.case import MODES, Case
from mbench.contract.precision import PRECISIONS
from mbench.environments.spec import FrameworkSpec, parse
from mbench.errors import UsageError, about
from mbench.plan.selection import load_workload, select
from mbench.plugins import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mbench.contract.adapter import Adapter
    from mbench.plugins import Plugins
    from mbench.workloads.workload import Workload

__all__ = ["BEST", "LARGEST", "Comparison", "Entry", "Sweep", "plan", "plan_all", "supports"]

LARGEST = "max"
"""Instead of a batch size: the largest one that fits every framework of the comparison."""
BEST = "best"
"""Instead of a compiler: each framework's fastest, beside its default."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What multiplies into comparisons. An empty `batch_sizes` means each model's default.

    A batch size may be LARGEST, a compiler BEST.
    """

    frameworks: Sequence[str]
    models: Sequence[str] = ("resnet50",)
    modes: Sequence[str] = ("train",)
    batch_sizes: Sequence[int | str] = ()
    precisions: Sequence[str] = ("fp32",)
    compilers: Sequence[str] = ("default",)
    device: str = "cpu"
    threads: int = 1
    seed: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    clip: bool = True


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One framework's part in a comparison; `number` is the case's in the whole run."""

    number: int
    label: str
    spec: FrameworkSpec
    adapter: Adapter
    case: Case
    support: Support


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Cases that differ in their framework only; the first is the baseline.

    Where a batch or a compiler is still to be found, the cases have a stand-in.
    """

    number: int
    title: str
    entries: tuple[Entry, ...]
    largest_batch: bool = False
    best_compiler: bool = False

    @property
    def settled(self) -> bool:
        """Whether nothing is to be found before it can be measured."""
        return not (self.largest_batch or self.best_compiler)


def plan_all(sweeps: Sequence[Sweep], plugins: Plugins) -> list[Comparison]:
    """The comparisons of several sweeps, numbered through."""
    comparisons: list[Comparison] = []
    for sweep in sweeps:
        cases = sum(len(comparison.entries) for comparison in comparisons)
        comparisons += [
            replace(
                comparison,
                number=number,
                entries=tuple(
                    replace(entry, number=cases + entry.number) for entry in comparison.entries
                ),
            )
            for number, comparison in enumerate(plan(sweep, plugins), start=len(comparisons))
        ]
    return comparisons


def plan(sweep: Sweep, plugins: Plugins) -> list[Comparison]:
    """All comparisons; raises UsageError with the nearest names for whatever does not exist."""
    with about("--frameworks"):
        specs = [parse(text) for text in sweep.frameworks]
        adapters = [find_adapter(spec, plugins, device=sweep.device) for spec in specs]
    labels = tell_apart([spec.text for spec in specs])
    _check("mode", sweep.modes, MODES)
    _check("precision", sweep.precisions, PRECISIONS)
    known = {name for adapter in adapters for name in adapter.compilers}
    _check("compiler", sweep.compilers, {*known, "default", BEST})
    compilers = [
        name
        for given in sweep.compilers
        for name in (["default", BEST] if given == BEST else [given])
    ]
    with about("--models"):
        models = select(sweep.models, plugins.workloads)
        references = {model: plugins.workloads.get(model) for model in models}
    workloads = {model: load_workload(reference, model) for model, reference in references.items()}
    for name in sweep.sizes:
        _check_size(name, workloads)
    comparisons: list[Comparison] = []
    numbers = itertools.count()
    for model, mode, precision, compiler in itertools.product(
        models, sweep.modes, sweep.precisions, dict.fromkeys(compilers)
    ):
        workload = workloads[model]
        for batch_size in sweep.batch_sizes or [workload.batch_sizes[sweep.device]]:
            entries = []
            for spec, adapter, label in zip(specs, adapters, labels, strict=True):
                case = Case(
                    model=model,
                    workload=references[model],
                    mode=mode,
                    batch_size=batch_size if isinstance(batch_size, int) else 1,
                    precision=precision,
                    compiler=(
                        next(iter(adapter.compilers)) if compiler in ("default", BEST) else compiler
                    ),
                    device=sweep.device,
                    threads=sweep.threads,
                    seed=sweep.seed,
                    clip=sweep.clip,
                    sizes={n: size for n, size in sweep.sizes.items() if n in workload.sizes},
                )
                try:
                    case.resolve()
                except ValueError as error:
                    raise UsageError(str(error)) from None
                entry = Entry(
                    number=next(numbers), label=label, spec=spec, adapter=adapter, case=case,
                    support=supports(adapter, case),
                )  # fmt: skip
                entries.append(entry)
            title = f"{model} {mode} batch {batch_size} {precision}"
            if compiler != "default":
                title += f" {compiler}"
            if not sweep.clip:
                title += " without clipping"
            comparisons.append(
                Comparison(
                    number=len(comparisons), title=title, entries=tuple(entries),
                    largest_batch=batch_size == LARGEST, best_compiler=compiler == BEST,
                )
            )  # fmt: skip
    return comparisons


def find_adapter(spec: FrameworkSpec, plugins: Plugins, *, device: str) -> Adapter:
    """The adapter of `spec`; raises UsageError where it cannot be what is asked for."""
    adapter = plugins.adapter(spec.name)
    if spec.python is not None and not os.access(spec.python, os.X_OK):
        raise UsageError(f"{spec.text}: {spec.python} is no program; give a Python's path")
    try:
        adapter.requirements(spec.version, device)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return adapter


def supports(adapter: Adapter, case: Case) -> Support:
    """The adapter's own answer, after what every adapter would have to answer alike."""
    if case.compiler not in adapter.compilers:
        have = ", ".join(adapter.compilers)
        return Support.no(f"{adapter.title} has no compiler {case.compiler!r}; it has {have}")
    return adapter.supports(case) or SUPPORTED


def tell_apart(labels: Sequence[str]) -> list[str]:
    """Number the labels that occur more than once: torch#1, torch#2."""
    counts, seen = Counter(labels), Counter[str]()
    result = []
    for label in labels:
        seen[label] += 1
        result.append(f"{label}#{seen[label]}" if counts[label] > 1 else label)
    return result


def _check(kind: str, values: Sequence[str], known: Collection[str]) -> None:
    for value in values:
        if value not in known:
            raise UsageError(f"unknown {kind} {value!r}{nearest(value, known)}", option=f"--{kind}")


def _check_size(name: str, workloads: Mapping[str, Workload]) -> None:
    known = sorted({size for workload in workloads.values() for size in workload.sizes})
    if name not in known:
        raise UsageError(
            f"the size {name} fits none of the models {', '.join(workloads)}; "
            f"they take {', '.join(known) or 'none'}",
            option=f"--{name.replace('_', '-')}",
        )
