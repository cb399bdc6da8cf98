"""Images of a folder: in classes or flat, and a million of them."""

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


def test_digests_are_of_names_and_of_all_content(tmp_path):
    make(tmp_path, "1.jpg", "2.jpg")
    before = scan(str(tmp_path))
    names, whole = before.names_digest(), before.digest()
    (tmp_path / "2.jpg").write_bytes(b"y")
    after = scan(str(tmp_path))
    assert after.names_digest() == names
    assert after.digest() != whole


@pytest.mark.parametrize(
    ("name", "said"), [("", "has no JPEG files"), ("none", "no such file or directory")]
)
def test_what_has_no_images_is_refused_in_a_line(name, said, tmp_path):
    with pytest.raises(ImageFolderError, match=said):
        scan(os.path.join(tmp_path, name))


def test_a_million_names_take_little_memory(monkeypatch):
    """What is kept is a name each, and no object beside it; time grows as the names do."""

    def entries(folder):
        if folder == "/photos":
            return [], [f"n{number:08}" for number in range(100)]
        name = os.path.basename(folder)
        return [f"{name}_{number}.JPEG" for number in range(1000)], []

    monkeypatch.setattr(image_folder, "entries", entries)
    tracemalloc.start()
    found = scan("/photos")
    labels = found.labels()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == len(labels) == 100_000
    assert labels[-1] == 99
    assert most < 30e6, "a million would take more than 300 MB"
