"""The proof in float64 of models that stand for their families, as an adapter's tests make it.

Quick ones: `mbench verify --models zoo` proves all. BERT and ResNet-50 are proven by the lies.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mbench.builtin import mbench_workloads
from mbench.contract.case import Case
from mbench.environments.environment import Environment
from mbench.equality.prove import prove
from mbench.harness.system import usable_cores

__all__ = ["REPRESENTATIVES", "assert_proven"]

REPRESENTATIVES = ("resnet18", "mobilenet_v2", "mnasnet0_5", "shufflenet_v2_x0_5", "squeezenet1_0")


def assert_proven(adapter, model, *, folder, monkeypatch):
    """By `adapter` in this Python; logs and the proof go to `folder`."""
    monkeypatch.setenv("MBENCH_PROOFS", str(folder / "proofs"))
    here = Environment(
        label=adapter.name, python=Path(sys.executable), managed=False, digest=None, packages={}
    )
    case = Case(
        model=model,
        workload=mbench_workloads()[model],
        mode="train",
        batch_size=1,
        precision="fp64",
        compiler=next(iter(adapter.compilers)),
        device="cpu",
        threads=usable_cores(),
    )
    log = folder / "worker.log"
    proof = prove(adapter, here, case, log=log, timeout=900, report=print, fresh=True)
    assert proof["proven"], (proof["failures"], log.read_text()[-2000:])
    checks = {finding["check"] for finding in proof["findings"]}
    assert {"parameters", "outputs", "loss", "updates", "optimizer"} <= checks
