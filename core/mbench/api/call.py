"""Function calls: keywords are read like options, and build the same experiments."""

from __future__ import annotations

import atexit
import inspect
import re
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.api.execution import Execution, measure_here, prove
from mbench.api.requests import (
    for_comparison,
    for_more_training,
    for_proof,
    for_resumption,
    for_run,
    for_training,
)
from mbench.api.result import Interrupted, Proofs, Training
from mbench.console import tell
from mbench.engine.launchers import Launchers
from mbench.errors import MbenchError, UsageError
from mbench.plugins.manager import Plugins
from mbench.reports.progress import open_progress
from mbench.results.folder import default_folder, ensure_home
from mbench.spec import values
from mbench.spec.option import Option
from mbench.spec.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from mbench.api.result import Result
    from mbench.spec.experiment import Experiment
    from mbench.spec.option import Given
    from mbench.spec.suite import Suite

__all__ = ["Call", "in_python"]

LEAVE_SECONDS = 30.0
"""Longest wait, after Ctrl-C, for another thread to write down what it measured."""

READERS: Mapping[str, values.Reader] = {
    "frameworks": values.frameworks, "subject": values.text, "results": values.text,
    "resume": values.text, "locate": values.text,
}  # fmt: skip
BESIDES: Mapping[str, Option] = {
    **{name: Option(name=name, read=read, says="") for name, read in READERS.items()},
    **{
        name: Option(name=name, read=values.switch, says="", one_way=True)
        for name in ("quiet", "verbose", "fresh", "quick")
    },
}
"""Keywords that are not options of an experiment."""


@dataclass(frozen=True, kw_only=True)
class Call:
    given: Given
    """Options of an experiment, of the keywords that differ from the function's defaults."""
    besides: Given
    """All other keywords that differ."""
    words: tuple[str, ...]
    """The call as a command line."""
    plugins: Plugins

    @classmethod
    def of(
        cls, function: Callable[..., object], keywords: Mapping[str, object], *,
        own: Collection[Option] = (),
    ) -> Call:  # fmt: skip
        """A call of `function`; `own` are options of it alone, which may share names with others.

        Raises UsageError for a value that an option does not accept.
        """
        ensure_home()
        plugins = Plugins()
        parameters = inspect.signature(function).parameters
        changed = {
            name: value
            for name, value in keywords.items()
            if value is not None and (value, type(value)) != usual(parameters[name])
        }
        only = {option.name: option for option in own}
        options = {name: only.get(name) or OPTIONS.get(name) or BESIDES[name] for name in changed}
        read = {name: options[name].value(value) for name, value in changed.items()}
        words = [word for name, value in changed.items() for word in options[name].words(value)]
        return cls(
            given={name: read[name] for name in read if name in OPTIONS and name not in only},
            besides={name: read[name] for name in read if name not in OPTIONS or name in only},
            words=("mbench", function.__name__, *words),
            plugins=plugins,
        )

    @property
    def frameworks(self) -> tuple[str, ...]:
        found = self.besides.get("frameworks", ())
        assert isinstance(found, tuple)
        return found

    @property
    def execution(self) -> Execution:
        folder, resume = self.besides.get("results"), self.besides.get("resume")
        return Execution(
            results=Path(str(folder)) if folder else default_folder(),
            resume=str(resume) if resume else None,
            command=self.words,
        )

    @property
    def verbosity(self) -> str | None:
        return next((word for word in ("quiet", "verbose") if word in self.besides), None)

    def compare(self) -> Result:
        run, results = self.execution.resume, self.execution.results
        if run is not None and not self.frameworks:
            return self.measured(for_resumption(run, results, self.given, explicit=self.given))
        return self.measured(for_comparison(self.frameworks, self.given, self.plugins))

    def run(self) -> Result:
        subject = str(self.besides["subject"])
        return self.measured(
            *for_run(subject, self.frameworks, self.given, self.plugins, explicit=self.given)
        )

    def measured(self, experiment: Experiment, suite: Suite | None = None) -> Result:
        locating = suite.locating(self.frameworks or suite.frameworks) if suite else nullcontext()
        return measure_here(
            experiment, self.execution, self.plugins, verbosity=self.verbosity, locating=locating
        )

    def train(self) -> Training:
        from mbench.learning.conduct import planned
        from mbench.learning.report import trained
        from mbench.measure.run import conduct
        from mbench.results.run import load_run, pick_run

        execution, besides, earlier = self.execution, self.besides, None
        seeds = besides.get("seeds")
        assert seeds is None or isinstance(seeds, int)
        if execution.resume is not None:
            earlier = load_run(pick_run(execution.results, execution.resume))
            named = {"frameworks", "task", "data"} & besides.keys()
            experiment = for_more_training(
                earlier, self.given, seeds=seeds, explicit={*self.given, *named}
            )
        else:
            task, data = besides.get("task"), besides.get("data")
            experiment = for_training(
                self.frameworks, self.given, self.plugins, seeds=seeds,
                task=str(task) if task else None, data=str(data) if data else None,
            )  # fmt: skip
        with Launchers(self.plugins) as launchers:
            checked, measure = planned(experiment, launchers, earlier=earlier)
            for warning in checked.warnings:
                tell(warning)
            progress = open_progress(verbosity=self.verbosity)
            store, interrupted = conduct(checked, execution, progress, measure=measure)
        found = Training(trained(load_run(store.folder), self.plugins), store.folder)
        if interrupted:
            raise Interrupted(
                f"interrupted; what was trained is in {store.folder}, and "
                f"train(resume={store.id!r}) continues with the first incomplete seed",
                found,
            )
        return found

    def verify(self) -> Proofs:
        quick, locate = "quick" in self.besides, self.besides.get("locate")
        by = str(locate) if locate else None
        experiment = for_proof(self.frameworks, self.given, self.plugins, quick=quick, locate=by)
        results, interrupted = prove(
            experiment, self.plugins, fresh="fresh" in self.besides,
            quick=quick or by is not None, locate=by is not None,
            listener=open_progress(verbosity=self.verbosity),
        )  # fmt: skip
        proofs = Proofs(results)
        if interrupted:
            raise Interrupted("interrupted; the same call continues from here", proofs)
        return proofs


def usual(parameter: inspect.Parameter) -> tuple[object, type]:
    """The default with its type, because 1 equals True."""
    return parameter.default, type(parameter.default)


@contextmanager
def in_python() -> Iterator[None]:
    """A context in which errors name keywords instead of options. Raises MbenchError if Python
    is about to exit, since it no longer starts threads then.
    """
    if not threading.main_thread().is_alive():
        raise MbenchError("the main thread has ended: let it wait for this one (Thread.join)")
    over = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        # Python 3.12 and older do not wait for a thread whose join was interrupted.
        atexit.register(over.wait, LEAVE_SECONDS)
    try:
        yield
    except UsageError as error:
        said = re.sub(r"(?<!\w)--no-([a-z][a-z-]*)", r"--\1=False", str(error))
        said = re.sub(r"(?<!\w)--([a-z][a-z-]*)", lambda flag: flag[1].replace("-", "_"), said)
        raise UsageError(said, option=error.option) from None
    finally:
        over.set()
