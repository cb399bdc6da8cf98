"""The arrays of tasks: drawn, read from IDX files, or made from texts."""

from __future__ import annotations

import gzip
import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from mbench.errors import UsageError
from mbench.learning.conduct import stored_answers
from mbench.learning.data import IDX, arrays_of
from mbench.learning.glyphs import draw
from mbench.learning.sentences import write
from mbench.learning.task import find_task, task_names
from mbench.plugins.manager import Plugins


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def task(name, **data):
    found = find_task(name, Plugins())
    return replace(found, data=replace(found.data, **data))


def idx(folder, name, array, *, packed=False):
    head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    raw = head + array.astype(np.uint8).tobytes()
    if packed:
        (folder / f"{name}.gz").write_bytes(gzip.compress(raw))
    else:
        (folder / name).write_bytes(raw)


@pytest.fixture
def fashion(tmp_path):
    folder = tmp_path / "fashion"
    folder.mkdir()
    for part, count in (("train", 300), ("t10k", 20)):
        images = np.arange(count * 28 * 28).reshape(count, 28, 28) % 251
        idx(folder, f"{part}-images-idx3-ubyte", images, packed=part == "train")
        idx(folder, f"{part}-labels-idx1-ubyte", np.arange(count) % 10)
    return folder


def test_glyphs_are_the_same_everywhere_and_of_ten_kinds():
    images, kinds = draw(200, size=16, seed=1, part="train")
    again, _ = draw(200, size=16, seed=1, part="train")
    other, _ = draw(200, size=16, seed=2, part="train")
    assert (images == again).all()
    assert (images != other).any()
    assert (images.shape, images.dtype) == ((200, 1, 16, 16), np.uint8)
    assert set(kinds.tolist()) == set(range(10))
    assert 20 < images.mean() < 120
    arrays = arrays_of(task("glyphs", train=200, test=20))
    assert (np.load(arrays.folder / "train_inputs.npy") == images).all()


def test_idx_files_are_read_plain_and_packed_and_padded(fashion):
    arrays = arrays_of(task("fashion-mnist"), fashion)
    assert (arrays.train, arrays.test) == (300, 20)
    images = np.load(arrays.folder / "train_inputs.npy")
    assert images.shape == (300, 1, 32, 32)
    assert images[1, 0, 2, 2] == 28 * 28 % 251
    assert not images[:, :, :2].any()
    fewer = arrays_of(task("fashion-mnist", train=50), fashion)
    assert fewer.train == 50
    assert fewer.digest != arrays.digest


def cut(folder):
    path = folder / IDX["test_inputs"]
    path.write_bytes(path.read_bytes()[:-1])


def uneven(folder):
    idx(folder, IDX["test_labels"], np.arange(19) % 10)


def beyond(folder):
    idx(folder, IDX["test_labels"], np.arange(20))


def broken(folder):
    (folder / f"{IDX['train_inputs']}.gz").write_bytes(b"not packed")


def missing(folder):
    (folder / IDX["test_labels"]).unlink()


@pytest.mark.parametrize(("spoil", "said"), [
    (cut, "is not an IDX file of bytes with 3 axes, or is cut off"),
    (uneven, "has 20 images and 19 labels"),
    (beyond, "labels outside 0 to 9"),
    (broken, "cannot be read as IDX"),
    (missing, "lacks t10k-labels-idx1-ubyte: give --data the folder"),
])  # fmt: skip
def test_data_that_are_damaged_are_refused(fashion, spoil, said):
    spoil(fashion)
    with pytest.raises(UsageError, match=said):
        arrays_of(task("fashion-mnist"), fashion)


def test_texts_become_ranks_of_their_characters(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("abcb" * 20_000, encoding="utf-8")
    arrays = arrays_of(task("chars"), file)
    assert arrays.vocabulary == 3
    assert np.load(arrays.folder / "train_inputs.npy")[:4].tolist() == [0, 1, 2, 1]
    file.write_text("short", encoding="utf-8")
    with pytest.raises(UsageError, match="too short for chars: it has 5 characters"):
        arrays_of(task("chars"), file)
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UsageError, match="cannot be read as UTF-8 text"):
        arrays_of(task("chars"), file)


def test_sentences_are_the_same_everywhere_and_their_sums_are_right():
    text = write(20_000, seed=1)
    assert len(text) == 20_000
    assert text == write(20_000, seed=1) != write(20_000, seed=2)
    sums = [line for line in text.replace("\n", ". ").split(". ") if " make " in line][:-1]
    assert len(sums) > 20
    for line in sums:
        one, _, other, _, total = line.rstrip(".").split(" ")
        assert int(one) + int(other) == int(total)
    assert len(set(text)) <= find_task("chars", Plugins()).lesson.config["vocabulary"]


def test_every_task_of_ours_is_read_and_has_a_digest_of_its_own():
    digests = {find_task(name, Plugins()).digest for name in task_names()}
    assert len(digests) == len(task_names()) >= 3


def test_stored_answers_are_of_the_tasks_as_they_are():
    found = [task(name) for name in task_names() if task(name).reference_file.exists()]
    assert {one.name for one in found} == {"glyphs", "chars", "imagenet", "imagenet-mixup"}
    for one in found:
        known = json.loads(one.reference_file.read_text())
        assert known["task"] == one.digest, one.name
        assert ("data" in known) is (one.data.kind != "photographs"), one.name


def test_answers_of_another_text_are_no_answers(tmp_path):
    own = task("chars")
    assert stored_answers(own, arrays_of(own).digest) is not None
    file = tmp_path / "text.txt"
    file.write_text("abcb" * 20_000, encoding="utf-8")
    assert stored_answers(own, arrays_of(own, file).digest) is None
    assert stored_answers(task("imagenet"), "whatever the folder") is not None
