"""ResNet-50 as published: its counts, its names, its data."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from mbench.workloads.resnet import RESNET50


def at(image_size):
    return RESNET50.resized(image_size=image_size)


def test_parameter_count_is_the_published_one():
    assert RESNET50.parameter_count() == 25_557_032


def test_flops_are_the_published_ones():
    assert RESNET50.forward_flops() == pytest.approx(8.178e9, rel=1e-3)
    assert RESNET50.flops(training=False) == RESNET50.forward_flops()
    assert RESNET50.flops(training=True) == 3 * RESNET50.forward_flops()


def test_flops_by_an_independent_count():
    """Per stage, from the paper's tables: width, blocks, and pixels per side of its output."""
    macs = 112**2 * 64 * 3 * 7**2
    inputs, before = 64, 56
    for width, blocks, side in ((64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)):
        for block in range(blocks):
            entry = before if block == 0 else side  # the stride sits in the 3x3: version 1.5
            macs += entry**2 * inputs * width
            macs += side**2 * width * width * 9
            macs += side**2 * width * 4 * width
            if block == 0:
                macs += side**2 * inputs * 4 * width
            inputs = 4 * width
        before = side
    macs += 2048 * 1000
    assert RESNET50.forward_flops() == 2 * macs


def test_canonical_names_are_those_of_the_reference_implementation():
    tensors = {tensor.name: tensor for tensor in RESNET50.tensors()}
    assert len(tensors) == len(RESNET50.tensors()) == 53 * 5 + 2
    assert list(tensors)[:5] == [
        "conv1.weight", "bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var",
    ]  # fmt: skip
    expected = {
        "conv1.weight": (64, 3, 7, 7),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer2.0.conv2.weight": (128, 128, 3, 3),
        "layer4.2.conv3.weight": (2048, 512, 1, 1),
        "layer4.2.bn3.running_var": (2048,),
        "fc.weight": (1000, 2048),
        "fc.bias": (1000,),
    }
    assert {name: tensors[name].shape for name in expected} == expected
    assert "layer1.1.downsample.0.weight" not in tensors


def test_running_statistics_alone_are_not_trained():
    for tensor in RESNET50.tensors():
        assert tensor.trainable is ("running" not in tensor.name)


def test_batch():
    batch = at(32).batch(64, seed=0)
    assert {name: array.shape for name, array in batch.items()} == {
        "images": (64, 3, 32, 32),
        "labels": (64,),
    }
    assert batch["images"].dtype == np.float32
    assert batch["images"].std() == pytest.approx(1.0, rel=0.01)
    assert batch["labels"].min() >= 0
    assert batch["labels"].max() < 1000


def digest(*arrays):
    little = [array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays]
    return hashlib.sha256(b"".join(little)).hexdigest()[:16]


def test_data_and_weights_never_change():
    batch = at(32).batch(2, seed=3)
    assert digest(batch["images"]) == "20c52342a8063c48"
    assert digest(batch["labels"]) == "5dc4369781a3ea7b"
    first = [RESNET50.initial(tensor, seed=0) for tensor in RESNET50.tensors()[:5]]
    assert digest(*first) == "cf5888b04f905435"


def test_seeds_change_weights_and_data():
    tensor = RESNET50.tensors()[0]
    one, other = (RESNET50.initial(tensor, seed=seed) for seed in (0, 1))
    assert not np.array_equal(one, other)
    assert not np.array_equal(at(32).batch(1, seed=0)["images"], at(32).batch(1, seed=1)["images"])


@pytest.mark.parametrize("size", [33, 96, 224, 225])
def test_other_sizes_keep_the_parameters(size):
    resized = at(size)
    assert resized.parameter_count() == RESNET50.parameter_count()
    assert resized.is_standard() is (size == 224)
    assert (resized.forward_flops() < RESNET50.forward_flops()) is (size < 224)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"image_size": 31}, "image_size of resnet50 must be 32 or more, not 31"),
        ({"sequence_length": 128}, "no size sequence_length; it has image_size"),
    ],
)
def test_sizes_that_do_not_fit(sizes, said):
    with pytest.raises(ValueError, match=said):
        RESNET50.resized(**sizes)


def test_no_size_is_the_standard_one():
    assert RESNET50.resized() is RESNET50
