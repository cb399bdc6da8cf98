"""`mbench data` makes folders of photographs, the same from the same seed, and checks folders."""

from __future__ import annotations

import errno
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mbench.cli.data import make as making
from mbench.contract.image_folder import scan
from mbench.errors import MbenchError, UsageError

pytestmark = pytest.mark.extras


def make(folder, **given):
    wanted = {"files": 6, "classes": 3, "seed": 0, "report": lambda _: None, **given}
    return making.make(folder, **wanted)


def data(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "mbench", "data", *map(str, arguments)], capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_same_seed_makes_the_same_files_of_imagenets_mean_size(tmp_path):
    one, same = make(tmp_path / "one", files=40), make(tmp_path / "same", files=40)
    other = make(tmp_path / "other", seed=1)
    assert one.digest == same.digest != other.digest
    assert 0.9 < one.mean_bytes / making.MEAN_BYTES < 1.1
    found = scan(str(tmp_path / "one"))
    assert (len(found), list(found.classes)) == (40, ["class0000", "class0001", "class0002"])
    assert found.digest() == one.digest
    manifest = json.loads((tmp_path / "one" / making.MANIFEST).read_text())
    assert manifest["digest"] == one.digest
    assert len(manifest["sources"]) == 2


def test_a_flat_folder_has_no_classes(tmp_path):
    make(tmp_path / "flat", classes=0)
    assert not scan(str(tmp_path / "flat")).classes


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    written = []

    def full(path, content):
        written.append(path)
        if len(written) > 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return len(content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(MbenchError, match=r"No space left.*; nothing was left behind"):
        make(tmp_path / "photos")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_used_is_not_touched(tmp_path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="already exists: give a new folder"):
        make(tmp_path)
    done = data("make", tmp_path)
    assert done.returncode == 2
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]


def test_each_kind_of_bad_file_is_named(tmp_path):
    from PIL import Image

    folder = tmp_path / "photos"
    make(folder)
    whole = next((folder / "class0000").glob("*.jpg"))
    picture, content = Image.open(whole), whole.read_bytes()
    place = folder / "class0001"
    (place / "broken.jpg").write_text("not an image")
    (place / "truncated.jpg").write_bytes(content[: len(content) // 2])
    (place / "padded.jpg").write_bytes(content + bytes(5000))
    thumbnail = Image.Exif()
    small = io.BytesIO()
    picture.resize((8, 8)).save(small, "JPEG")
    thumbnail.get_ifd(0x8769)[0x927C] = small.getvalue()  # a whole JPEG in the header
    picture.save(place / "thumbnail.jpg", exif=thumbnail)
    (place / "endless.jpg").write_bytes((place / "thumbnail.jpg").read_bytes()[:-2] + bytes(5000))
    picture.convert("CMYK").save(place / "cmyk.jpg")
    Image.new("I;16", (8, 8)).save(place / "deep.png")
    (place / "deep.png").rename(place / "deep.jpg")
    picture.save(place / "png.png")
    (place / "png.png").rename(place / "png.jpg")
    exif = Image.Exif()
    exif[0x0112] = 6
    picture.save(place / "turned.jpg", exif=exif)
    (place / "gone.jpg").symlink_to("nowhere")
    (folder / "class9999").mkdir()
    done = data("check", folder, "--format", "json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["digest"] is None, "a file cannot be read"
    found = {one["name"].rpartition("/")[2]: one["kind"] for one in document["findings"]}
    assert found == {
        "broken.jpg": "broken", "truncated.jpg": "truncated", "cmyk.jpg": "CMYK",
        "padded.jpg": "trailing data", "endless.jpg": "truncated",
        "deep.jpg": "16-bit", "png.jpg": "PNG named .jpg", "turned.jpg": "EXIF orientation",
        "gone.jpg": "unreadable", "": "empty class",
    }  # fmt: skip
    lines = data("check", folder).stdout.splitlines()
    assert "class0001/cmyk.jpg: CMYK: frameworks convert" in "\n".join(lines)
    assert lines[-1].endswith("16 images, 10 findings")


def test_a_good_folder_has_no_findings(tmp_path):
    make(tmp_path / "photos")
    done = data("check", tmp_path / "photos")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/photos: 6 images, 0 findings\n")


@pytest.mark.parametrize("arguments", [("check", "nowhere"), ("make", "x", "--files", "0")])
def test_bad_input_is_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = data(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
