"""Keras proves models that represent their families, on the backend that is installed here."""

from __future__ import annotations

import pytest
from families import made

pytest.importorskip("mbench_keras", reason="Keras' adapter is not installed here")

from mbench_keras.plugin import mbench_adapters

keras = pytest.importorskip("keras", reason="Keras is not installed here")

(ADAPTER,) = [one for one in mbench_adapters() if one.backend == keras.config.backend()]


@pytest.mark.parametrize(
    "model",
    [
        "lstm-tiny",
        "small-bert",
        pytest.param("small-gpt2", marks=pytest.mark.thorough),
        pytest.param("resnet10", marks=pytest.mark.thorough),
        pytest.param("vit-ti-16", marks=pytest.mark.thorough),
    ],
)
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    """A proof of training proves the outputs, too."""
    proof = made(ADAPTER, model, mode="train", precision="fp64", folder=tmp_path, patch=monkeypatch)
    checks = {finding.check for finding in proof.findings}
    assert {"parameters", "outputs", "loss", "updates", "optimizer"} <= checks
