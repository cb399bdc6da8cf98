"""ONNX Runtime shows transformers; the kit shows a convolutional network."""

from __future__ import annotations

import pytest
from families import assert_shown

pytest.importorskip("mbench_onnxruntime", reason="ONNX Runtime's adapter is not installed here")

from mbench_onnxruntime.plugin import OnnxRuntime

pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed here")


@pytest.mark.parametrize("model", ["small-bert", "small-dit", "small-vit"])
def test_a_transformer_is_shown(model, tmp_path, monkeypatch):
    assert_shown(OnnxRuntime(), model, folder=tmp_path, monkeypatch=monkeypatch)
