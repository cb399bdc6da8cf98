"""The tour's pictures: one for each scene, small, and without anything from elsewhere."""

from __future__ import annotations

import importlib.util
import re

import pytest


@pytest.fixture(scope="module")
def tour(root):
    spec = importlib.util.spec_from_file_location("tour", root / "docs" / "tour.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_scene_has_its_picture_on_the_page(tour, pages):
    shown = set(re.findall(r"\(tour/(\w+)\.svg\)", pages["docs/tour.md"]))
    assert (
        shown
        == {"compare", "progress", *tour.SCENES}
        == {path.stem for path in tour.FOLDER.iterdir()}
    )


def test_a_picture_is_drawn_of_what_a_terminal_got(tour, tmp_path, monkeypatch):
    monkeypatch.setattr(tour, "FOLDER", tmp_path)
    tour.draw("made", "mbench show", "\x1b[1;32mtf\x1b[0m is <faster>\n")
    picture = (tmp_path / "made.svg").read_text()
    for text in ("mbench&#160;show", "&#160;is&#160;&lt;faster&gt;"):
        assert text in picture


def test_pictures_are_small_and_fetch_nothing(tour):
    for path in tour.FOLDER.iterdir():
        text = path.read_text()
        assert len(text) < 40_000
        assert "url(" not in text.replace("url(#", "")
        assert "font-face" not in text
