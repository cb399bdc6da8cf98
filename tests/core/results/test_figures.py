"""Figures are computed from hand-made blocks, by each protocol's arithmetic."""

from __future__ import annotations

import pytest
from cases import GATES, make_case

from mbench.results import events
from mbench.results.figures import rates, step_times, throughput
from mbench.results.records import CaseRecord, Process

MS = 1_000_000


def process(number, *blocks):
    warm = events.Process(
        case=0, process=number, pid=1, prepare_seconds=0.5, trainable_parameters=7, differences=[],
        batches=8, first_loss=None, first_step_nanoseconds=10**9, warmup_blocks=[(1, 10**8)],
        warmup_reason="steady",
    )  # fmt: skip
    return Process(warm, blocks=list(blocks))


def whole(milliseconds, *, steps=100):
    return block(0, [milliseconds], steps=steps, each=False)


def single(*milliseconds, epoch=0):
    return block(epoch, milliseconds, steps=len(milliseconds), each=True)


def block(epoch, milliseconds, *, steps, each):
    return events.Block(
        case=0, process=0, round=epoch, each=each, steps=steps, start=0,
        nanoseconds=[int(value * MS) for value in milliseconds],
    )  # fmt: skip


def case(*processes, mode="train"):
    axes = make_case(model="m", workload="a:b", mode=mode)
    planned = events.Case(
        case=0, comparison=0, label="tiny", framework="tiny", framework_title="Tiny", spec="tiny",
        axes=axes, samples="samples", flops_per_sample=1.0, standard=True, gates=GATES,
    )  # fmt: skip
    return CaseRecord(planned, processes={p.warm.process: p for p in processes})


def test_dlperf_takes_the_median_of_its_processes():
    times = [1000, 2000, 4000, 8000, 500, 250, 125]
    speed = throughput(case(*(process(at, whole(ms)) for at, ms in enumerate(times))), level=None)
    assert speed.value == pytest.approx(8 * 100 / 1.0)
    assert speed.processes == pytest.approx([800e3 / ms for ms in times])
    assert (speed.low, speed.high, speed.mean_of_rates) == (None, None, None)


def test_superbench_has_the_mean_step_and_beside_it_the_mean_of_rates():
    made = case(process(0, single(1.0, 1.0), single(1.0, 5.0)))
    speed = throughput(made, level=None)
    times = step_times(made)
    assert times.mean == pytest.approx(2.0)
    assert speed.value == pytest.approx(8 / 2e-3)
    assert speed.mean_of_rates == pytest.approx((3 * 8 / 1e-3 + 8 / 5e-3) / 4)
    assert speed.mean_of_rates > speed.value


def test_nvidia_averages_the_percentiles_of_epochs_and_not_their_steps():
    epochs = [[1.0] * 9 + [2.0], [3.0] * 8 + [9.0, 9.0]]
    made = case(process(0, *(single(*e, epoch=at) for at, e in enumerate(epochs))))
    pooled = step_times(made)
    averaged = step_times(made, by_epoch=True)
    assert averaged.percentiles["p50"] == pytest.approx((1 + 3) / 2)
    assert averaged.percentiles["p90"] == pytest.approx((1 + 9) / 2)
    assert pooled.percentiles["p95"] == pytest.approx(9.0)
    assert averaged.percentiles["p95"] is None
    assert averaged.lacking["p95"] == "needs 20 steps, but there are only 10 in an epoch"
    assert "p90" not in averaged.lacking


def test_an_epoch_cut_into_messages_is_one_round():
    made = case(process(0, single(1.0, 1.0), single(2.0, 2.0), single(4.0, epoch=1)))
    assert rates(made)[0] == pytest.approx({0: 4 * 8 / 6e-3, 1: 8 / 4e-3})


def test_blocks_make_throughput_where_steps_were_timed_one_by_one_too():
    made = case(process(0, whole(100), single(50.0)))
    assert throughput(made, level=0.95).value == pytest.approx(8000)
    assert step_times(made).mean == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("steps", "lacking"),
    [
        (1, ["p50", "p90", "p95", "p99", "p99.9"]),
        (2, ["p90", "p95", "p99", "p99.9"]),
        (19, ["p95", "p99", "p99.9"]),
        (99, ["p99", "p99.9"]),
        (999, ["p99.9"]),
        (1000, []),
    ],
)
def test_what_a_percentile_takes(steps, lacking):
    times = step_times(case(process(0, single(*[1.0] * steps))))
    assert list(times.lacking) == lacking
    assert [name for name, value in times.percentiles.items() if value is None] == lacking
    for name, why in times.lacking.items():
        assert why.endswith(f"there are only {steps:,}"), name


def test_training_says_that_its_steps_were_not_timed_on_their_own():
    times = step_times(case(process(0, whole(100))))
    assert set(times.lacking.values()) == {"no step of train was timed on its own"}
    assert len(times.lacking) == 5


def test_nothing_measured_has_no_figures():
    assert throughput(case(), level=None) is None
    assert step_times(case(process(0)), by_epoch=True) is None
    assert rates(case(process(0))) == {}
