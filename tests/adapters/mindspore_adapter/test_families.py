"""MindSpore proves models that represent their families; `mbench verify` proves all models."""

from __future__ import annotations

import pytest
from families import assert_proven

pytest.importorskip("mbench_mindspore", reason="MindSpore's adapter is not installed here")

from mbench_mindspore.plugin import MindSpore

pytest.importorskip("mindspore", reason="MindSpore is not installed here")


@pytest.mark.parametrize(
    "model", ["resnet18", pytest.param("squeezenet1_0", marks=pytest.mark.thorough)]
)
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(MindSpore(), model, folder=tmp_path, monkeypatch=monkeypatch)
