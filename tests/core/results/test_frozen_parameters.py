"""A part of a model that is never updated shows, however small its share of all changes is."""

from __future__ import annotations

import pytest

from mbench.results.changes import FEWEST, standstill

MOVED, STILL = (1e-9, 0.0), (0.0, 0.0)
NAMES = [
    *(f"stem.{name}" for name in ("conv", "bn")),
    *(f"layer4.{block}.{name}" for block in (0, 1) for name in ("conv1", "conv2")),
    "fc",
]


def model(*still):
    return {
        name: STILL if any(name.startswith(part) for part in still) else MOVED for name in NAMES
    }


@pytest.mark.parametrize(
    ("still", "found"),
    [
        ((), (0, "")),
        (("layer4",), (4, "layer4")),
        (("layer4.0",), (2, "layer4.0")),
        (("layer4.1.conv2",), (0, "")),  # another tensor of its part moved
        (("stem", "layer4"), (4, "layer4")),
        (("fc",), (0, "")),  # a part of one tensor has no name above it
    ],
)
def test_the_largest_part_that_stands_still_is_found(still, found):
    assert standstill(model(*still), model()) == found


def test_what_moves_in_neither_is_no_difference():
    assert standstill(model("layer4"), model("layer4")) == (0, "")


def test_what_moves_only_in_the_one_that_is_judged_is_no_standstill():
    assert standstill(model(), model("layer4")) == (0, "")


def test_tensors_that_are_not_there_do_not_move():
    assert standstill({}, model()) == (4, "layer4")
    assert FEWEST <= 4
