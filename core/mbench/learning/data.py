"""Makes or reads the arrays of a task, and puts them where workers read them."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import platformdirs

from mbench.errors import MbenchError, UsageError, why
from mbench.files import opened, replacing
from mbench.learning import glyphs
from mbench.learning.made import Made
from mbench.learning.masked_text import MOST_TEXT, TEST_SHARE, of_masked_text, text_in
from mbench.learning.photographs import of_photographs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.learning.task import Data, Task

__all__ = ["Arrays", "arrays_of"]

IDX = {
    "train_inputs": "train-images-idx3-ubyte", "train_labels": "train-labels-idx1-ubyte",
    "test_inputs": "t10k-images-idx3-ubyte", "test_labels": "t10k-labels-idx1-ubyte",
}  # fmt: skip
"""The files of MNIST and of data sets in its format, by content; names may end with .gz."""
REMEDY = (
    "give --data the folder with {files} (plain or .gz); on Debian and Ubuntu, the package "
    "dataset-fashion-mnist installs Fashion-MNIST into /usr/share/datasets/fashion-mnist"
)


class Arrays(NamedTuple):
    """The folder of a task's arrays, and a digest over them."""

    folder: Path
    digest: str
    train: int
    test: int
    vocabulary: int
    """Number of tokens; 0 for images."""


def arrays_of(task: Task, folder: Path | None = None) -> Arrays:
    """Make or read the arrays, and store those not yet stored; `folder` is the user's data.

    Raises UsageError if the data are missing or damaged.
    """
    made = MAKERS[task.data.kind](task, folder)
    digest = hashlib.sha256(made.files.encode())
    for name, array in sorted(made.arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).data)
    name = digest.hexdigest()[:16]
    place = platformdirs.user_cache_path("mbench", appauthor=False) / "learning" / name
    try:
        place.mkdir(parents=True, exist_ok=True)
        for key, array in made.arrays.items():
            path = place / f"{key}.npy"
            if not path.exists():
                with replacing(path) as fresh, fresh.open("wb") as file:
                    np.save(file, array)
    except OSError as error:
        raise MbenchError(
            f"cannot write the data of {task.name} to {place}: {why(error)}"
        ) from None
    return Arrays(place, name, made.train, made.test, made.vocabulary)


def of_images(found: Mapping[str, np.ndarray]) -> Made:
    return Made(arrays=found, train=len(found["train_inputs"]), test=len(found["test_inputs"]))


def of_glyphs(task: Task, folder: Path | None) -> Made:
    data = task.data
    if folder is not None:
        raise UsageError(f"{task.name} draws its own data: leave out --data", option="--data")
    found = {}
    for part, count in (("train", data.train), ("test", data.test)):
        if count < 1:
            raise UsageError(f"{task.source}: [data] lacks {part}, the number of examples to draw")
        images, kinds = glyphs.draw(count, size=data.size, seed=data.seed, part=part)
        found[f"{part}_inputs"], found[f"{part}_labels"] = images, kinds
    return of_images(found)


def of_idx(task: Task, folder: Path | None) -> Made:
    """MNIST's format: big-endian sizes, then bytes."""
    place = folder or (Path(task.data.folder) if task.data.folder else None)
    remedy = REMEDY.format(files=", ".join(IDX.values()))
    if place is None or not place.is_dir():
        raise UsageError(
            f"{task.name} needs its data: "
            + (f"there is no folder {place}; " if place else "") + remedy,
            option="--data",
        )  # fmt: skip
    found = {}
    for name, file in IDX.items():
        array = read_idx(place, file, remedy, axes=3 if name.endswith("inputs") else 1)
        most = task.data.train if name.startswith("train") else task.data.test
        found[name] = array[: most or None]
    for part in ("train", "test"):
        images, labels = found[f"{part}_inputs"], found[f"{part}_labels"]
        if len(images) != len(labels) or not len(images):
            raise UsageError(
                f"{place} has {len(images)} images and {len(labels)} labels for {part}: {remedy}",
                option="--data",
            )
        if labels.max() > 9:
            raise UsageError(f"{place} has labels outside 0 to 9", option="--data")
        pad = task.data.pad
        padded = np.pad(images, ((0, 0), (pad, pad), (pad, pad))) if pad else images
        found[f"{part}_inputs"] = np.ascontiguousarray(padded[:, None])
    return of_images(found)


def read_idx(folder: Path, name: str, remedy: str, *, axes: int) -> np.ndarray:
    """The uint8 array in an IDX file with this many axes; raises UsageError."""
    path = next((p for p in (folder / name, folder / f"{name}.gz") if p.exists()), None)
    if path is None:
        raise UsageError(f"{folder} lacks {name}: {remedy}", option="--data")
    try:
        with opened(path, most=MOST_TEXT) as file:
            raw = file.read()
        raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
        zero, kind, count = struct.unpack(">HBB", raw[:4])
        shape = struct.unpack(f">{count}I", raw[4 : 4 + 4 * count])
        array = np.frombuffer(raw, np.uint8, offset=4 + 4 * count)
    except (OSError, EOFError, struct.error, ValueError) as error:
        raise UsageError(f"{path} cannot be read as IDX: {error}", option="--data") from None
    if (zero, kind, count) != (0, 8, axes) or array.size != np.prod(shape):
        raise UsageError(
            f"{path} is not an IDX file of bytes with {axes} axes, or is cut off", option="--data"
        )
    return array.reshape(shape)


def of_text(task: Task, folder: Path | None) -> Made:
    """The characters of a text, numbered in sorted order; its last tenth is held out.

    Without a file: sentences of a small grammar, see mbench.learning.sentences.
    """
    data = task.data
    path = folder or (Path(data.file) if data.file else None)
    text = own_text(data) if path is None else text_in(path)
    signs = sorted(set(text))
    if len(signs) > 256:
        rare = sorted(signs, key=text.count)[: len(signs) - 256]
        text = text.translate(dict.fromkeys(map(ord, rare)))
        signs = sorted(set(text))
    rank = {sign: at for at, sign in enumerate(signs)}
    tokens = np.array([rank[sign] for sign in text], np.uint8)
    split = len(tokens) - len(tokens) // TEST_SHARE
    parts = {"train_inputs": tokens[:split], "test_inputs": tokens[split:]}
    needed = task.lesson.sequence_length * task.lesson.batch_size * 2
    if len(parts["test_inputs"]) < needed or not signs:
        raise UsageError(
            f"{path or 'the text'} is too short for {task.name}: it has {len(text)} characters, "
            f"and {needed * TEST_SHARE} are needed", option="--data",
        )  # fmt: skip
    return Made(
        arrays=parts, train=split, test=len(tokens) - split, vocabulary=1 + int(tokens.max())
    )


def own_text(data: Data) -> str:
    """Sentences of a small grammar: see mbench.learning.sentences."""
    from mbench.learning.sentences import write

    return write(data.train or 400_000, seed=data.seed)


MAKERS: Mapping[str, Callable[[Task, Path | None], Made]] = {
    "glyphs": of_glyphs,
    "idx": of_idx,
    "text": of_text,
    "masked-text": of_masked_text,
    "photographs": of_photographs,
}
