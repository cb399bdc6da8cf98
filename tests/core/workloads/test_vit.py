"""Vision transformers as published: names, counts, and images of other sizes."""

from __future__ import annotations

import pytest

from mbench.workloads.operators import OPERATORS
from mbench.workloads.vit import MODELS

BASE = MODELS["vit-b-16"]


def test_parameters_by_an_independent_count():
    """The number is that of torchvision's vit_b_16."""
    hidden, inner, patches = 768, 3072, 14 * 14
    norm = 2 * hidden
    attention = 4 * (hidden * hidden + hidden)
    mlp = hidden * inner + inner + inner * hidden + hidden
    stem = 3 * 16 * 16 * hidden + hidden + hidden + (patches + 1) * hidden
    count = stem + 12 * (2 * norm + attention + mlp) + norm + hidden * 1000 + 1000
    assert BASE.parameter_count() == count == 86_567_656


def test_flops_by_an_independent_count():
    """Matrix products of one image, as (rows, inner, columns)."""
    length, hidden, inner, head = 197, 768, 3072, 64
    products = 12 * (
        [(length, hidden, 3 * hidden), (length, hidden, hidden)]
        + [(length, hidden, inner), (length, inner, hidden)]
        + 12 * [(length, head, length), (length, length, head)]
    )
    products += [(196, 3 * 16 * 16, hidden), (1, hidden, 1000)]
    assert BASE.forward_flops() == sum(2 * r * i * c for r, i, c in products)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("training", [False, True])
def test_its_operators_have_the_flops_of_the_model(name, training):
    names = MODELS[name].operations(2, training=training)
    whole = sum(OPERATORS[name].forward_flops() for name in names)
    assert whole == pytest.approx(2 * MODELS[name].forward_flops(), rel=1e-12)
    assert any("cross_entropy" in name for name in names) is training


def test_names_are_those_of_torchvision_in_its_order():
    tensors = {tensor.name: tensor.shape for tensor in BASE.tensors()}
    at = "encoder.layers.encoder_layer_0"
    assert list(tensors)[:17] == [
        "class_token", "conv_proj.weight", "conv_proj.bias", "encoder.pos_embedding",
        f"{at}.ln_1.weight", f"{at}.ln_1.bias",
        f"{at}.self_attention.in_proj_weight", f"{at}.self_attention.in_proj_bias",
        f"{at}.self_attention.out_proj.weight", f"{at}.self_attention.out_proj.bias",
        f"{at}.ln_2.weight", f"{at}.ln_2.bias",
        f"{at}.mlp.0.weight", f"{at}.mlp.0.bias", f"{at}.mlp.3.weight", f"{at}.mlp.3.bias",
        "encoder.layers.encoder_layer_1.ln_1.weight",
    ]  # fmt: skip
    assert tensors["encoder.pos_embedding"] == (1, 197, 768)
    assert tensors[f"{at}.self_attention.in_proj_weight"] == (2304, 768)
    assert tensors["heads.head.weight"] == (1000, 768)


def test_positions_are_of_the_size_of_the_image():
    smaller = BASE.resized(image_size=96)
    assert smaller.config.length == 1 + 6 * 6
    assert smaller.batch(2, seed=0)["images"].shape == (2, 3, 96, 96)
    fewer = BASE.parameter_count() - smaller.parameter_count()
    assert fewer == (197 - 37) * 768


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (100, "image_size of vit-b-16 must be a multiple of 16, the patch size, not 100"),
        (15, "image_size of vit-b-16 must be 16 or more, not 15"),
        (0, "image_size of vit-b-16 must be 16 or more, not 0"),
    ],
)
def test_images_that_are_no_whole_patches_are_refused(size, said):
    with pytest.raises(ValueError, match=said):
        BASE.resized(image_size=size)
