"""BERT is shown by OpenVINO; the conformance kit does so with an image classifier."""

from __future__ import annotations

import pytest
from families import assert_shown

pytest.importorskip("mbench_openvino", reason="OpenVINO's adapter is not installed here")

from mbench_openvino.plugin import OpenVino

pytest.importorskip("openvino", reason="OpenVINO is not installed here")


def test_bert_is_shown(tmp_path, monkeypatch):
    assert_shown(OpenVino(), "small-bert", folder=tmp_path, monkeypatch=monkeypatch)
