"""A model of every family is proven in TensorFlow."""

from __future__ import annotations

import pytest
from families import REPRESENTATIVES, assert_proven

from mbench_tensorflow.plugin import TensorFlow

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")


@pytest.mark.parametrize("model", REPRESENTATIVES)
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(TensorFlow(), model, folder=tmp_path, monkeypatch=monkeypatch)
