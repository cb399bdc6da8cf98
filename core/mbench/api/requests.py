"""Turns the values of options into experiments, for functions and commands alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.results.run import load_run, pick_run
from mbench.spec.adaptive import Adaptive
from mbench.spec.arm import Arm
from mbench.spec.build import arms_of, build, build_suite, launch_of, replaced, sweep_of
from mbench.spec.experiment import FREE, Checks, Experiment, Launch
from mbench.spec.learning import Learning
from mbench.spec.option import asked_fields
from mbench.spec.options import CONSTANTS
from mbench.spec.suite import find_suite, suite_names

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mbench.plugins.manager import Plugins
    from mbench.results.records import Run
    from mbench.spec.experiment import Value
    from mbench.spec.option import Given
    from mbench.spec.suite import Suite

__all__ = ["for_comparison", "for_more_training", "for_proof", "for_resumption", "for_run",
           "for_training"]  # fmt: skip

ADDING = {name for name, field in CONSTANTS.items() if field in Adaptive.growing}
"""Options that add to what a run asked for."""
OPTION_FIELDS = {option.name: field for field, option in asked_fields(Launch).items()}
FREE_OPTIONS = {name for name, field in OPTION_FIELDS.items() if field in FREE}
"""Options that change no figure."""


def for_comparison(frameworks: Sequence[str], given: Given, plugins: Plugins) -> Experiment:
    """Compares two or more frameworks; raises UsageError."""
    if len(frameworks) < 2:
        raise UsageError(
            "compare needs two or more frameworks (mbench list frameworks shows them); for one, "
            "use mbench run"
        )
    return build(frameworks, given, plugins)


def for_resumption(
    run: str, results: Path, given: Given, *, explicit: Collection[str]
) -> Experiment:
    """A run's own request, with what `given` adds to it; raises UsageError for anything else.

    Only `explicit` options count.
    """
    experiment = load_run(pick_run(results, run)).header.experiment
    if isinstance(experiment.protocol, Learning):
        raise UsageError(f"{run} is a training run: mbench train --resume {run} continues it",
                         option="--resume")  # fmt: skip
    added = {name: given[name] for name in given if name in explicit}
    if other := added.keys() - ADDING - FREE_OPTIONS:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(other))
        raise UsageError(
            f"--resume without frameworks continues what {run} asked for: leave out {flags}"
        )
    constants = {CONSTANTS[name]: added[name] for name in added if name in ADDING}
    if constants and not isinstance(experiment.protocol, Adaptive):
        raise UsageError(f"{run} was measured with the protocol {experiment.protocol.name}, which "
                         "has a fixed number of steps: nothing can be added to it")  # fmt: skip
    launch = {OPTION_FIELDS[name]: added[name] for name in added if name in FREE_OPTIONS}
    return replace(
        experiment,
        protocol=replaced(experiment.protocol, constants),
        launch=replaced(experiment.launch, launch),
    )


def for_run(
    subject: str,
    frameworks: Sequence[str],
    given: Given,
    plugins: Plugins,
    *,
    explicit: Collection[str],
) -> tuple[Experiment, Suite | None]:
    """One framework, or a suite on `frameworks`, else on those that it names, else on all.

    `explicit` are the options that take precedence over the suite. Raises UsageError.
    """
    suite = find_suite(subject)
    if suite is not None:
        everything = tuple(sorted(plugins.adapters.unique()))
        chosen = tuple(frameworks) or suite.frameworks or everything
        return build_suite(suite, chosen, given, plugins, explicit=explicit), suite
    name = Arm(subject).spec.name
    if plugins.framework(name) is None:
        raise plugins.unknown_framework(name, kind="framework or suite", besides=suite_names())
    if frameworks:
        raise UsageError("--frameworks is for suites; to compare frameworks, use mbench compare")
    return build((subject,), given, plugins), None


def for_proof(
    frameworks: Sequence[str],
    given: Given,
    plugins: Plugins,
    *,
    quick: bool = False,
    locate: str | None = None,
) -> Experiment:
    """One or more frameworks, with the one that locates errors last; raises UsageError."""
    if not frameworks:
        raise UsageError("verify needs at least one framework; mbench list frameworks shows them")
    proven = (*frameworks, *([locate] if locate else []))
    if quick or locate:
        given = quickly(proven, given, plugins, flag="--quick" if quick else "--locate")
    return build(proven, given, plugins)


def quickly(frameworks: Sequence[str], given: Given, plugins: Plugins, *, flag: str) -> Given:
    """Proofs in fp64, of the cheapest model unless models are given; raises UsageError."""
    from mbench.machine.cores import default_threads
    from mbench.proofs.proof_case import quickest

    if given.get("precision", ("fp64",)) != ("fp64",):
        raise UsageError(f"{flag} proves in fp64: leave out --precision, or leave out {flag}")
    given = {**given, "precision": ("fp64",)}
    if "models" in given or "operators" in given:
        return given
    modes = given.get("mode", ("train",))
    assert isinstance(modes, tuple)
    of_each = [
        [case.model for case in quickest(
            plugins.adapter(Arm(text).spec.name), plugins.workloads.unique(), device="cpu",
            mode=modes[0], threads=default_threads().count,
        )]
        for text in frameworks
    ]  # fmt: skip
    shared = [model for model in of_each[0] if all(model in models for models in of_each)]
    if not shared:
        raise UsageError("no model is supported by all frameworks given: choose with --models")
    return {**given, "models": (shared[0],)}


def for_training(
    frameworks: Sequence[str], given: Given, plugins: Plugins, *,
    task: str | None, data: str | None, seeds: int | None,
) -> Experiment:  # fmt: skip
    """Trains frameworks on a task; raises UsageError."""
    from mbench.learning.conduct import stored_name
    from mbench.learning.task import find_task

    if not task:
        raise UsageError("train needs a task, such as --task glyphs; mbench list tasks shows them",
                         option="--task")  # fmt: skip
    if not frameworks:
        raise UsageError("train needs a framework; mbench list frameworks shows them",
                         option="--frameworks")  # fmt: skip
    found = find_task(task, plugins)
    sweep = sweep_of(given, plugins)
    own: dict[str, tuple[Value, ...]] = {
        "model": (found.model,), "mode": ("train",), "batch_size": (found.lesson.batch_size,),
    }  # fmt: skip
    return Experiment(
        arms=arms_of(frameworks),
        sweeps=(replace(sweep, axes={**own, **sweep.axes}),),
        protocol=Learning(
            task=stored_name(found.name, found.source), processes=seeds or found.seeds,
            data=str(Path(data).absolute()) if data else "",
        ),
        launch=launch_of(given),
        checks=Checks(mfu=False),
    )  # fmt: skip


def for_more_training(
    run: Run, given: Given, *, seeds: int | None, explicit: Collection[str]
) -> Experiment:
    """A training run's own request, with more seeds; raises UsageError for anything else.

    Only `explicit` options count.
    """
    experiment, before = run.header.experiment, run.protocol.processes
    if not isinstance(experiment.protocol, Learning):
        raise UsageError(f"{run.id} is not a training run: mbench compare --resume continues it",
                         option="--resume")  # fmt: skip
    besides = {"task", "frameworks", "task_data", "data"} & set(explicit)
    added = {name: given[name] for name in given if name in explicit}
    if other := besides | (added.keys() - FREE_OPTIONS):
        flags = ", ".join(f"--{name.removeprefix('task_').replace('_', '-')}"
                          for name in sorted(other))  # fmt: skip
        raise UsageError(
            f"--resume continues what {run.id} asked for: leave out {flags}; --seeds adds more",
            option="--resume",
        )
    if seeds is not None and seeds < before:
        raise UsageError(f"{run.id} already has {before} seeds: give --seeds {before} or more",
                         option="--seeds")  # fmt: skip
    launch = {OPTION_FIELDS[name]: value for name, value in added.items()}
    return replace(
        experiment,
        protocol=replace(experiment.protocol, processes=seeds or before),
        launch=replaced(experiment.launch, launch),
    )
