"""MFU, from ceilings and throughputs that are easy to calculate with."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mbench.results.ceiling import most_flops

FLOPS = 3 * 2 * 256 * 64  # of the tiny model's training step, per sample
RATE = 8 * 10 / 1.0


def timed(kind, amount, *nanoseconds, size=64, steps=1):
    return {"operator": kind, "size": size, "amount": amount, "steps": steps,
            "nanoseconds": list(nanoseconds)}  # fmt: skip


def lacking(kind, reason="unsupported: none here"):
    return {"operator": kind, "size": 64, "reason": reason}


def cases(document, ceiling, **axes):
    return document(seconds={"tiny": [[1.0]]}, ceiling={"tiny": ceiling}, **axes)["cases"]


def test_the_peak_is_the_fastest_block_of_the_fastest_size(document):
    (case,) = cases(document, [
        timed("matmul", 1000, 2_000, 1_000, size=10),
        timed("matmul", 8000, 9_000, 4_000, size=20),
        timed("matmul", 64000, 64_000, size=40),
        timed("sustained", 8000, 5_000, 11_000, size=20),
        timed("add", 100, 100, size=32),
        timed("add", 300, 600, 800, steps=2),
    ])  # fmt: skip
    assert case["ceiling"] == {
        "flops_per_second": 2e9,
        "sustained_flops_per_second": 1e9,
        "matmul_size": 20,
        "bytes_per_second": 1e9,
        "reason": "",
    }
    assert case["mfu"] == pytest.approx(FLOPS * RATE / 2e9)


def test_half_precision_is_bounded_by_what_the_machine_does_in_single(document):
    """Processors without bfloat16 units are faster if operators are widened to single precision."""
    slow = timed("matmul", 1000, 1_000_000)
    (alone,) = cases(document, [slow])
    (case,) = cases(document, [slow, timed("single", 1000, 10_000, size=20)])
    assert case["ceiling"]["flops_per_second"] == 1e8
    assert case["ceiling"]["matmul_size"] == 20
    assert case["mfu"] == pytest.approx(alone["mfu"] / 100)
    (case,) = cases(document, [slow, lacking("single")])
    assert case["ceiling"]["flops_per_second"] == 1e6
    assert case["ceiling"]["reason"] == ""


def test_products_that_other_load_slowed_are_no_reason_to_doubt_a_case(document):
    """By their processor time, the products had a quarter of a core, and the case a whole one."""
    slowed = timed("matmul", 1000, 500_000, 600_000)
    (case,) = cases(document, [slowed])
    assert "an MFU of 393 %, which is more than this machine can do" in case["doubts"][0]
    (case,) = cases(document, [{**slowed, "processor_nanoseconds": [125_000, 150_000]}])
    assert case["doubts"] == []
    assert case["mfu"] == pytest.approx(FLOPS * RATE / 8e6)
    (case,) = cases(document, [{**slowed, "processor_nanoseconds": [490_000, 600_000]}])
    assert "an MFU of 385 %" in case["doubts"][0]


def test_processor_time_shows_no_more_than_a_processor_can_do(document):
    """As if a process outside the worker's family had computed the products."""
    elsewhere = {**timed("matmul", 10**6, 10**9), "processor_nanoseconds": [1]}
    (case,) = cases(document, [elsewhere], system={"cpu": EPYC}, threads=1)
    assert case["peak_flops_per_second"] == most_flops(
        SimpleNamespace(cpu=EPYC), precision="fp32", device="cpu", threads=1, sheet=None
    )


def test_processor_time_does_not_raise_a_peak_that_no_case_exceeds(document):
    """Two threads that wait for each other use less processor time than time passes."""
    waiting = {**timed("matmul", 1000, 50_000), "processor_nanoseconds": [30_000]}
    (case,) = cases(document, [waiting])
    assert case["mfu"] == pytest.approx(FLOPS * RATE / 2e7)


def test_none_is_sought_none_is_found(document):
    (case,) = cases(document, [])
    assert case["ceiling"] is case["mfu"] is None


def test_what_a_framework_cannot_do_is_said(document):
    (case,) = cases(document, [lacking("matmul"), timed("add", 300, 600)])
    assert case["mfu"] is None
    assert case["ceiling"]["flops_per_second"] is case["ceiling"]["matmul_size"] is None
    assert case["ceiling"]["reason"] == "matmul: unsupported: none here"
    (case,) = cases(document, [timed("matmul", 1000, 1_000), lacking("add")])
    assert case["mfu"] is not None
    assert case["ceiling"]["bytes_per_second"] is None


def test_a_size_too_large_is_no_lack(document):
    (case,) = cases(document, [timed("matmul", 1000, 1_000), lacking("matmul", "oom: too large")])
    assert case["ceiling"]["reason"] == ""
    assert case["mfu"] is not None


def test_mfu_is_a_share_of_the_fastest_frameworks_peak_in_the_same_precision(document):
    made = document(
        seconds={"tiny": [[1.0]], "flaky": [[2.0]], "tiny==1.26": [[1.0]]},
        ceiling={"tiny": [timed("matmul", 1000, 1_000)], "flaky": [timed("matmul", 2500, 1_000)]},
    )["cases"]
    assert [case["peak_flops_per_second"] for case in made] == [2.5e9] * 3
    assert made[0]["ceiling"]["flops_per_second"] == 1e9
    assert made[0]["mfu"] == made[2]["mfu"] == pytest.approx(2 * made[1]["mfu"])


def test_cases_share_a_ceiling_of_their_framework_and_precision_only(document):
    axes = {"precision": ("fp32", "fp64"), "batch_size": (8, 16)}
    made = document(
        seconds={"tiny": [[1.0]], "flaky": [[1.0]], "tiny==1.26": [[1.0]]},
        ceiling={"tiny": [timed("matmul", 1000, 1_000)]},
        **axes,
    )["cases"]
    for case in made:
        assert (case["ceiling"] is not None) is (case["label"] == "tiny")


EPYC = "AMD EPYC, family 26, model 2, AVX2, AVX-512"


@pytest.mark.parametrize(
    ("cpu", "rates", "said"),
    [
        (EPYC, (1.2e11,), ""),
        (EPYC, (1.1e15,), "products make 1.1e+15 FLOP/s, but this machine can do at most 4e+11"),
        (EPYC, (3.9e11, 1.2e11), "FLOP/s, but those of other frameworks at most 1.2e+11"),
        (EPYC, (3.5e11, 1.2e11), ""),
        # Frameworks without a fast library say nothing about one that has it.
        (EPYC, (3e11, 2e10), ""),
        ("unheard of", (1.1e15,), ""),
        ("unheard of", (1.1e15, 1.2e11), "but those of other frameworks at most 1.2e+11"),
        ("unheard of", (3e11, 1.2e11), ""),
    ],
)
def test_products_that_no_machine_makes_are_no_peak(summary, cpu, rates, said):
    known = dict(zip(("tiny", "flaky"), rates, strict=False))
    made = summary(
        seconds={name: [[1.0]] for name in known},
        ceiling={name: [timed("matmul", int(rate), 10**9)] for name, rate in known.items()},
        system={"cpu": cpu},
        threads=1,
    )
    forged = made.cases[0]
    if not said:
        assert forged.doubts == []
        assert forged.ceiling.flops_per_second == pytest.approx(rates[0])
        return
    assert said in forged.doubts[0]
    assert forged.doubts[0].startswith("tiny: its matrix products")
    assert forged.ceiling.flops_per_second is None
    assert said in forged.ceiling.reason
    assert forged.peak_flops_per_second == pytest.approx(rates[1] if rates[1:] else None)
    assert not any(case.doubts for case in made.cases[1:])


@pytest.mark.parametrize(
    ("precision", "threads", "sets", "most"),
    [
        ("fp32", 1, "AVX2", 32 * 6.2e9),
        ("fp32", 4, "AVX2, AVX-512", 4 * 64 * 6.2e9),
        ("fp64", 1, "AVX2", 16 * 6.2e9),
        ("bf16", 1, "AVX2, AVX-512, AMX", 1024 * 6.2e9),
        ("amp-bf16", 1, "NEON", 256 * 6.2e9),
        ("fp32", 1, "SSE", None),
    ],
)
def test_what_a_processor_does_at_most(machine, precision, threads, sets, most):
    system = machine(cpu=f"A processor, {sets}")
    found = most_flops(system, precision=precision, device="cpu", threads=threads, sheet=None)
    assert found == most
    on_gpu = most_flops(system, precision=precision, device="cuda", threads=1, sheet=1e12)
    assert on_gpu == pytest.approx(1.1e12)
