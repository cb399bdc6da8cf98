"""Carries out an experiment: opens or resumes a run, measures everything, and closes the run."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench.contract.secrets import conceal, masked_argument, masked_values
from mbench.engine.handshake import our_digest
from mbench.engine.isolation import inherited_variables, scratch, tuning
from mbench.engine.machines import machines
from mbench.errors import MbenchError, reason_of, scarce
from mbench.machine.sampler import Sampler
from mbench.machine.system import describe_system
from mbench.measure.activity import Decision, Stored
from mbench.measure.ceiling import Ceilings
from mbench.measure.environment_pool import EnvironmentPool
from mbench.measure.estimate import foreseen
from mbench.measure.execute import execute
from mbench.measure.further import further, session
from mbench.measure.resume import is_done, take_up
from mbench.measure.run_context import Measure, RunContext
from mbench.measure.surroundings import Surroundings
from mbench.results.previous_runs import past_ratios
from mbench.results.run import file_of, load_run, pick_run, remains
from mbench.results.runfile import RunFile
from mbench.results.store import RunWriter

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.adapter import Adapter
    from mbench.machine.records import System
    from mbench.measure.activity import Listener
    from mbench.measure.preflight import Checked
    from mbench.results.records import Run

__all__ = ["Execution", "conduct", "rest_of"]

MOST_WHEN_INTERRUPTED = 10
"""How many earlier runs are looked at after Ctrl-C: a user who presses it should not wait."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """What is needed to carry out an experiment, besides the experiment itself."""

    results: Path
    """The folder of all runs."""
    resume: str | None = None
    """The run whose missing part is measured; None for a new run."""
    command: tuple[str, ...] = ()
    """The words of the command line that asked for it."""


def conduct(
    checked: Checked, execution: Execution, listener: Listener, *, measure: Measure = execute
) -> tuple[RunWriter, bool]:
    """Measure, and return whether Ctrl-C ended it; what was measured until then is stored."""
    conceal(os.environ)
    experiment = checked.experiment
    environments = EnvironmentPool(
        comparisons=checked.comparisons, accelerator=checked.device,
        provision=experiment.launch.provision, listener=listener,
    )  # fmt: skip
    checked, store, earlier = open_run(checked, execution, environments)
    expected = foreseen(checked, execution.results)
    around = Surroundings(checked, store, listener)
    context = RunContext(
        protocol=store.run.protocol,
        launch=experiment.launch,
        launcher=checked.launcher,
        environments=environments,
        store=store,
        listener=listener,
        sampler=Sampler(),
        verify=experiment.checks.verify,
        allow_unequal=experiment.checks.allow_unequal,
        ceilings=Ceilings(store, listener) if experiment.checks.mfu else None,
        expected={each.comparison.number: each.seconds for each in expected},
        earlier=earlier,
        look=around.look,
        further=checked.further,
    )
    store.heard = lambda event: listener.hear(Stored(event))
    listener.hear(Decision(f"run {store.id}, raw values and logs in {store.folder}"))
    interrupted = False
    try:
        with scratch():
            around.before()
            measure(checked.comparisons, context)
        around.after()
        hold_against_earlier_runs(store, checked)
        store.end("complete")
        listener.close()
    except KeyboardInterrupt:
        interrupted = True
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C ends only this
            hold_against_earlier_runs(store, checked, most=MOST_WHEN_INTERRUPTED)
    except (OSError, MemoryError, RuntimeError) as error:  # above all, a full disk
        said = scarce(error) or (reason_of(error) if isinstance(error, OSError) else "")
        if not said:
            raise
        raise MbenchError(f"{said}; {remains(store.folder, store.id)}") from error
    finally:
        store.end("interrupted")
        listener.close()
    return store, interrupted


def open_run(
    checked: Checked, execution: Execution, environments: EnvironmentPool
) -> tuple[Checked, RunWriter, Run | None]:
    """A new run, or the one being continued with what it had found; raises UsageError."""
    system, arguments = system_of(checked), list(map(masked_argument, execution.command))
    if execution.resume is None:
        store = RunWriter(
            execution.results, experiment=checked.experiment, system=system, arguments=arguments,
            source=our_digest(),
        )  # fmt: skip
        return checked, store, None
    folder = pick_run(execution.results, execution.resume)
    try:
        file = RunFile(file_of(folder))
    except OSError as error:
        raise MbenchError(f"cannot resume {folder}: {error.strerror}") from None
    try:  # read it once it is locked: until then another process may write it
        checked, earlier = found_before(checked, folder, system, environments)
        protocol = session(earlier, checked)
        store = RunWriter.reopen(
            file, earlier, arguments=arguments, protocol=protocol, source=our_digest()
        )
    except BaseException:  # even Ctrl-C must not leave a lock
        file.close()
        raise
    return checked, store, earlier


def rest_of(checked: Checked, execution: Execution, listener: Listener) -> Checked:
    """`checked` with only the comparisons that a resumed run still has to measure; raises
    UsageError if it cannot be resumed. Builds no environments.
    """
    assert execution.resume is not None
    environments = EnvironmentPool(
        comparisons=checked.comparisons, accelerator=checked.device, provision=False,
        listener=listener,
    )  # fmt: skip
    folder = pick_run(execution.results, execution.resume)
    checked, earlier = found_before(checked, folder, system_of(checked), environments)
    left = tuple(one for one in checked.comparisons
                 if not is_done(earlier, one) or one.number in checked.further)  # fmt: skip
    return replace(checked, comparisons=left)


def found_before(
    checked: Checked, folder: Path, system: System, environments: EnvironmentPool
) -> tuple[Checked, Run]:
    """`checked` with what the resumed run had found and the further sets it gets, and that run."""
    earlier, there = load_run(folder), machines(checked.launcher)
    checked = replace(checked, further=further(earlier, checked))
    return take_up(earlier, checked, system=system, environments=environments, there=there), earlier


def hold_against_earlier_runs(store: RunWriter, checked: Checked, **most: int) -> None:
    """Record what earlier runs say about the same ratios."""
    adapters = adapters_of(checked)
    for found in past_ratios(store.run, tuning=lambda given: tuning(given, adapters), **most):
        store.append(found)


def adapters_of(checked: Checked) -> list[Adapter]:
    return [entry.adapter for comparison in checked.comparisons for entry in comparison.entries]


def system_of(checked: Checked) -> System:
    """This machine, with what its workers would inherit."""
    return describe_system(masked_values(inherited_variables(adapters_of(checked))))
