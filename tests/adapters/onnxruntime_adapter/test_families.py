"""BERT is shown by ONNX Runtime; the conformance kit does so with an image classifier."""

from __future__ import annotations

import pytest
from families import assert_shown

pytest.importorskip("mbench_onnxruntime", reason="ONNX Runtime's adapter is not installed here")

from mbench_onnxruntime.plugin import OnnxRuntime

pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed here")


def test_bert_is_shown(tmp_path, monkeypatch):
    assert_shown(OnnxRuntime(), "small-bert", folder=tmp_path, monkeypatch=monkeypatch)
