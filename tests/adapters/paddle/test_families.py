"""Models of the families whose turn it is are proven in PaddlePaddle."""

from __future__ import annotations

import pytest
from families import FORMS, assert_form_proven, assert_proven, in_turn

from mbench_paddle.plugin import PaddlePaddle

pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")


@pytest.mark.parametrize("model", in_turn("paddle"))
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(PaddlePaddle(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", FORMS)
def test_a_longer_form_is_proven(model, tmp_path, monkeypatch):
    assert_form_proven(PaddlePaddle(), model, folder=tmp_path, monkeypatch=monkeypatch)
