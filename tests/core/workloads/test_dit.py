"""Diffusion transformers as published: names, counts, and what a batch holds."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.workloads.dit import MODELS, TIMESTEPS, schedule

LARGE = MODELS["dit-xl-2"]


def test_parameters_by_an_independent_count():
    """The number is that of facebookresearch/DiT's DiT_XL_2 without its fixed position table."""
    hidden, patch = 1152, 2 * 2
    block = 3 * hidden * hidden + hidden * hidden + 8 * hidden * hidden + 6 * hidden * hidden
    biases = 3 * hidden + hidden + 4 * hidden + hidden + 6 * hidden
    count = 28 * (block + biases) + 4 * patch * hidden + hidden
    count += 256 * hidden + hidden + hidden * hidden + hidden + 1001 * hidden
    count += hidden * patch * 8 + patch * 8 + 2 * (hidden * hidden + hidden)
    assert LARGE.parameter_count() == count == 674_834_720


def test_names_are_those_of_the_repository_in_its_order():
    tensors = {tensor.name: tensor.shape for tensor in LARGE.tensors()}
    assert list(tensors)[:19] == [
        "x_embedder.proj.weight", "x_embedder.proj.bias",
        "t_embedder.mlp.0.weight", "t_embedder.mlp.0.bias",
        "t_embedder.mlp.2.weight", "t_embedder.mlp.2.bias",
        "y_embedder.embedding_table.weight",
        "blocks.0.attn.qkv.weight", "blocks.0.attn.qkv.bias",
        "blocks.0.attn.proj.weight", "blocks.0.attn.proj.bias",
        "blocks.0.mlp.fc1.weight", "blocks.0.mlp.fc1.bias",
        "blocks.0.mlp.fc2.weight", "blocks.0.mlp.fc2.bias",
        "blocks.0.adaLN_modulation.1.weight", "blocks.0.adaLN_modulation.1.bias",
        "blocks.1.attn.qkv.weight", "blocks.1.attn.qkv.bias",
    ]  # fmt: skip
    assert list(tensors)[-4:] == [
        "final_layer.linear.weight", "final_layer.linear.bias",
        "final_layer.adaLN_modulation.1.weight", "final_layer.adaLN_modulation.1.bias",
    ]  # fmt: skip
    assert tensors["final_layer.linear.weight"] == (2 * 2 * 8, 1152)


def test_the_schedule_is_that_of_its_definition():
    """Computed at timestep 500 from the posterior's mean and variance (Ho et al. 2020, eq. 7)."""
    at, variances = 500, np.linspace(1e-4, 0.02, TIMESTEPS)
    kept = np.cumprod(1 - variances)
    posterior = variances[at] * (1 - kept[at - 1]) / (1 - kept[at])
    of_clean = variances[at] * np.sqrt(kept[at - 1]) / (1 - kept[at])
    of_noise = of_clean * np.sqrt(1 / kept[at] - 1)
    gaps, weights = schedule()
    assert gaps[at] == pytest.approx(np.log(variances[at] / posterior), rel=1e-9)
    assert weights[at] == pytest.approx(of_noise**2 / posterior, rel=1e-9)


def test_latents_hold_as_much_noise_as_their_timesteps_say():
    batch = MODELS["dit-s-8"].batch(64, seed=3)
    kept = np.cumprod(1 - np.linspace(1e-4, 0.02, TIMESTEPS))[batch["timesteps"]]
    clean = batch["latents"] - np.sqrt(1 - kept)[:, None, None, None] * batch["noise"]
    clean = clean / np.sqrt(kept)[:, None, None, None]
    early = batch["timesteps"] < 900  # in the others, mostly rounding is left
    assert clean[early].std() == pytest.approx(1, rel=0.02)
    assert np.corrcoef(clean[early].ravel(), batch["noise"][early].ravel())[0, 1] < 0.02
    assert batch["noise"].std() == pytest.approx(1, rel=0.02)
    assert 1 <= batch["timesteps"].min() <= batch["timesteps"].max() < TIMESTEPS
    assert 0 < (batch["classes"] == 1000).mean() < 0.25
    assert batch["classes"].max() == 1000


def test_latents_that_are_no_whole_patches_are_refused():
    assert MODELS["dit-s-8"].resized(latent_size=64).config.side == 8
    with pytest.raises(ValueError, match="latent_size of dit-s-8 must be a multiple of 8"):
        MODELS["dit-s-8"].resized(latent_size=36)
