"""Losses that scatter by their dropout masks agree; those that scatter otherwise are reported."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from cases import GATES
from evidenced import honest, losses, make_process, make_record, said

DRAWN = replace(GATES, answers=0.1, means=1e-5, direction=None, statistics=None)


def with_masks(seed, *, shift=0.0, batch=None, scatter=0.03, processes=3, label="tiny"):
    """A case whose losses scatter and lie `shift` higher, on one batch or on all."""
    draw = Random(seed)

    def loss(step):
        shifted = batch is None or (step - 1) % 8 == batch
        return honest(step) + draw.gauss(0, scatter) + shift * shifted

    found = [
        make_process(number, losses=losses(range(50 + number, 900, 17), loss))
        for number in range(processes)
    ]
    return make_record(*found, label=label, gates=DRAWN)


@pytest.mark.parametrize("seed", range(20))
def test_losses_that_scatter_by_their_masks_agree(seed):
    assert said(with_masks(seed), with_masks(seed + 100)) == []


@pytest.mark.parametrize("seed", range(20))
def test_losses_that_scatter_far_by_their_masks_agree(seed):
    """As in SqueezeNet with small images: by more than the gate, which is a tenth."""
    one, other = (with_masks(at, scatter=0.3) for at in (seed, seed + 100))
    one.processes[0].warm = replace(one.processes[0].warm, first_loss=honest(1) - 0.5)
    other.processes[0].warm = replace(other.processes[0].warm, first_loss=honest(1) + 0.5)
    assert said(one, other) == []


def test_a_loss_that_masks_do_not_explain_is_told():
    one, other = with_masks(1), with_masks(2, label="flaky")
    for record, times in ((one, 1.0), (other, 1.2)):
        record.processes[0].warm = replace(record.processes[0].warm, first_loss=times * honest(1))
    (text,) = said(one, other)
    assert text.startswith("the first losses as timed lie apart")


@pytest.mark.parametrize(
    ("lie", "where"),
    [({"shift": 0.03}, "the mean loss, as"), ({"shift": 0.09, "batch": 3}, "of batch 3, as")],
)
def test_means_beyond_the_scatter_of_masks_are_told(lie, where):
    (text,) = said(with_masks(1), with_masks(2, **lie, label="flaky"))
    assert where in text
    assert "times its standard error" in text


@pytest.mark.parametrize(
    ("scatter", "least", "most"), [(0.0, 0.0, 1e-9), (0.005, 0.1, 0.25), (0.2, 5.0, 9.0)]
)
def test_losses_that_scatter_otherwise_than_by_their_masks_are_told(scatter, least, most):
    """As if nothing were dropped, or more than should be."""
    found = said(with_masks(1), with_masks(2, scatter=scatter, label="flaky"))
    (times,) = re.findall(r"flaky: losses of a batch, as timed, scatter (\S+) times", str(found))
    assert least <= float(times) <= most
    assert found[-1].endswith(" times as much as those of tiny")


def test_losses_that_do_not_scatter_at_all_are_told_in_whichever_case_they_are():
    still = make_record(make_process(losses=losses(range(50, 900, 17), lambda s: 4.0)), gates=DRAWN)
    (text,) = [one for one in said(still, with_masks(1, label="late")) if "scatter" in one]
    assert text == "late: losses of a batch, as timed, scatter inf times as much as those of tiny"
    assert not any("scatter" in one for one in said(still, still))


def test_losses_that_scatter_a_little_more_are_not_told():
    assert said(with_masks(1), with_masks(2, scatter=0.05)) == []


def test_the_scatter_of_few_losses_is_not_judged():
    few = [with_masks(seed, scatter=of, processes=1) for seed, of in ((1, 0.03), (2, 0.0))]
    for record in few:
        record.processes[0].evidence = record.processes[0].evidence[:20]
    assert said(*few) == []


def test_processes_that_draw_the_same_masks_count_once():
    """Otherwise ten copies of the same noise would look like little noise."""
    one, other = (with_masks(seed, processes=1) for seed in (3, 4))
    for record in (one, other):
        (process,) = record.processes.values()
        record.processes |= dict.fromkeys(range(1, 10), process)
    assert said(one, other) == []
