"""Carries a training run out: new or continued, from what is asked for to what is written."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import mbench
from mbench.contract.device import HOST
from mbench.contract.reading import read_fields
from mbench.contract.secrets import masked
from mbench.errors import MbenchError, UsageError
from mbench.files import read_json
from mbench.learning.analyse import analyse
from mbench.learning.arms import entries_of
from mbench.learning.data import arrays_of
from mbench.learning.record import Answers, Arm, Header, Writer, new_id, pick, read
from mbench.learning.task import FOLDER, PHOTOGRAPHS, find_task
from mbench.learning.train import Trainer
from mbench.machine.system import describe_system
from mbench.measure.environment_pool import EnvironmentPool
from mbench.progress import open_progress
from mbench.spec.planning import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.learning.analyse import LearningSummary
    from mbench.learning.data import Arrays
    from mbench.learning.record import Record
    from mbench.learning.task import Task
    from mbench.plugins.manager import Plugins

REFERENCE = "reference"

__all__ = ["Request", "conduct", "summary_of"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a training run is asked to be; of one that is continued, what is None is as it was."""

    task: str | None = None
    frameworks: tuple[str, ...] = ()
    seeds: int | None = None
    data: Path | None = None
    precision: str = "fp32"
    device: str = HOST
    threads: int | None = None
    compiler: str = "default"
    tier: str = "default"
    provision: bool = True
    timeout: float = 900.0
    results: Path
    resume: str | None = None


def conduct(
    request: Request, plugins: Plugins, *, hear: Callable[[str], None], verbosity: str | None
) -> tuple[Path, bool]:
    """Train; the run's folder, and whether Ctrl-C ended it. Raises MbenchError."""
    run = None if request.resume is None else pick(request.results, request.resume)
    earlier = None if run is None else read(run)
    if earlier is not None:
        request = continued(request, earlier.header)
    if request.task is None:
        raise UsageError("train takes a task, such as --task glyphs; mbench list tasks shows them",
                         option="--task")  # fmt: skip
    if not request.frameworks:
        raise UsageError("train takes a framework or more, and mbench list frameworks shows them",
                         option="--frameworks")  # fmt: skip
    task = find_task(request.task, plugins)
    entries = entries_of(
        request.frameworks, task, plugins, precision=request.precision, device=request.device,
        threads=request.threads, compiler=request.compiler, tier=request.tier,
        files=photographs_of(task, request.data),
    )  # fmt: skip
    arrays = arrays_of(task, request.data)
    check_fits(task, arrays)
    if earlier is not None:
        check_same(earlier.header, task.digest, arrays.digest)
    seeds = request.seeds or task.seeds
    header = Header(
        id=new_id(), task=asdict(task), task_digest=task.digest, data_digest=arrays.digest,
        data_folder=str(request.data.absolute()) if request.data else "",
        frameworks=[masked(text) for text in request.frameworks],
        arms=[
            Arm(
                label=e.label, framework=e.adapter.title, precision=e.case.precision,
                compiler=e.case.compiler, device=e.case.device, threads=e.case.threads,
                tier=e.case.tier,
            )
            for e in entries
        ],
        asked={"precision": request.precision, "compiler": request.compiler, "tier": request.tier},
        seeds=seeds, machine=describe_system({}).cpu, version=mbench.__version__,
    )  # fmt: skip
    writer = Writer(request.results, None if run else header, run)
    with closing(writer):
        if earlier is not None and seeds > earlier.header.seeds:
            writer.append(replace(earlier.header, seeds=seeds))
        comparison = Comparison(number=0, title=task.title, entries=entries)
        pool = EnvironmentPool(
            comparisons=[comparison], accelerator=request.device, provision=request.provision,
            listener=open_progress(verbosity=verbosity),
        )  # fmt: skip
        trainer = Trainer(
            task=task, arrays=arrays, entries=entries, seeds=seeds, environments=pool,
            writer=writer, timeout=request.timeout, hear=hear,
        )  # fmt: skip
        try:
            trainer.run()
        except KeyboardInterrupt:
            return writer.folder, True
    return writer.folder, False


def summary_of(record: Record, plugins: Plugins) -> LearningSummary:
    """What a run shows, compared with the stored answers of its task where those are its own."""
    try:
        task = find_task(task_of(record.header), plugins)
    except UsageError:  # the file is gone, or has changed
        return analyse(record)
    known = stored_answers(task, record.header.data_digest)
    return analyse(record, known if task.digest == record.header.task_digest else None)


def photographs_of(task: Task, data: Path | None) -> Path | None:
    """The folder that frameworks read themselves; None of other kinds of data."""
    if task.data.kind != PHOTOGRAPHS:
        return None
    return data or (Path(task.data.folder) if task.data.folder else None)


def stored_answers(task: Task, data_digest: str) -> Answers | None:
    """The answers of layer 1 beside the task's file, if they are of the task as it is, and of the
    data: those of another text are other answers. Photographs are not in layer 1, so that their
    answers name none.
    """
    file = task.reference_file
    if not file.exists():
        return None
    body = read_json(file)
    if not isinstance(body, dict) or body.pop("task", None) != task.digest:
        return None
    if body.pop("data", data_digest) != data_digest:
        return None
    return read_fields(Answers, {**body, "label": REFERENCE}, where=str(file))


def task_of(header: Header) -> str:
    """The name of a task of ours, or the file of another."""
    own = Path(str(header.task["source"]))
    return str(header.task["name"]) if own.parent == FOLDER else str(own)


def check_fits(task: Task, arrays: Arrays) -> None:
    """Raises UsageError where the data do not fit the model or the batch."""
    lesson = task.lesson
    known = lesson.config.get("vocabulary")
    if arrays.vocabulary and known is not None and arrays.vocabulary > known:
        raise UsageError(
            f"the text of {task.name} has {arrays.vocabulary} characters, and the model's "
            f"vocabulary {known}: set vocabulary in [model.config] of {task.source}"
        )
    most = arrays.train if not lesson.sequence_length else arrays.train // lesson.sequence_length
    if lesson.batch_size > most:
        raise UsageError(
            f"{task.source}, [training] batch_size: a batch of {lesson.batch_size} is more than "
            f"the {most} examples of {task.name}"
        )


def continued(request: Request, header: Header) -> Request:
    """What the run asked for, with more seeds where more are asked for; raises UsageError."""
    if request.task is not None or request.frameworks or request.data is not None:
        raise UsageError(
            "--resume continues what the run asked for: leave out --task, --frameworks and "
            "--data; --seeds adds more", option="--resume",
        )  # fmt: skip
    if request.seeds is not None and request.seeds < header.seeds:
        raise UsageError(f"the run has {header.seeds} seeds asked for: --seeds adds more",
                         option="--seeds")  # fmt: skip
    first = header.arms[0]
    return replace(
        request, task=task_of(header),
        frameworks=tuple(header.frameworks), seeds=request.seeds or header.seeds,
        data=Path(header.data_folder) if header.data_folder else None,
        device=first.device, threads=first.threads, precision=header.asked["precision"],
        compiler=header.asked["compiler"], tier=header.asked["tier"],
    )  # fmt: skip


def check_same(header: Header, task: str, data: str) -> None:
    """Raises MbenchError where the task or its data have changed since the run began."""
    for what, was, now in (("task", header.task_digest, task), ("data", header.data_digest, data)):
        if was != now:
            raise MbenchError(
                f"the {what} changed since {header.id} began ({was}, now {now}): its seeds would "
                "not be alike; begin a new run without --resume"
            )
