"""The first two layers of judging training, on made-up answers and paths."""

from __future__ import annotations

import math

import pytest

from mbench.learning.judge import EXACT, distances, envelope, follow
from mbench.results.training import Answers, LossPath

RIGHT = Answers(
    losses=[2.0, 1.0], changes={"w": [1.0, 0.5, 0.5], "b": [0.0, 0.0, 0.0]},
    logits=[[2.0, 1.0], [3.0, 1.0]],
)  # fmt: skip


def answers(**changes):
    return Answers(**{**vars(RIGHT), **changes})


def test_the_same_answers_are_no_distance_apart():
    assert set(distances(RIGHT, RIGHT).values()) == {0.0}


@pytest.mark.parametrize(("changes", "where", "far"), [
    ({"losses": [2.0, 1.0 + 1e-6]}, "losses", 1e-6),
    ({"losses": [2.0]}, "losses", math.inf),
    ({"losses": [2.0, None]}, "losses", math.inf),
    ({"changes": {**RIGHT.changes, "w": [1.0, 0.5, 0.5 + 1e-6]}}, "w", 1e-6),
    ({"changes": {"b": RIGHT.changes["b"]}}, "w", math.inf),
    ({"changes": {**RIGHT.changes, "b": [1e-12, 1e-12, 0.0]}}, "b", 1e-7),
    ({"changes": {**RIGHT.changes, "more": [1.0, 1.0, 0.0]}}, "more", math.inf),
    ({"logits": [[2.0, 1.0], [3.0, 1.0 + 3e-6]]}, "logits after training", 1e-6),
])  # fmt: skip
def test_what_differs_is_named(changes, where, far):
    found = distances(answers(**changes), RIGHT)
    assert found.pop(where) == pytest.approx(far, rel=1e-3)
    assert max(found.values()) <= EXACT


def test_a_tensor_that_only_rounding_moves_may_move_otherwise():
    """The bias of attention's keys, whose gradient is zero, does so under AdamW."""
    moved = answers(changes={**RIGHT.changes, "b": [1e-16, 1e-16, 0.0]})
    assert max(distances(moved, RIGHT).values()) <= EXACT
    assert max(distances(RIGHT, moved).values()) <= EXACT


def path(losses, nudged):
    return LossPath(losses=losses, nudged=[nudged])


def test_the_envelope_is_its_own_or_that_of_the_middle_framework_and_never_narrows():
    calm = path([1.0, 1.0, 1.0], [1.1, 1.2, 1.0])
    paths = {"calm": calm, "wild": path([1.0] * 3, [9.0] * 3), "still": path([1.0] * 3, [1.0] * 3)}
    assert envelope({"calm": calm}, [1.0] * 9, "calm") == pytest.approx([0.1, 0.2, 0.2])
    assert envelope(paths, [1.0] * 9, "calm") == pytest.approx([0.1, 0.2, 0.2])
    assert envelope(paths, [1.0] * 9, "still") == pytest.approx([0.1, 0.2, 0.2])
    assert envelope(paths, [1.0] * 2, "wild") == pytest.approx([8, 8])
    assert envelope({}, [1.0], "calm") == []
    both = LossPath(losses=[1.0, 1.0], nudged=[[1.1, 1.0], [1.0, None]])
    assert envelope({"one": both}, [1.0] * 2, "one") == pytest.approx([0.1])


def test_a_loss_that_is_not_finite_ends_the_envelope_of_its_own_framework_only():
    """If it is a nudged start's loss, rounding decides from there on. If it is the path's own loss,
    the path has left the envelope.
    """
    right, near = [1.0] * 4, [1.0 + 1e-6] * 4
    lost = [1.0, 1.0, None, None]
    paths = {
        "whole": LossPath(losses=near, nudged=[near]),
        "itself": LossPath(losses=lost, nudged=[lost]),
        "nudged": LossPath(losses=near, nudged=[lost]),
    }
    found = {name: follow(path.losses, right, envelope(paths, right, name), unit=1e-6)
             for name, path in paths.items()}  # fmt: skip
    assert (found["whole"].steps, found["whole"].outside) == (4, None)
    assert (found["itself"].steps, found["itself"].outside) == (3, 2)
    assert (found["nudged"].steps, found["nudged"].outside) == (2, None)
    assert [one.not_finite for one in found.values()] == [False, False, True]
    wide = envelope({"one": path([None], [None])}, [1.0], "one")
    alone = follow([None], [1.0], wide, unit=1e-6)
    assert alone.outside == 0


def test_a_path_is_left_where_rounding_no_longer_explains_it():
    right, wide = [1.0, 1.0, 1.0, 1.0], [1e-6, 1e-6, 1e-6, 0.5]
    close = follow([1.0, 1.0 + 5e-4, 1.0, 5.0], right, wide, unit=0.0)
    assert (close.steps, close.outside) == (3, None)
    assert close.ratio == pytest.approx(0.5)
    off = follow([1.0, 1.0, 1.0 + 2e-3, 1.0], right, wide, unit=0.0)
    assert (off.outside, off.at) == (2, 2)
    assert follow([1.0, None, 1.0, 1.0], right, wide, unit=0.0).outside == 1
    assert follow([1.0 + 1e-5], [1.0], [0.0], unit=1e-6).outside is None, "one pass"
    assert follow([1.0 + 1e-4], [1.0], [0.0], unit=1e-6).outside == 0
    hidden = follow([1.0], [1.0], [0.5], unit=0.0)
    assert (hidden.steps, hidden.outside) == (0, None)
