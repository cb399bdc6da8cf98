"""The data of a task on masked tokens: a user's text, tokenized by a vocabulary built from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mbench.errors import UsageError, why
from mbench.files import opened
from mbench.learning.made import Made
from mbench.learning.pieces import numbered, tokens_of, vocabulary_of, words_of
from mbench.workloads.masked import FIRST_PIECE, MARKS, UNKNOWN

if TYPE_CHECKING:
    from mbench.learning.task import Task

__all__ = ["MOST_TEXT", "TEST_SHARE", "of_masked_text", "text_in"]

MOST_TEXT = 2**30
"""The most bytes that a text or another data file may have."""
TEST_SHARE = 10
"""The last tenth of a text is held out."""
MOST_UNKNOWN = 0.05
"""Share of tokens that may be unknown: with more, a model learns little else."""


def text_in(path: Path) -> str:
    """The text of a UTF-8 file; raises UsageError."""
    try:
        with opened(path, most=MOST_TEXT) as file:
            return file.read().decode("utf-8")
    except OSError as error:
        said = why(error)
    except UnicodeDecodeError as error:
        said = f"byte {error.start} is not UTF-8"
    raise UsageError(
        f"{path} cannot be read as UTF-8 text: {said}; give a text file with --data",
        option="--data",
    )


def of_masked_text(task: Task, file: Path | None) -> Made:
    """Raises UsageError if the text is missing, too short, or cannot be read."""
    path = file or (Path(task.data.file) if task.data.file else None)
    if path is None:
        raise UsageError(
            f"{task.name} needs text: give a UTF-8 file with --data FILE", option="--data"
        )
    order, words = numbered(words_of(text_in(path)))
    split = len(order) - len(order) // TEST_SHARE
    counts = np.bincount(order[:split], minlength=len(words)).tolist()
    learnt = {word: count for word, count in zip(words, counts, strict=True) if count}
    vocabulary = vocabulary_of(learnt, task.vocabulary)
    tokens = {
        part: tokens_of(some, words, vocabulary)
        for part, some in (("train", order[:split]), ("test", order[split:]))
    }
    check(task, path, tokens, vocabulary)
    lines = "\n".join(vocabulary).encode()
    return Made(
        arrays={
            "train_inputs": tokens["train"], "test_inputs": tokens["test"],
            "vocabulary": np.frombuffer(lines, np.uint8),
        },
        train=len(tokens["train"]), test=len(tokens["test"]), vocabulary=len(vocabulary),
    )  # fmt: skip


def check(
    task: Task, path: Path, tokens: dict[str, np.ndarray], vocabulary: list[str]
) -> None:  # fmt: skip
    """Raises UsageError for a text that is too short, or has too many unknown characters."""
    lesson = task.lesson
    whole = lesson.sequence_length - MARKS
    least = {"train": 2 * whole * lesson.batch_size, "test": 2 * whole}
    counts = {part: len(some) for part, some in tokens.items()}
    if any(counts[part] <= least[part] for part in counts):
        needed = max(least["train"] * TEST_SHARE // (TEST_SHARE - 1), least["test"] * TEST_SHARE)
        raise UsageError(
            f"{path} is too short for {task.name}: it has {sum(counts.values()):,} tokens, and "
            f"about {needed:,} are needed", option="--data",
        )  # fmt: skip
    unknown = float((tokens["train"] == UNKNOWN).mean())
    if len(vocabulary) <= FIRST_PIECE or unknown > MOST_UNKNOWN:
        raise UsageError(
            f"{100 * unknown:.0f} % of the words in {path} have characters outside its vocabulary "
            f"of {len(vocabulary)} pieces: is it a text file?", option="--data",
        )  # fmt: skip
    if len(vocabulary) > task.vocabulary:
        raise UsageError(
            f"the characters of {path} alone make {len(vocabulary)} pieces, but the vocabulary of "
            f"{task.name} has {task.vocabulary}: set a larger vocabulary in [model.config] of your "
            f"own copy of the task (mbench new task NAME --from {task.name})", option="--data",
        )  # fmt: skip
