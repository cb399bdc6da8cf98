"""Attention is PyTorch's scaled_dot_product_attention in each model, as its differences say."""

from __future__ import annotations

import importlib

import pytest
from proven import MODELS

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from torch.nn import functional  # noqa: E402

from mbench_pytorch.tiers import ATTENTION  # noqa: E402
from mbench_pytorch.vision import import_torchvision  # noqa: E402

KEPT = import_torchvision()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "model", ["small-bert", "small-dit", "small-gpt2", "small-llama", "small-moe", "small-vit"]
)
def test_each_layer_calls_it_in_both_modes(monkeypatch, model, training):
    calls = []
    honest = functional.scaled_dot_product_attention

    def counted(*arguments, **settings):
        calls.append(settings)
        return honest(*arguments, **settings)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", counted)
    workload = MODELS[model]
    files = importlib.import_module(f"mbench_pytorch.models.{workload.family}")
    network = files.build(workload.config).float().train(training)
    batch = {name: torch.from_numpy(array) for name, array in workload.batch(1, seed=0).items()}
    with torch.set_grad_enabled(training):
        files.forward(network, batch)
    assert len(calls) == workload.config.layers
    assert ATTENTION in files.DIFFERENCES
