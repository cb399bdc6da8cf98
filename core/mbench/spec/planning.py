"""Turns axes into comparisons, whose cases are alike except for framework and settings."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mbench.contract.adapter import Support
from mbench.contract.axes import AXES, MACHINE, name
from mbench.contract.case import Case
from mbench.contract.rank import parse_scale
from mbench.contract.tier import BEST, TIERS, tier_of
from mbench.errors import PluginFailed, UsageError, about
from mbench.plugins.manager import nearest
from mbench.scenarios.find import SCENARIOS, find_scenarios, resolve, scenario_of, takes
from mbench.spec.arm import labels_of, named, settings
from mbench.spec.data import check_data, settled
from mbench.spec.experiment import AUTO
from mbench.spec.integers import check_integers
from mbench.spec.operators import operators_of
from mbench.spec.selection import load_workload, reference_of, scenario_reference, select

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mbench.contract.adapter import Adapter
    from mbench.contract.axes import AxisValues
    from mbench.contract.rank import Scale
    from mbench.contract.scenario import Scenario
    from mbench.contract.workload import Workload
    from mbench.plugins.manager import Plugins
    from mbench.spec.arm import FrameworkSpec
    from mbench.spec.experiment import Experiment, Sweep

__all__ = ["BEST", "LARGEST", "Comparison", "Entry", "OperatorComparison", "plan", "scale_of",
           "supports"]  # fmt: skip

LARGEST = "max"
"""Stands for the largest batch size that fits every framework of the comparison."""
DEFAULT = "default"
"""Stands for each framework's own compiler in the tier. BEST stands for that and its fastest."""
ALL = "all"
"""Stands for every tier."""
MULTIPLIED = [axis for axis in AXES if axis.many]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One arm's part in a comparison; `number` is that of its case in the whole run.

    `spec` is the framework it runs with, without its settings: they are in `case` and in `label`.
    """

    number: int
    label: str
    spec: FrameworkSpec
    adapter: Adapter
    case: Case
    support: Support
    own_compiler: bool = False
    """Whether the compiler is the tier's, not one that was asked for."""

    @property
    def lack(self) -> str:
        """Outcome if the case is not supported: "unsupported", or "failed" if its plugin failed."""
        return "failed" if isinstance(self.support, Broken) else "unsupported"


class Broken(Support):
    """The answer of an adapter that failed to give one."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Cases that differ only in their framework and its settings; the first is the baseline.

    While a batch size or a compiler is still to be found, the cases have a placeholder.
    """

    number: int
    title: str
    entries: tuple[Entry, ...]
    largest_batch: bool = False
    best_compiler: bool = False

    @property
    def settled(self) -> bool:
        """Whether nothing is left to be found before it can be measured."""
        return not (self.largest_batch or self.best_compiler)


@dataclass(frozen=True, kw_only=True)
class OperatorComparison(Comparison):
    """A comparison of an operator that was asked for as part of models."""

    counts: Mapping[str, int]
    """How often a step of each model calls this operator."""


def plan(experiment: Experiment, plugins: Plugins) -> list[Comparison]:
    """All comparisons, sweep by sweep; the device and the threads must be settled.

    Raises UsageError, with the nearest names, for anything that does not exist. Its `sweep` is the
    number of the sweep at fault.
    """
    launch = experiment.launch
    assert launch.device != AUTO
    with about("--frameworks"):
        adapters = [find_adapter(arm.spec, plugins, device=launch.device)
                    for arm in experiment.arms]  # fmt: skip
    arms = experiment.arms
    specs = [named(arm.spec, one.name) for arm, one in zip(arms, adapters, strict=True)]
    labels = labels_of(arms, specs)
    parts = list(zip(specs, adapters, labels, strict=True))
    comparisons: list[Comparison] = []
    numbers = itertools.count()
    for at, sweep in enumerate(experiment.sweeps):
        try:
            comparisons += plan_sweep(
                sweep, experiment, parts, plugins, first=len(comparisons), numbers=numbers
            )
        except UsageError as error:
            error.sweep = at
            raise
    check_integers([(one.case, one.support) for each in comparisons for one in each.entries])
    return comparisons


def plan_sweep(
    sweep: Sweep,
    experiment: Experiment,
    parts: Sequence[tuple[FrameworkSpec, Adapter, str]],
    plugins: Plugins,
    *,
    first: int,
    numbers: Iterator[int],
) -> list[Comparison]:
    """The comparisons of a sweep. `parts` has each arm's framework, adapter and label, `first` is
    the number of the first comparison, and `numbers` are those of cases.
    """
    launch, arms = experiment.launch, experiment.arms
    adapters = [adapter for _, adapter, _ in parts]
    assert launch.threads is not None
    if sweep.amp is not None:
        sweep = with_mixed(sweep, adapters, device=launch.device)
    wanted = values_of(sweep, adapters)
    _check("mode", wanted["mode"], plugins.scenarios.by_name)
    with about("--mode"):
        scenarios = {mode: scenario_reference(mode, plugins.scenarios) for mode in wanted["mode"]}
        known = {**SCENARIOS, **{mode: find_scenarios(mode, found)
                                 for mode, found in scenarios.items()}}  # fmt: skip
    with about("--operators" if sweep.operators else "--models"):
        wanted["model"] = select(wanted["model"], plugins.workloads)
        references = {model: reference_of(model, plugins.workloads) for model in wanted["model"]}
    workloads = {model: load_workload(reference, model) for model, reference in references.items()}
    check_data(wanted, workloads.values(), experiment.protocol)
    for size in sweep.sizes:
        _check_size(size, workloads, wanted["mode"], known)
    swept: list[AxisValues] = [
        {
            **asked, "workload": references[asked["model"]],
            "scenario": scenarios[asked["mode"]], "device": launch.device,
            "threads": launch.threads, "seed": experiment.protocol.seed,
        }
        for asked in products(sweep, wanted, workloads, known, device=launch.device)
    ]  # fmt: skip
    counts: list[dict[str, int]] = []
    if sweep.operators:
        operators = operators_of(swept, device=launch.device)
        swept, counts = [asked for asked, _ in operators], [count for _, count in operators]
    with about("--frameworks"):
        sizes = {size for workload in workloads.values() for size in workload.sizes}
        others = plugins.adapters.unique().values()
        own = [settings(arm, adapter, wanted=wanted, others=others, sizes=sizes)
               for arm, adapter in zip(arms, adapters, strict=True)]  # fmt: skip
        for arm in arms:
            if arm.name and plugins.framework(arm.name):
                raise UsageError(f"{arm.shown}: {arm.name} is a framework; give it another name")
    own = [effective(given, swept, adapter) for given, adapter in zip(own, adapters, strict=True)]
    comparisons: list[Comparison] = []
    for number, asked in enumerate(swept, start=first):
        entries = []
        for (spec, adapter, text), given in zip(parts, own, strict=True):
            case = case_of({**asked, **given}, adapter)
            entry = Entry(
                number=next(numbers), label=text, spec=spec, adapter=adapter, case=case,
                support=supports(adapter, case),
                own_compiler="compiler" not in given and is_own(asked),
            )  # fmt: skip
            entries.append(entry)
        comparisons.append(
            Comparison(
                number=number, title=title(asked, own), entries=tuple(entries),
                largest_batch=asked["batch_size"] == LARGEST,
                best_compiler=asked["compiler"] == BEST,
            )
        )  # fmt: skip
    if not sweep.operators:
        return comparisons
    return [
        OperatorComparison(**vars(comparison), counts=count)
        for comparison, count in zip(comparisons, counts, strict=True)
    ]


def with_mixed(sweep: Sweep, adapters: Sequence[Adapter], *, device: str) -> Sweep:
    """`sweep` with the mixed precision that all frameworks have on a device; raises UsageError."""
    mixed = {adapter.title: adapter.mixed(device) for adapter in adapters}
    if len(set(mixed.values())) > 1:
        said = ", ".join(f"{precision} in {title}" for title, precision in mixed.items())
        raise UsageError(f"--amp is {said}; give one of them with --precision", option="--amp")
    found, chosen = next(iter(mixed.values())), sweep.axes.get("precision")
    if chosen is not None and sweep.amp != (found in chosen):
        sign = "--amp" if sweep.amp else "--no-amp"
        raise UsageError(
            f"{sign} contradicts --precision {','.join(map(str, chosen))}; give one of them"
        )
    axes = {"precision": (found,), **sweep.axes} if sweep.amp else sweep.axes
    return replace(sweep, axes=axes, amp=None)


def products(
    sweep: Sweep,
    wanted: Mapping[str, Sequence[Any]],
    workloads: Mapping[str, Workload],
    scenarios: Mapping[str, Sequence[Scenario]],
    *,
    device: str,
) -> Iterator[AxisValues]:
    """The values asked for in each comparison, by axis."""
    others = {axis: values for axis, values in wanted.items() if axis != "batch_size"}
    for picked in itertools.product(*others.values()):
        asked = dict(zip(others, picked, strict=True))
        if asked["tier"] == BEST:  # its compiler is searched for, whatever else is asked for
            if asked["compiler"] != wanted["compiler"][0]:
                continue
            asked["compiler"] = BEST
        if not settled(asked, wanted):
            continue
        workload = workloads[asked["model"]]
        asked["sizes"] = {
            name: size
            for name, size in sweep.sizes.items()
            if name in workload.sizes and takes(asked["mode"], name, scenarios)
        }
        for batch_size in wanted["batch_size"] or [workload.usual_batch(device)]:
            yield {**asked, "batch_size": batch_size}


def effective(given: AxisValues, swept: Sequence[AxisValues], adapter: Adapter) -> AxisValues:
    """The settings of an arm that have an effect."""

    def changes(axis: str) -> bool:
        less = {name: value for name, value in given.items() if name != axis}
        return any(
            case_of({**asked, **given}, adapter) != case_of({**asked, **less}, adapter)
            for asked in swept
        )

    return {axis: value for axis, value in given.items() if changes(axis)}


def is_own(asked: AxisValues) -> bool:
    """Whether no compiler other than the tier's is asked for."""
    return bool(asked["compiler"] == DEFAULT or asked["tier"] == BEST)


def title(asked: AxisValues, own: Sequence[AxisValues]) -> str:
    """What all entries of a comparison share, in words."""
    unsaid = MACHINE | ({"compiler"} if is_own(asked) else set())
    shared = dict(asked)
    for axis in {axis for given in own for axis in given}:
        values = [given.get(axis) for given in own]
        if all(value == values[0] for value in values):
            shared, unsaid = {**shared, axis: values[0]}, unsaid - {axis}
        else:
            unsaid |= {axis}
    return name(shared, less=unsaid)


def values_of(sweep: Sweep, adapters: Sequence[Adapter]) -> dict[str, list[Any]]:
    """The values of each axis that is multiplied out, each once; models are still words."""
    found: dict[str, list[Any]] = {
        axis.name: list(dict.fromkeys(sweep.values(axis))) for axis in MULTIPLIED
    }
    if ALL in found["tier"]:
        found["tier"] = list(TIERS)
    for axis in MULTIPLIED:
        if axis.known:
            _check(axis.name, found[axis.name], axis.known)
    with about("--scale"):
        for word in found["scale"]:
            scale_of(word)
    compilers = {name for adapter in adapters for name in adapter.compilers}
    _check("compiler", found["compiler"], {*compilers, DEFAULT, BEST})
    if BEST in found["tier"] and (given := set(found["compiler"]) - {DEFAULT, BEST}):
        said = "--tier best finds its own compiler; leave {} out, or give --tier default,tuned"
        raise UsageError(said.format(", ".join(sorted(given))), option="--compiler")
    both = [(DEFAULT, BEST) if given == BEST else (given,) for given in found["compiler"]]
    found["compiler"] = list(dict.fromkeys(itertools.chain(*both)))
    return found


def case_of(asked: AxisValues, adapter: Adapter) -> Case:
    """The case of one framework; what is still to be found has a placeholder."""
    found = dict(asked)
    if asked["batch_size"] == LARGEST:
        if found["accumulate"] > 1:
            raise UsageError("--batch-size max does not work with --accumulate: give a number",
                             option="--accumulate")  # fmt: skip
        found["batch_size"] = 1
    if asked["compiler"] in (DEFAULT, BEST):
        found["compiler"] = next(iter(adapter.compilers))
    case = Case(**found)
    try:
        resolve(case)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return with_own_compiler(adapter, case) if asked["compiler"] in (DEFAULT, BEST) else case


def with_own_compiler(adapter: Adapter, case: Case) -> Case:
    """`case` with the compiler that the adapter's tier prefers, among those that support it."""
    tier = tier_of(adapter, case.tier)
    own = [replace(case, compiler=name) for name in tier.order(case.device)] if tier else [case]
    if len(own) == 1:  # the caller checks whether it is supported
        return own[0]
    return next((one for one in own if supports(adapter, one).supported), own[0])


def find_adapter(spec: FrameworkSpec, plugins: Plugins, *, device: str) -> Adapter:
    """The adapter of `spec`; raises UsageError if it cannot provide what is asked for."""
    adapter = plugins.adapter(spec.name)
    if spec.python is not None and not os.access(spec.python, os.X_OK):
        raise UsageError(
            f"{spec.text}: {spec.python} is not an executable; "
            "pass the path of a Python interpreter"
        )
    try:
        adapter.requirements(spec.version, device)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except PluginFailed:  # it will end the cases that need its environment, and no others
        pass
    return adapter


def supports(adapter: Adapter, case: Case) -> Support:
    """The adapter's own answer, unless every adapter would have to answer the same."""
    if case.compiler not in adapter.compilers:
        have = ", ".join(adapter.compilers)
        return Support.no(f"{adapter.title} has no compiler {case.compiler!r}; it has {have}")
    if tier_of(adapter, case.tier) is None:
        return Support.no(f"{adapter.title}'s adapter gives no advice: use --tier default or best")
    workload = resolve(case)
    if reason := scenario_of(case, workload).limitation(case, workload):
        return Support.no(reason)
    try:
        return adapter.supports(case)
    except PluginFailed as error:
        return Broken(False, str(error))


def _check(kind: str, values: Sequence[str], known: Collection[str]) -> None:
    for value in values:
        if value not in known:
            raise UsageError(f"unknown {kind} {value!r}{nearest(value, known)}", option=f"--{kind}")


def scale_of(word: str) -> Scale:
    """The scale that a word stands for; raises UsageError if there is none."""
    try:
        return parse_scale(word)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check_size(
    name: str,
    workloads: Mapping[str, Workload],
    modes: Sequence[str],
    scenarios: Mapping[str, Sequence[Scenario]],
) -> None:
    known = sorted({size for workload in workloads.values() for size in workload.sizes})
    if name not in known:
        raise UsageError(
            f"the size {name} fits none of the models {', '.join(workloads)}; "
            f"they take {', '.join(known) or 'none'}",
            option=f"--{name.replace('_', '-')}",
        )
    if not any(takes(mode, name, scenarios) for mode in modes):
        known = [mode for mode in scenarios if takes(mode, name, scenarios)]
        option = f"--{name.replace('_', '-')}"
        raise UsageError(f"{option} applies to {' and '.join(known)}: add {known[0]} to --mode",
                         option=option)  # fmt: skip
