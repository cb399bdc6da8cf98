"""The file beside an adapter's module: other names of its framework, and sizes of downloads."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from mbench.plugins.adapter_metadata import FILE, Leaflet, leaflet, size


@pytest.fixture
def adapter(tmp_path, monkeypatch):
    """Makes an adapter; beside its module lies a file with the given text, or none."""

    def adapter(text=None):
        (tmp_path / "leafy.py").write_text("class Adapter: name = 'leafy'\n")
        if text is not None:
            (tmp_path / FILE).write_text(text)
        spec = importlib.util.spec_from_file_location("leafy", tmp_path / "leafy.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "leafy", module)
        spec.loader.exec_module(module)
        return module.Adapter()

    return adapter


def test_a_leaflet_is_read_and_may_be_left_out(adapter):
    assert leaflet(adapter()) == Leaflet()
    whole = 'aliases = ["leaf"]\n[download-megabytes]\ncpu = 70\ncuda = 2800\nxpu = [250, 2800]\n'
    sizes = {"cpu": (70,), "cuda": (2800,), "xpu": (250, 2800)}
    assert leaflet(adapter(whole)) == Leaflet(("leaf",), sizes)
    said = [size(adapter(whole), where) for where in ("cpu", "cuda", "xpu", "tpu")]
    assert said == [
        "downloads up to 70 MB", "downloads up to 2.8 GB",
        "downloads 250 MB to 2.8 GB, depending on pip's index", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("alias = []", "contains alias; only aliases and"),
        ("aliases = 'leaf'", "should be a list of names"),
        ("aliases = [1]", "should be a list of names"),
        ("download-megabytes = 3", "should be a table of numbers"),
        ("[download-megabytes]\ncpu = 'x'", "should be a table of numbers"),
        ("[download-megabytes]\ncpu = [1, 2, 3]", "or pairs of numbers"),
        ("a b", "is not valid TOML: Expected"),
    ],
)
def test_one_that_is_none_is_refused_with_the_reason_and_harms_no_download(adapter, text, why):
    with pytest.raises(ValueError, match=why):
        leaflet(adapter(text))
    assert size(adapter(text), "cpu") == ""
