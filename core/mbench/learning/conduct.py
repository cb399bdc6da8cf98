"""Plans a training run, and summarizes what it shows."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract.reading import read_fields
from mbench.errors import MbenchError, UsageError
from mbench.files import read_json
from mbench.learning.analyse import analyse
from mbench.learning.arms import entries_of
from mbench.learning.data import arrays_of
from mbench.learning.record import task_of
from mbench.learning.task import FOLDER, PHOTOGRAPHS, find_task
from mbench.learning.train import train
from mbench.measure.preflight import check, launch, settle
from mbench.results.training import Answers, TrainingTask
from mbench.spec.learning import Learning
from mbench.spec.planning import Comparison

if TYPE_CHECKING:
    from mbench.engine.launchers import Launchers
    from mbench.learning.analyse import LearningSummary
    from mbench.learning.data import Arrays
    from mbench.learning.record import Record
    from mbench.learning.task import Task
    from mbench.measure.preflight import Checked
    from mbench.measure.run_context import Measure
    from mbench.plugins.manager import Plugins
    from mbench.results.records import Run
    from mbench.spec.experiment import Experiment

__all__ = ["planned", "stored_name", "summary_of"]


def planned(
    experiment: Experiment, launchers: Launchers, *, earlier: Run | None = None
) -> tuple[Checked, Measure]:
    """What a training run needs, and the function that runs it; `earlier` is the run to continue.

    Raises UsageError for what does not exist or does not fit, and MbenchError if the task or its
    data have changed since the run began.
    """
    protocol = experiment.protocol
    assert isinstance(protocol, Learning)
    task = find_task(protocol.task, launchers.plugins)
    data = Path(protocol.data) if protocol.data else None
    arrays = arrays_of(task, data)
    check_fits(task, arrays)
    known = TrainingTask(
        task=asdict(task), task_digest=task.digest, data_digest=arrays.digest
    )  # fmt: skip
    if earlier is not None:
        check_same(earlier, known)
    experiment = settle(experiment, launchers)
    files = photographs_of(task, data)
    entries = entries_of(experiment, task, launchers.plugins, files=files)
    comparison = Comparison(number=0, title=task.title, entries=entries)
    checked = launch(experiment, (comparison,), launchers)
    warnings = tuple(check(checked, continued=earlier is not None))
    return replace(checked, warnings=warnings), partial(train, task, arrays, known)


def summary_of(record: Record, plugins: Plugins) -> LearningSummary:
    """What a run shows, compared with its task's stored answers if they are for this very task."""
    try:
        task = find_task(stored_name(str(record.task["name"]), str(record.task["source"])), plugins)
    except UsageError:  # the file is gone, or has changed
        return analyse(record)
    known = stored_answers(task, record.data_digest)
    return analyse(record, known if task.digest == record.task_digest else None)


def photographs_of(task: Task, data: Path | None) -> Path | None:
    """The folder that frameworks read themselves; None for other kinds of data."""
    if task.data.kind != PHOTOGRAPHS:
        return None
    return data or (Path(task.data.folder) if task.data.folder else None)


def stored_answers(task: Task, data_digest: str) -> Answers | None:
    """The answers of layer 1 stored beside the task's file; None unless they are for the task as it
    is and for the same data: another text has other answers. Layer 1 does not use photographs, so
    the answers of tasks on them name no data.
    """
    file = task.reference_file
    if not file.exists():
        return None
    body = read_json(file)
    if not isinstance(body, dict) or body.pop("task", None) != task.digest:
        return None
    if body.pop("data", None) != data_digest and task.data.kind != PHOTOGRAPHS:
        return None
    return read_fields(Answers, body, where=str(file))


def stored_name(name: str, source: str) -> str:
    """The name of a built-in task, or the absolute path of another task's file."""
    return name if Path(source).parent == FOLDER else str(Path(source).absolute())


def check_fits(task: Task, arrays: Arrays) -> None:
    """Raises UsageError if the data do not fit the model or the batch."""
    lesson = task.lesson
    known = lesson.config.get("vocabulary")
    if arrays.vocabulary and known is not None and arrays.vocabulary > known:
        raise UsageError(
            f"the text of {task.name} has {arrays.vocabulary} different characters, but the "
            f"model's vocabulary has only {known}: set vocabulary in [model.config] of "
            f"{task.source}"
        )
    most = arrays.train if not lesson.sequence_length else arrays.train // lesson.sequence_length
    if lesson.batch_size > most:
        raise UsageError(
            f"{task.source}, [training] batch_size: a batch of {lesson.batch_size} is more than "
            f"the {most} examples of {task.name}"
        )


def check_same(earlier: Run, now: TrainingTask) -> None:
    """Raises MbenchError if the task or its data have changed since the run began."""
    before = task_of(earlier)
    for what, was, found in (
        ("task", before.task_digest, now.task_digest), ("data", before.data_digest, now.data_digest)
    ):  # fmt: skip
        if was != found:
            raise MbenchError(
                f"the {what} has changed since {earlier.id} began ({was}, now {found}), so its "
                "seeds would not be comparable: start a new run without --resume"
            )
