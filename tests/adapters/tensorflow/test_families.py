"""Models of the families whose turn it is are proven in TensorFlow."""

from __future__ import annotations

import pytest
from families import FORMS, assert_divided_proven, assert_form_proven, assert_proven, in_turn

from mbench_tensorflow.plugin import TensorFlow

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")


@pytest.mark.parametrize("model", in_turn("tf"))
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(TensorFlow(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", ["small-llama"])
def test_a_divided_step_is_proven(model, tmp_path, monkeypatch):
    """Micro-batches."""
    assert_divided_proven(TensorFlow(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", [*FORMS, "small-llama+layers"])
def test_a_longer_form_is_proven(model, tmp_path, monkeypatch):
    assert_form_proven(TensorFlow(), model, folder=tmp_path, monkeypatch=monkeypatch)
