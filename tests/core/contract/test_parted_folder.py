"""Folders of images, divided into those to train on and those held out."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.contract.image_folder import ImageFolderError
from mbench.contract.parted_folder import parted


def fill(folder, **counts):
    for name, count in counts.items():
        place = folder / name
        place.mkdir(parents=True)
        for at in range(count):
            (place / f"{at:02}.jpg").write_bytes(b"x" * (at + 1))


def named(found, numbers):
    names = list(found.files.names)
    return [names[at] for at in numbers]


def test_imagenets_layout_says_what_is_held_out(tmp_path):
    fill(tmp_path / "train", cat=3, dog=2)
    fill(tmp_path / "val", cat=1, dog=2)
    found = parted(str(tmp_path))
    assert named(found, found.train) == [
        "train/cat/00.jpg", "train/cat/01.jpg", "train/cat/02.jpg", "train/dog/00.jpg",
        "train/dog/01.jpg",
    ]  # fmt: skip
    assert named(found, found.test) == ["val/cat/00.jpg", "val/dog/00.jpg", "val/dog/01.jpg"]
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 0, 1, 1]
    assert found.classes == 2
    before = found.digest()
    (tmp_path / "val/dog/01.jpg").write_bytes(b"another size")
    assert parted(str(tmp_path)).digest() != before


def test_without_it_a_tenth_of_each_class_is_held_out(tmp_path):
    fill(tmp_path, cat=21, dog=3)
    found = parted(str(tmp_path))
    assert named(found, found.test) == ["cat/09.jpg", "cat/19.jpg", "dog/02.jpg"]
    assert sorted([*found.train, *found.test]) == list(range(24))
    assert (found.labels == np.repeat([0, 1], [21, 3])).all()


@pytest.mark.parametrize(("folders", "said"), [
    ({"train": {"cat": 1, "dog": 1}, "val": {"cat": 1, "cow": 1}}, "different classes, such as co"),
    ({"train": {"cat": 1, "dog": 1}, "val": {"cat": 1}}, "val needs at least two class folders"),
    ({".": {"cat": 2}}, "needs at least two class folders"),
])  # fmt: skip
def test_folders_that_do_not_do_are_refused(tmp_path, folders, said):
    for name, counts in folders.items():
        fill(tmp_path / name, **counts)
    with pytest.raises(ImageFolderError, match=said):
        parted(str(tmp_path))
