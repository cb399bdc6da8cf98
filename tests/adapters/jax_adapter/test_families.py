"""JAX proves models of families with layers of their own; `mbench verify` proves all models."""

from __future__ import annotations

import pytest
from families import FORMS, assert_divided_proven, assert_form_proven, assert_proven

pytest.importorskip("mbench_jax", reason="JAX's adapter is not installed here")

from mbench_jax.plugin import Jax

pytest.importorskip("jaxlib", reason="JAX is not installed here")


@pytest.mark.parametrize(
    "model",
    [
        "small-moe",
        "dlrm-small",
        "dlrm-v2",
        "small-gpt2",
        "lstm",
        pytest.param("squeezenet1_0", marks=pytest.mark.thorough),
    ],
)
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(Jax(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize(
    "model", ["small-llama", "small-gpt2", "small-bert", "small-vit", "small-dit"]
)
def test_a_divided_step_is_proven(model, tmp_path, monkeypatch):
    """A divided step has micro-batches, and layers that are computed again."""
    assert_divided_proven(Jax(), model, folder=tmp_path, monkeypatch=monkeypatch, checkpoint=True)


@pytest.mark.parametrize("model", FORMS)
def test_a_longer_form_is_proven(model, tmp_path, monkeypatch):
    assert_form_proven(Jax(), model, folder=tmp_path, monkeypatch=monkeypatch)
