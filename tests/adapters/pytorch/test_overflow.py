"""A whole proof of mixed float16, the first steps of which overflow and are skipped."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from mbench.cli.builtin import mbench_workloads
from mbench.contract.case import Case
from mbench.environments.environment import Environment
from mbench.machine.cores import default_threads
from mbench.proofs.prove import prove
from mbench_pytorch.plugin import PyTorch

pytest.importorskip("torch", reason="PyTorch is not installed here")

MODEL = "squeezenet1_1"  # the quickest model that has dropout, too


class Overflowing(PyTorch):
    """An adapter whose workers are those of overflowing.py."""

    lacks = ()
    runtime = "overflowing:Runtime"


class Still(Overflowing):
    runtime = "overflowing:StillRuntime"


@pytest.fixture
def proof_of(tmp_path, monkeypatch):
    def proof_of(adapter):
        monkeypatch.setenv("MBENCH_PROOFS", str(tmp_path))
        monkeypatch.syspath_prepend(Path(__file__).parent)
        here = Environment(
            label=adapter.name, python=Path(sys.executable), managed=False, digest=None,
            python_version=platform.python_version(), packages={},
        )  # fmt: skip
        case = Case(
            model=MODEL, workload=mbench_workloads()[MODEL], mode="train", batch_size=1,
            precision="amp-fp16", compiler="eager", device="cpu", threads=default_threads().count,
        )  # fmt: skip
        log = tmp_path / "worker.log"
        return prove(adapter, here, case, log=log, timeout=900, report=print, fresh=True)

    return proof_of


def test_a_proof_goes_on_once_the_scale_is_found(proof_of):
    proof = proof_of(Overflowing())
    assert proof.proven, proof.failures
    assert {"loss", "updates", "optimizer", "timed", "gradients", "rule"} <= {
        finding.check for finding in proof.findings
    }


@pytest.mark.thorough
def test_a_step_that_never_updates_is_caught_by_name(proof_of):
    proof = proof_of(Still())
    failed = {finding.check for finding in proof.findings if not finding.passed}
    assert failed >= {"timed", "gradients", "steps", "rule"}
    assert any("52 of 52 tensors hardly change" in failure for failure in proof.failures)
