"""MXNet proves the representatives that families.py assigns to it."""

from __future__ import annotations

import pytest
from families import FORMS, assert_divided_proven, assert_form_proven, assert_proven, in_turn

from mbench_mxnet.plugin import MXNet

pytest.importorskip("mxnet", reason="MXNet is not installed here")


@pytest.mark.parametrize("model", in_turn("mxnet"))
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(MXNet(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", ["small-llama", "small-vit"])
def test_a_divided_step_is_proven(model, tmp_path, monkeypatch):
    """A divided step has micro-batches."""
    assert_divided_proven(MXNet(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", FORMS)
def test_a_longer_form_is_proven(model, tmp_path, monkeypatch):
    assert_form_proven(MXNet(), model, folder=tmp_path, monkeypatch=monkeypatch)
