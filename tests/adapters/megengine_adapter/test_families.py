"""BERT is shown by MegEngine; the conformance kit does so with an image classifier."""

from __future__ import annotations

import pytest
from families import assert_shown

pytest.importorskip("mbench_megengine", reason="MegEngine's adapter is not installed here")

from mbench_megengine.plugin import MegEngine

pytest.importorskip("megengine", reason="MegEngine is not installed here")


@pytest.mark.parametrize("model", ["bert-base", "squeezenet1_1"])
def test_a_model_is_shown(model, tmp_path, monkeypatch):
    assert_shown(MegEngine(), model, folder=tmp_path, monkeypatch=monkeypatch)
