"""Collectives, named as users name them and run by real processes; lies about them are found."""

from __future__ import annotations

import pytest
from comparing import compare, documents, verify
from support import commands

from mbench.workloads.operators import COLLECTIVES

pytestmark = pytest.mark.usefixtures("surroundings")

EVERY = (
    "op:all_reduce/100,op:all_gather/100,op:broadcast/100,op:reduce/100,op:reduce_scatter/100,"
    "op:send_receive/100,op:overlap_mul/100x50,op:overlap_matmul/100x5x7x6,op:matmul_all_reduce/5x7x6,"
    "op:matmul_all_gather/5x7x6"
)
SMALL = ("--models", "op:all_reduce/1000", "--mode", "inference")
QUICK = ("--processes", "1", "--rounds", "2", "--threads", "1", "--block", "0.02", "--no-mfu",
         "--format", "json")  # fmt: skip


def test_every_collective_is_proven_on_every_rank():
    code, proofs = verify("tiny", "--models", EVERY, "--mode", "inference", "--scale", "1x3")
    assert code == 0
    assert len(proofs) == len(COLLECTIVES)
    for proof in proofs:
        findings = proof["proof"]["findings"]
        exact = [one for one in findings if one["check"] == "outputs"]
        ranks = [one["where"].partition(":")[0] for one in exact]
        assert ranks == ["rank 0", "rank 1", "rank 2"] * 2
        assert all(one["passed"] and one["error"] == 0 and one["gate"] == 0 for one in findings)


@pytest.mark.parametrize(
    ("lie", "where"), [("miscounted", "rank 0: output.0"), ("alone", "rank 0: output.0"),
                       ("partial", "rank 0: output.0")]
)  # fmt: skip
def test_a_lie_is_told_by_rank_and_name(lie, where):
    code, (proof,) = verify("flaky", *SMALL, "--scale", "1x2", fault=lie)
    assert code == 1
    failed = [one for one in proof["proof"]["findings"] if not one["passed"]]
    assert failed[0]["where"].startswith(where)
    assert "is not the result of the ranks' numbers" in failed[0]["where"]
    ranks = {one["where"].partition(":")[0] for one in failed}
    assert ranks == ({"rank 0"} if lie == "partial" else {"rank 0", "rank 1"})


def test_a_rank_that_keeps_what_it_should_send_is_told():
    models = ("--models", "op:send_receive/1000", "--mode", "inference")
    code, (proof,) = verify("flaky", *models, "--scale", "1x2", fault="alone")
    assert code == 1
    failed = [one["where"] for one in proof["proof"]["findings"] if not one["passed"]]
    assert failed[0] == "rank 0: output.0 is not the result of the ranks' numbers"
    assert any(where.startswith("rank 1: ") for where in failed)


def test_bandwidths_are_those_of_a_call_of_all_ranks():
    result = compare("tiny", "tiny", *SMALL, "--scale", "1x2", "--batch-size", "4", *QUICK)
    assert result.returncode == 0, result.stderr
    document, _ = documents(result)
    for case in document["cases"]:
        found, milliseconds = case["bandwidth"], case["step_time_ms"]["mean"]
        assert found["message_bytes"] == 4000
        assert found["bus_bytes_per_second"] == found["algorithm_bytes_per_second"]  # for 2 ranks
        due = 4 * 4000 / (milliseconds / 1e3)
        assert found["algorithm_bytes_per_second"] == pytest.approx(due, rel=0.5)
    shown = commands.mbench("show").stdout
    assert "alg GB/s" in shown
    assert "bus GB/s" in shown


def test_what_is_kept_while_it_is_timed_ends_the_case():
    result = compare("tiny", "flaky", *SMALL, "--scale", "1x2", *QUICK, "--no-verify",
                     fault="hoarded")  # fmt: skip
    assert result.returncode == 1
    _, cases = documents(result)
    assert cases["tiny"]["outcome"] == "ok"
    assert cases["flaky"]["outcome"] == "failed"
    assert "output.0 is not the result of the ranks' numbers" in cases["flaky"]["reason"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [((), "needs several devices: use --scale 1x2"),
     (("--scale", "1x2", "--mode", "train"), "has no gradients: use --mode inference"),
     (("--scale", "1x2", "--precision", "amp-bf16"), "exact only in fp64, fp32, bf16, fp16")],
)  # fmt: skip
def test_what_is_no_collective_is_unsupported(changes, said):
    result = compare("tiny", "tiny", *SMALL, *QUICK, *changes)
    _, cases = documents(result)
    assert cases["tiny#1"]["outcome"] == "unsupported"
    assert said in cases["tiny#1"]["reason"]
