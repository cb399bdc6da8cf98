"""MegEngine shows an image classifier and BERT; `mbench verify` shows the other models."""

from __future__ import annotations

import pytest
from families import assert_shown

pytest.importorskip("mbench_megengine", reason="MegEngine's adapter is not installed here")

from mbench_megengine.plugin import MegEngine

pytest.importorskip("megengine", reason="MegEngine is not installed here")


@pytest.mark.parametrize("model", ["squeezenet1_1", "small-bert"])
def test_a_model_is_shown(model, tmp_path, monkeypatch):
    assert_shown(MegEngine(), model, folder=tmp_path, monkeypatch=monkeypatch)
