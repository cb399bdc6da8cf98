"""Images of a folder: in class folders or flat, and with a million files."""

from __future__ import annotations

import os
import tracemalloc

import pytest

from mbench.contract import image_folder
from mbench.contract.image_folder import ImageFolderError, scan


def make(folder, *names):
    for name in names:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"x")


def test_classes_are_folders_in_the_order_of_their_names(tmp_path):
    make(tmp_path, "b/2.jpg", "b/1.JPEG", "a/9.jpeg", "a/notes.txt", ".hidden/1.jpg")
    (tmp_path / "c").mkdir()
    found = scan(str(tmp_path))
    assert list(found.names) == ["a/9.jpeg", "b/1.JPEG", "b/2.jpg"]
    assert found.labels().tolist() == [0, 1, 1]
    assert found.label_count == 2
    assert list(found.empty) == ["c"]
    assert found.path(0) == str(tmp_path / "a" / "9.jpeg")


def test_a_flat_folder_has_labels_by_number(tmp_path):
    make(tmp_path, "2.jpg", "1.jpg")
    found = scan(str(tmp_path))
    assert list(found.names) == ["1.jpg", "2.jpg"]
    assert found.labels().tolist() == [0, 1]


def test_digests_are_of_names_of_sizes_and_of_all_content(tmp_path):
    make(tmp_path, "a/1.jpg", "b/2.jpg")

    def digests():
        found = scan(str(tmp_path))
        return found.names_digest(), found.digest(contents=False), found.digest()

    names, sizes, whole = digests()
    (tmp_path / "b" / "2.jpg").write_bytes(b"y")
    assert digests()[:2] == (names, sizes)
    assert digests()[2] != whole
    (tmp_path / "b" / "2.jpg").write_bytes(b"yy")
    assert digests()[0] == names
    assert digests()[1] != sizes


@pytest.mark.parametrize(
    ("name", "said"), [("", "has no JPEG files"), ("none", "no such file or directory")]
)
def test_what_has_no_images_is_refused_in_a_line(name, said, tmp_path):
    with pytest.raises(ImageFolderError, match=said):
        scan(os.path.join(tmp_path, name))


def test_a_million_names_take_little_memory_and_no_file_is_looked_at(monkeypatch):
    """Only the name of each file is kept, and no other object."""
    looked = []

    def listed(folder):
        looked.append(folder)
        if folder == "/photos":
            return [f"n{number:08}" for number in range(100)]
        name = os.path.basename(folder)
        return [f"{name}_{number}.JPEG" for number in range(1000)]

    monkeypatch.setattr(image_folder.os, "listdir", listed)
    monkeypatch.setattr(image_folder.os.path, "isdir", lambda path: not looked.append(path))
    tracemalloc.start()
    found = scan("/photos")
    labels = found.labels()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == len(labels) == 100_000
    assert labels[-1] == 99
    assert found.name(99_999) == "n00000099/n00000099_999.JPEG"
    assert len(looked) == 201, "a folder is asked for what it is, and listed: once"
    assert most < 15e6, "a million would take more than 150 MB"
