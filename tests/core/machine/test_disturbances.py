"""Which disturbances are reported, and in which words."""

from __future__ import annotations

import random

import pytest

from mbench.machine.disturbances import find_disturbances
from mbench.machine.usage import usage


@pytest.fixture
def block(sample):
    """Makes the usage of a block in which the counters grew by the given amounts."""

    def block(*, seconds=1.0, mhz=None, gpu=None, **grown):
        return usage([sample(0, swapped_bytes=0, throttled_seconds=0.0, memory_stalled_seconds=0.0),
                      sample(seconds / 2, mhz=mhz, gpu=gpu), sample(seconds, **grown)])  # fmt: skip

    return block


def kinds(rounds, *, cores=2, spare=0):
    return [d.kind for d in find(rounds, cores=cores, spare=spare)]


def find(*processes, cores=2, spare=0):
    rounds = {
        (process, at): one for process, of in enumerate(processes) for at, one in enumerate(of)
    }
    return find_disturbances(rounds, cores=cores, spare_cores=spare)


def test_a_quiet_machine_is_not_disturbed(block):
    rounds = [[block(busy_seconds=2.05, worker_seconds=2.0)]] * 10
    assert kinds(rounds) == []


def test_other_load_is_told_with_its_size_and_how_often(block):
    busy = [block(busy_seconds=2.0, worker_seconds=0.7)]
    quiet = [block(busy_seconds=1.0, worker_seconds=1.0)]
    (found,) = find([busy] * 4 + [quiet] * 6)
    assert found.kind == "other-load"
    assert found.share == 0.4
    assert found.text == "other processes used 1.3 of 2 cores in 40 % of the rounds"


def test_what_may_make_another_one_the_faster_is_half_a_core_and_more(block):
    strong = [block(busy_seconds=1.6, worker_seconds=1.0)]
    weak = [block(busy_seconds=1.4, worker_seconds=1.0)]
    (found,) = find([strong, weak])
    assert (found.share, found.distorting) == (1.0, {(0, 0)})
    (beside,) = find([[block(busy_seconds=2.0, worker_seconds=1.0)], weak * 2], spare=1)
    assert not beside.distorting, "half of the spare cores are free to be used"
    (short,) = find([[block(seconds=0.05, busy_seconds=0.1)]])
    assert not short.distorting, "ticks tell too little"
    (stolen,) = find([[block(stolen_seconds=0.6)], [block(stolen_seconds=0.2)]])
    assert stolen.distorting == {(0, 0)}


@pytest.mark.parametrize(("hit", "told"), [(1, True), (0, False)])
def test_a_tenth_of_the_rounds_is_enough(block, hit, told):
    busy, quiet = [block(busy_seconds=2.0)], [block(busy_seconds=0.0)]
    assert bool(kinds([busy] * hit + [quiet] * (10 - hit))) is told
    assert kinds([busy] + [quiet] * 10) == []


def test_a_round_is_disturbed_in_any_of_its_blocks(block):
    assert kinds([[block(busy_seconds=0.0), block(busy_seconds=2.0)]]) == ["other-load"]


def test_half_of_the_spare_cores_are_free_to_be_used(block):
    rounds = [[block(busy_seconds=4.0)]]
    assert kinds(rounds, cores=16, spare=0) == ["other-load"]
    assert kinds(rounds, cores=16, spare=7) == ["other-load"]
    assert kinds(rounds, cores=16, spare=8) == []


@pytest.mark.parametrize(
    ("grown", "kind", "said"),
    [
        ({"stolen_seconds": 0.3}, "stolen-cpu", "the hypervisor took 0.3 of 2 cores"),
        ({"throttled_seconds": 0.25}, "cpu-limit", "stopped processes for 0.25 of the time"),
        ({"memory_stalled_seconds": 0.5}, "memory", "waited for memory for 0.50 of the time"),
        ({"swapped_bytes": 5_000_000}, "swap", "5,000,000 bytes were swapped"),
    ],
)
def test_other_disturbances(block, grown, kind, said):
    (found,) = find([[block(**grown)]])
    assert found.kind == kind
    assert said in found.text
    small = {name: value / 100 for name, value in grown.items()}
    assert kinds([[block(**small)]]) == []


def test_a_clock_that_changes_is_told_and_a_low_one_is_not(block):
    steady = [[block(mhz=800.0)]] * 9
    assert kinds(steady) == []
    (found,) = find([*steady, [block(mhz=720.0)]])
    assert found.kind == "cpu-clock"
    assert found.text == (
        "the processor's clock was up to 10 % off its median of 800 MHz in 10 % of the rounds"
    )
    gpu = [[block(gpu={"sm_mhz": mhz})] for mhz in (1700, 1700, 1500)]
    assert kinds(gpu) == ["gpu-clock"]


def test_a_gpu_that_slows_itself_down_is_told_unless_it_is_at_its_power_limit(block):
    assert kinds([[block(gpu={"slowed_by": 0x4, "sm_mhz": 1500})]]) == []
    (found,) = find([[block(gpu={"slowed_by": 0x44, "sm_mhz": 1500})]])
    assert found.kind == "gpu-slowdown"
    assert "(heat, by the hardware)" in found.text


def test_clocks_are_judged_by_the_rounds_in_which_they_were_seen(block):
    """Only a third of these blocks looked at clocks, and a fifth of those were slow."""
    unseen = [[block()]] * 20
    low, usual = [[block(mhz=2000.0)]] * 2, [[block(mhz=3000.0)]] * 8
    (found,) = find(low + usual + unseen)
    assert (found.kind, found.share) == ("cpu-clock", 0.2)
    hot, cool = ([[block(gpu={"slowed_by": mask})]] for mask in (0x40, 0x4))
    (found,) = find(hot * 2 + cool * 8 + unseen)
    assert (found.kind, found.share) == ("gpu-slowdown", 0.2)


def counted(block, load, *, rounds, chance):
    """Rounds of one block of 0.25 s each, with `load` cores used by others, in ticks of 10 ms."""
    ticks = 100 * 0.25 * load
    return [
        [block(seconds=0.25, busy_seconds=0.25 + 0.01 * int(ticks + chance.random()),
               worker_seconds=0.25 + 0.01 * chance.choice((-1, 0, 0, 1)))]
        for _ in range(rounds)
    ]  # fmt: skip


def test_a_small_load_that_stays_is_told_and_ticks_are_not(block):
    chance = random.Random(0)
    small = counted(block, 0.2, rounds=30, chance=chance)
    (found,) = find(small)
    assert (found.kind, found.share) == ("other-load", 1)
    assert found.text == "other processes used 0.2 of 2 cores in 100 % of the rounds"
    for _ in range(200):
        assert kinds(counted(block, 0.0, rounds=30, chance=chance)) == []
        assert kinds(counted(block, 0.05, rounds=10, chance=chance)) == []


def test_a_burst_is_no_load_that_stays(block):
    burst = [[block(seconds=0.25, busy_seconds=0.5)]] * 3
    quiet = [[block(seconds=0.25)]] * 27
    (found,) = find(burst + quiet)
    assert found.share == 0.1


def test_processes_are_judged_one_by_one(block):
    chance = random.Random(0)
    loaded, calm = (counted(block, load, rounds=20, chance=chance) for load in (0.2, 0.0))
    (found,) = find(loaded, calm, calm, calm)
    assert found.share == 0.25


def test_others_on_the_gpu_are_told(block):
    (found,) = find([[block(gpu={"others": count})] for count in (0, 2, 0)])
    assert found.kind == "gpu-others"
    assert found.text == "2 other processes were on the GPU in 33 % of the rounds"


def test_a_clock_that_the_power_limit_sets_is_no_disturbance(block):
    clocks = [(1700, 0), (1700, 0), (1700, 0), (1500, 0x4)]
    assert kinds([[block(gpu={"sm_mhz": mhz, "slowed_by": by})] for mhz, by in clocks]) == []
