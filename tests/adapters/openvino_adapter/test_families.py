"""OpenVINO shows transformers; the kit shows a convolutional network."""

from __future__ import annotations

import pytest
from families import assert_shown

pytest.importorskip("mbench_openvino", reason="OpenVINO's adapter is not installed here")

from mbench_openvino.plugin import OpenVino

pytest.importorskip("openvino", reason="OpenVINO is not installed here")


@pytest.mark.parametrize("model", ["small-bert", "small-dit", "small-vit"])
def test_a_transformer_is_shown(model, tmp_path, monkeypatch):
    assert_shown(OpenVino(), model, folder=tmp_path, monkeypatch=monkeypatch)
