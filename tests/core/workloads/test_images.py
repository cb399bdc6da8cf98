"""Layers of image classifiers: their windows, tensors and multiply-adds."""

from __future__ import annotations

import pytest

from mbench.workloads.images import Convolution, LayerNorm, Linear, Norm, windows


@pytest.mark.parametrize(
    ("size", "arguments", "count"),
    [
        (224, {"kernel": 7, "stride": 2, "padding": 3}, 112),
        (112, {"kernel": 3, "stride": 2, "padding": 1}, 56),
        (299, {"kernel": 3, "stride": 2}, 149),
        (112, {"kernel": 3, "stride": 2, "ceil": True}, 56),  # windows at 0, 2 .. 110: one juts out
        (109, {"kernel": 3, "stride": 2, "ceil": True}, 54),  # they fit: nothing is added
        (5, {"kernel": 2, "stride": 3, "padding": 1, "ceil": True}, 2),  # a third would begin at 6
        (4, {"kernel": 1, "stride": 3, "ceil": True}, 2),
        (28, {"kernel": 3, "padding": 1}, 28),
    ],
)
def test_windows_along_a_side(size, arguments, count):
    assert windows(size, **arguments) == count


def test_windows_in_images_are_those_of_a_count_by_hand():
    for size in range(3, 40):
        for stride in (1, 2, 3):
            starts = [at for at in range(0, size, stride) if at + 3 <= size]
            assert windows(size, 3, stride=stride) == len(starts)
            jutting = len(starts) + (starts[-1] + stride < size and starts[-1] + 3 < size)
            assert windows(size, 3, stride=stride, ceil=True) == jutting


def test_a_grouped_convolution_without_bias():
    layer = Convolution("a", 32, 64, (1, 7), pixels=100, groups=4)
    (weight,) = layer.tensors()
    assert (weight.name, weight.shape) == ("a.weight", (64, 8, 1, 7))
    assert weight.scale**2 / 3 == pytest.approx(2 / (8 * 7))
    assert layer.macs() == 100 * 64 * 8 * 7


def test_a_convolution_with_bias():
    tensors = list(Convolution("a", 3, 8, 3, pixels=1, bias=True).tensors())
    assert [(t.name, t.shape) for t in tensors] == [("a.weight", (8, 3, 3, 3)), ("a.bias", (8,))]


def test_a_norm_has_two_trained_tensors_and_two_statistics():
    tensors = list(Norm("n", 8, gain=0.25).tensors())
    assert [t.name for t in tensors] == [
        "n.weight", "n.bias", "n.running_mean", "n.running_var",
    ]  # fmt: skip
    assert [t.trainable for t in tensors] == [True, True, False, False]
    assert [t.center for t in tensors] == [0.25, 0.0, 0.0, 1.0]
    assert Norm("n", 8).macs() == 0


def test_a_linear_layer():
    weight, bias = Linear("fc", 16, 10).tensors()
    assert (weight.shape, bias.shape) == ((10, 16), (10,))
    assert weight.scale == bias.scale == 0.25
    assert Linear("fc", 16, 10).macs() == 160


def test_a_layer_norm_and_a_linear_layer_at_many_places():
    weight, bias = LayerNorm("norm", 64).tensors()
    assert (weight.name, weight.shape, weight.center) == ("norm.weight", (64,), 1.0)
    assert (bias.name, bias.shape) == ("norm.bias", (64,))
    assert LayerNorm("norm", 64).macs() == 0
    once, often = Linear("a", 64, 32), Linear("a", 64, 32, positions=196)
    assert often.macs() == 196 * once.macs()
    assert list(often.tensors()) == list(once.tensors())
