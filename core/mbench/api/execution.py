"""Carries out experiments: what functions and commands share."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from mbench.api.result import Interrupted, Result
from mbench.console import tell
from mbench.engine.launchers import Launchers
from mbench.errors import UsageError
from mbench.measure.preflight import preflight, prepare, twins
from mbench.measure.run import Execution, conduct
from mbench.measure.verification import verify
from mbench.reports.progress import open_progress
from mbench.results.run import load_run
from mbench.results.summary import analyse

if TYPE_CHECKING:
    from mbench.measure.activity import Listener
    from mbench.measure.preflight import Checked
    from mbench.measure.verification import Verification
    from mbench.plugins.manager import Plugins
    from mbench.results.store import RunWriter
    from mbench.spec.experiment import Experiment

__all__ = ["Execution", "carry_out", "measure_here", "prove", "warn"]


def warn(checked: Checked) -> None:
    """Print warnings."""
    for line in [*checked.warnings, *twins(checked)]:
        tell(line)


def carry_out(checked: Checked, execution: Execution, listener: Listener) -> tuple[RunWriter, bool]:
    """Measure; also return whether Ctrl-C interrupted it."""
    warn(checked)
    return conduct(checked, execution, listener)


def measure_here(
    experiment: Experiment,
    execution: Execution,
    plugins: Plugins,
    *,
    verbosity: str | None,
    locating: AbstractContextManager[None] | None = None,
) -> Result:
    """The result of an experiment; raises Interrupted with what was measured until then.

    Errors about things that do not exist are raised within `locating`.
    """
    with Launchers(plugins) as launchers:
        with locating or nullcontext():
            checked = preflight(experiment, launchers, continued=execution.resume is not None)
        store, interrupted = carry_out(checked, execution, open_progress(verbosity=verbosity))
    result = Result(analyse(load_run(store.folder)), store.folder)
    if interrupted:
        raise Interrupted(
            f"interrupted; what was measured is in {store.folder}, and the same call with "
            f"resume={store.id!r} measures the rest",
            result,
        )
    return result


def prove(
    experiment: Experiment,
    plugins: Plugins,
    *,
    fresh: bool,
    quick: bool,
    locate: bool,
    listener: Listener,
) -> Verification:
    """Prove each case of an experiment, as `measure.verification.verify` does."""
    with Launchers(plugins) as launchers:
        checked = prepare(experiment, launchers)
        if any(comparison.best_compiler for comparison in checked.comparisons):
            raise UsageError(
                "verify takes compilers by name, but best is found by measuring: give "
                "--tier default,tuned or --compiler NAME; mbench compare proves what it finds"
            )
        return verify(checked, listener, fresh=fresh, quick=quick, locate=locate)
