"""What a document says about the machine, from samples taken during each block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mbench.results.machine import energy
from mbench.results.run import load_run
from mbench.results.summary import analyse
from mbench.spec.presets import PRESETS

STEPS, BATCH = 10, 8


def samples(*, seconds=1.0, busy=0.0, worker=0.0, **grown):
    """The first and last sample of one block, as a run's file has them."""
    zero = {"at_nanoseconds": 5, "busy_seconds": 3.0, "stolen_seconds": 0.0, "worker_seconds": 1.0,
            "available_bytes": 100, **dict.fromkeys(grown, 0)}  # fmt: skip
    last = {**zero, "at_nanoseconds": 5 + round(seconds * 1e9), "busy_seconds": 3.0 + busy,
            "worker_seconds": 1.0 + worker, **grown}  # fmt: skip
    return [zero, last]


QUIET, LOADED = samples(busy=1.0, worker=1.0), samples(busy=2.0, worker=0.7)


def test_nothing_is_said_where_nothing_was_watched(document):
    (case,) = document(seconds={"tiny": [[1.0]]})["cases"]
    assert case["telemetry"] is case["energy"] is None
    assert case["disturbances"] == []


def test_a_disturbed_case_says_so_and_so_does_its_comparison(document):
    made = document(
        seconds={"tiny": [[1.0] * 2] * 2, "flaky": [[1.0] * 2] * 2},
        watched={"tiny": [[QUIET] * 2] * 2, "flaky": [[LOADED, QUIET], [QUIET, LOADED]]},
    )
    tiny, flaky = made["cases"]
    assert tiny["disturbances"] == []
    (found,) = flaky["disturbances"]
    text = "other processes used 1.3 of 2 cores in 50 % of the rounds"
    assert found == {"kind": "other-load", "host": "", "share": 0.5, "text": text}
    assert made["comparisons"][0]["disturbances"] == [f"flaky: {text}"]


def test_what_is_left_without_disturbed_rounds_stands_beside_the_ratio(document):
    """A load makes every second round of flaky take 1.5 times as long."""
    tiny = [[1.0, 1.0], [1.01, 1.01], [1.0, 1.0]]
    made = document(
        seconds={"tiny": tiny, "flaky": [[1.5 * one, two] for one, two in tiny]},
        watched={"tiny": [[QUIET] * 2] * 3, "flaky": [[LOADED, QUIET]] * 3},
    )
    (comparison,) = made["comparisons"]
    assert comparison["ratio"] == pytest.approx(0.8)
    calm = comparison["undisturbed"]
    assert (calm["ratio"], calm["process_pairs"]) == (pytest.approx(1.0), 3)
    assert calm["low"] <= 1 <= calm["high"]
    made = document(seconds={"tiny": tiny, "flaky": tiny}, watched={"flaky": [[LOADED] * 2] * 3})
    assert made["comparisons"][0]["undisturbed"] is None, "no round is left"


HALF = samples(busy=1.4, worker=1.0)


@pytest.mark.parametrize(
    ("tiny", "flaky", "distorted"),
    [
        ([LOADED] * 2, [LOADED] * 2, 1.0),
        ([LOADED, QUIET], [QUIET, LOADED], 1.0),  # one disturbed side is enough
        ([LOADED, QUIET], [LOADED, QUIET], 0.5),
        ([HALF] * 2, [HALF] * 2, 0.0),  # disturbed, but too little to matter
    ],
)
def test_no_winner_is_named_where_every_round_was_disturbed(document, tiny, flaky, distorted):
    """An artefact of 36 times the speed was once reported as a winner."""
    made = document(
        seconds={"tiny": [[36.0] * 2, [36.1] * 2, [36.2] * 2], "flaky": [[1.0] * 2] * 3},
        watched={"tiny": [tiny] * 3, "flaky": [flaky] * 3},
        set_seconds=20.0,
    )
    (comparison,) = made["comparisons"]
    assert comparison["distorted"] == distorted
    assert max(case["distorted"] for case in made["cases"]) <= distorted
    assert comparison["low"] > 30, "the ratio stays"
    if distorted < 1:
        assert (comparison["verdict"], comparison["undetermined"]) == ("faster", None)
        return
    assert comparison["verdict"] == "undetermined"
    assert comparison["undetermined"] == (
        "every round was disturbed: other processes used 1.3 of 2 cores"
    )
    step = comparison["next_step"]
    assert (step["process_pairs"], step["seconds"], step["half_width"]) == (3, 60.0, None)
    assert step["options"] == f"--resume {made['run']} --processes 6", "three that count"


def test_pairs_that_were_disturbed_throughout_are_left_out_once_others_are_there(document):
    """As in a run that is continued on a quiet machine, as its report advises."""
    spoilt, calm = [[36.0] * 2] * 3, [[1.0, 1.01], [1.01, 1.0], [1.0, 1.0]]
    watched = [[LOADED] * 2] * 3 + [[QUIET] * 2] * 3
    made = document(
        seconds={"tiny": spoilt + calm, "flaky": [[1.0] * 2] * 6},
        watched={"tiny": watched, "flaky": watched},
        set_seconds=20.0,
    )
    (comparison,) = made["comparisons"]
    assert (comparison["distorted"], comparison["spoilt_pairs"]) == (0.5, 3)
    assert comparison["left_out_pairs"] == 3
    assert comparison["process_pairs"] == 3
    assert comparison["ratio"] == pytest.approx(1.003, abs=1e-3)
    assert comparison["verdict"] == "alike"
    few = document(
        seconds={"tiny": spoilt + calm[:1], "flaky": [[1.0] * 2] * 4},
        watched={"tiny": watched[:4], "flaky": watched[:4]},
        set_seconds=20.0,
    )
    (comparison,) = few["comparisons"]
    assert (comparison["left_out_pairs"], comparison["process_pairs"]) == (0, 4)
    assert comparison["low"] is not None, "what all say is shown"
    assert (comparison["verdict"], comparison["undetermined"]) == (
        "undetermined", "only 1 of 4 process pairs have an undisturbed round: "
        "other processes used 1.3 of 2 cores",
    )  # fmt: skip
    assert comparison["next_step"]["options"].endswith(" --processes 6")
    assert comparison["next_step"]["process_pairs"] == 2


@pytest.mark.parametrize(
    ("tiny", "flaky", "shares"),
    [
        ([100, 104] * 10, [98, 100] * 10, {}),
        ([100] * 20, [100] * 17 + [172] * 3, {"flaky": 0.15}),
        ([100] * 20, [172] * 20, {"tiny": 1.0, "flaky": 1.0}),
        ([100] * 20, [100] * 19 + [172], {}),
        ([172] * 17 + [100] * 3, [172] * 20, {"tiny": 0.15}),
    ],
    ids=["alike", "one slow", "apart", "a single round", "usually slow"],
)
def test_the_pace_of_cores_is_judged_over_the_turns_of_both(document, tiny, flaky, shares):
    ones = {label: [[1.0] * 20] for label in ("tiny", "flaky")}
    quiet = {label: [[QUIET] * 20] for label in ones}
    made = document(seconds=ones, watched=quiet, paces={"tiny": tiny, "flaky": flaky})
    found = {c["label"]: one for c in made["cases"] for one in c["disturbances"]}
    assert {label: (one["kind"], one["share"]) for label, one in found.items()} == {
        label: ("pace", share) for label, share in shares.items()
    }
    assert all("core speed varied by a factor of 1." in one["text"] for one in found.values())
    middle = sorted(tiny)[10]
    assert made["cases"][0]["telemetry"]["pace_nanoseconds"] == {
        "median": pytest.approx(middle, abs=2), "lowest": min(tiny), "highest": max(tiny),
    }  # fmt: skip
    if shares == {"flaky": 0.15}:
        assert made["comparisons"][0]["undisturbed"]["ratio"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("paces", "device", "found"),
    [
        ([300] * 17 + [336] * 3, "cpu", []),
        ([300] * 17 + [360] * 3, "cpu", [("memory-pace", 0.15)]),
        ([300] * 17 + [360] * 3, "cuda", []),
    ],
    ids=["within the scatter", "neighbours", "of no matter to a device"],
)
def test_memorys_pace_is_judged_by_its_own_scatter(document, paces, device, found):
    made = document(
        seconds={"tiny": [[1.0] * 20]}, watched={"tiny": [[QUIET] * 20]}, device=device,
        paces={"tiny": [100] * 20}, memory_paces={"tiny": paces},
    )  # fmt: skip
    (case,) = made["cases"]
    assert [(one["kind"], one["share"]) for one in case["disturbances"]] == found
    assert all("memory speed varied" in one["text"] for one in case["disturbances"])
    assert case["telemetry"]["memory_pace_nanoseconds"] == {
        "median": 300, "lowest": 300, "highest": max(paces),
    }  # fmt: skip


@pytest.mark.parametrize(("threads", "disturbed"), [(2, True), (1, False)])
def test_cores_that_a_case_leaves_may_be_used_by_others(document, threads, disturbed):
    loaded = samples(busy=1.5, worker=1.0)
    (case,) = document(
        seconds={"tiny": [[1.0]]}, watched={"tiny": [[loaded]]}, threads=threads,
        system={"usable_cores": 2},
    )["cases"]  # fmt: skip
    assert bool(case["disturbances"]) is disturbed


def test_loads_are_means_and_extremes_of_the_blocks(document):
    (case,) = document(seconds={"tiny": [[1.0] * 2]}, watched={"tiny": [[QUIET, LOADED]]})["cases"]
    seen = case["telemetry"]
    assert seen["rounds"] == 2
    assert seen["cores"] == 2
    assert seen["worker_cores"] == pytest.approx(0.85)
    assert seen["other_cores"]["highest"] == pytest.approx(1.3, abs=0.05)
    assert seen["other_cores"]["mean"] == pytest.approx(seen["other_cores"]["highest"] / 2)
    assert seen["available_memory_bytes"] == 100
    assert seen["cpu_mhz"] is seen["gpu"] is seen["memory_stalled"] is None


def test_page_faults_are_per_second_of_the_blocks_that_counted_them(document):
    counted = samples(seconds=2.0, page_faults=500)
    (case,) = document(seconds={"tiny": [[1.0] * 2]}, watched={"tiny": [[counted, QUIET]]})["cases"]
    assert case["telemetry"]["page_faults_per_second"] == pytest.approx(250)
    (case,) = document(seconds={"tiny": [[1.0]]}, watched={"tiny": [[QUIET]]})["cases"]
    assert case["telemetry"]["page_faults_per_second"] is None


def test_energy_is_per_sample_of_the_blocks_that_were_metered(document):
    metered, not_metered = samples(joules=40.0), samples()
    (case,) = document(
        seconds={"tiny": [[1.0] * 2]}, watched={"tiny": [[metered, not_metered]]}
    )["cases"]  # fmt: skip
    assert case["energy"] == {
        "joules_per_sample": pytest.approx(40 / (STEPS * BATCH)),
        "mean_watts": pytest.approx(40.0),
        "source": "processor packages (RAPL)",
    }


@pytest.mark.parametrize("epoch", [1, 0], ids=["two epochs", "two chunks of one epoch"])
def test_every_chunk_of_an_epoch_is_metered(write_run, epoch):
    """Published protocols cut a long epoch, so that several blocks are of the same round."""
    folder = write_run(
        seconds={"tiny": [[1.0] * 2]}, watched={"tiny": [[samples(joules=80.0)] * 2]},
        protocol=PRESETS["superbench"], mode=("inference",),
    )  # fmt: skip
    file = folder / "run.jsonl"
    file.write_text(file.read_text().replace('"round":1', f'"round":{epoch}'))
    (case,) = analyse(load_run(folder)).cases
    assert case.energy.joules_per_sample == pytest.approx(80 / (STEPS * BATCH))
    assert case.energy.mean_watts == pytest.approx(80)
    assert case.metrics["joules_per_sample"].value == pytest.approx(80 / (STEPS * BATCH))


def test_blocks_in_which_the_counter_did_not_advance_count(document):
    """At 200 W, a counter that advances every 0.1 s skips every other block of 50 ms."""
    skipped, counted = (samples(seconds=0.05, joules=joules) for joules in (0.0, 20.0))
    (case,) = document(
        seconds={"tiny": [[0.05] * 4]}, watched={"tiny": [[skipped, counted] * 2]}
    )["cases"]  # fmt: skip
    assert case["energy"]["mean_watts"] == pytest.approx(200)
    assert case["energy"]["joules_per_sample"] == pytest.approx(40 / (4 * STEPS * BATCH))
    (value,) = case["metrics"]["joules_per_sample"]["processes"]
    assert value == pytest.approx(40 / (4 * STEPS * BATCH))


def test_a_counter_that_never_advances_measures_nothing(document):
    (case,) = document(
        seconds={"tiny": [[1.0] * 2]}, watched={"tiny": [[samples(joules=0.0)] * 2]}
    )["cases"]  # fmt: skip
    assert case["energy"] is None
    assert "joules_per_sample" not in case["metrics"]


@pytest.mark.parametrize(("there", "per_sample"), [(80.0, 1.0), (0.0, None)])
def test_the_counters_of_all_nodes_must_advance(write_run, there, per_sample):
    folder = write_run(seconds={"tiny": [[1.0]]}, watched={"tiny": [[samples(joules=80.0)]]})
    (case,) = load_run(folder).cases.values()
    case.planned = replace(case.planned, axes=replace(case.axes, scale="2x1"))
    (process,) = case.processes.values()
    (seen,) = process.watched
    process.watched.append(replace(seen, host="b", usage=replace(seen.usage, joules=there)))
    found = energy(case)
    assert (found and found.joules_per_sample) == per_sample


def test_energy_on_a_gpu_is_the_gpus(document):
    gpu = [{"sm_mhz": 1500, "power_watts": 300.0, "joules": at, "celsius": 60, "slowed_by": 4}
           for at in (7.0, 8.0, 327.0)]  # fmt: skip
    first, last = samples(joules=40.0)
    watched = [
        {**first, "gpu": gpu[0]},
        {**first, "at_nanoseconds": 9, "gpu": gpu[1]},
        {**last, "gpu": gpu[2]},
    ]
    (case,) = document(
        seconds={"tiny": [[1.0]]}, watched={"tiny": [[watched]]}, device="cuda"
    )["cases"]  # fmt: skip
    assert case["energy"]["joules_per_sample"] == pytest.approx(320 / (STEPS * BATCH))
    assert case["energy"]["source"] == "GPU (NVML)"
    seen = case["telemetry"]["gpu"]
    assert seen["power_watts"]["median"] == 300
    assert seen["sm_mhz"] == {"median": 1500, "lowest": 1500, "highest": 1500}
    assert seen["highest_celsius"] == 60
    assert seen["slowed_by"] == {"power cap": 1.0}
    assert case["disturbances"] == []


def test_steps_that_still_get_faster_are_told(document):
    faster = [[1.0, 0.99, 0.98, 0.97, 0.96, 0.95]] * 3
    (case,) = document(seconds={"tiny": faster})["cases"]
    (found,) = case["disturbances"]
    assert found["kind"] == "warm-up"
    assert found["text"] == "steps still got 5.3 % faster over the rounds of a process"


@pytest.mark.parametrize(
    "seconds",
    [
        [[0.95, 0.96, 0.97, 0.98, 0.99, 1.0]] * 3,
        [[1.0, 0.999, 0.998, 0.997, 0.996, 0.995]] * 3,
        [[1.0, 0.9, 1.0, 0.9, 1.0, 0.9]] * 3,
        [[1.0, 0.9]],
    ],
    ids=["slower", "a little faster", "noise", "too few"],
)
def test_steps_that_do_not_are_not(document, seconds):
    (case,) = document(seconds={"tiny": seconds})["cases"]
    assert case["disturbances"] == []
