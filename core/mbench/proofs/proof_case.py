"""The small case by which a case is proven."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract.axes import AXES
from mbench.contract.case import Case, ProofWork
from mbench.contract.rank import ALONE
from mbench.contract.scenario import RANKS
from mbench.scenarios.find import plain_step, resident, scenario_of, work_of
from mbench.workloads.find import find_workload
from mbench.workloads.given import GIVEN, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.adapter import Adapter

__all__ = ["PROVEN_AXES", "exact_case", "given_case", "in_float64", "proof_case", "proof_work",
           "quickest"]  # fmt: skip

OWN = ("sizes", "batch_size", "steadiness", "clip", "dropout", "data", "loaders", "storage")
PROVEN_AXES = tuple(axis for axis in AXES if axis.name not in OWN)
"""The axes whose values a proof takes from its case; for the others, it has values of its own."""

TENSOR_FLOPS = 2e7
"""The cost of building and compiling a tensor's layer, as the FLOPs that take as long."""


WORK = ("learning_rate", "layers", "by_shape")
"""Keys of a workload's `proof` that are not fields of a case."""


def proof_case(case: Case) -> Case:
    """`case` at its workload's proof sizes, clipped, without dropout, seed 0; with one process,
    unless the case is about several. Its batch is small, and has fewer micro-batches.
    """
    workload = find_workload(case.workload, case.model)
    scenario = scenario_of(case, workload)
    together = scenario.proof == RANKS
    if scenario.proven_in:
        case = replace(case, mode=scenario.proven_in, scenario="")
    proof = {"sizes": {}, "scale": case.scale if together else ALONE, **workload.proof}
    fields = {name: value for name, value in proof.items() if name not in WORK}
    size = fields.get("batch_size", case.batch_size)
    parts = max(n for n in range(1, size + 1) if size % n == 0 and n <= case.accumulate)
    return replace(
        resident(case), seed=0, dropout=False, clip=True, steadiness="usual", accumulate=parts,
        **fields,
    )  # fmt: skip


def proof_work(case: Case, *, learning_rate: float | None = None) -> ProofWork:
    """How the case's workload is proven: its optimizer, with its learning rate in proofs or the
    given one, and its number of layers.
    """
    workload = find_workload(case.workload, case.model)
    if learning_rate is None:
        learning_rate = workload.proof.get("learning_rate", workload.optimizer.learning_rate)
    optimizer = replace(workload.optimizer, learning_rate=learning_rate)
    return ProofWork(optimizer=optimizer, layers=workload.proof.get("layers"))


def given_case(case: Case) -> Case:
    """`case`, which is a proof's, with the model whose gradients are given in place of its own."""
    case = plain_step(case)
    return replace(case, model=GIVEN.name, workload=REFERENCE, sizes={}, batch_size=1)


def exact_case(adapter: Adapter, case: Case) -> Case:
    """`case` in float64, or in fp32 where the framework has no float64 for it."""
    exact, single = in_float64(adapter, case), under_any(adapter, replace(case, precision="fp32"))
    known = (one for one in (exact, single) if adapter.supports(one).supported)
    return next(known, exact)


def in_float64(adapter: Adapter, case: Case) -> Case:
    """`case` in float64, under its compiler or the first one that supports it."""
    return under_any(adapter, replace(case, precision="fp64"))


def under_any(adapter: Adapter, case: Case) -> Case:
    tried = [replace(case, compiler=name) for name in (case.compiler, *adapter.compilers)]
    return next((one for one in tried if adapter.supports(one).supported), case)


def quickest(
    adapter: Adapter, workloads: Mapping[str, str], *, mode: str, device: str, threads: int
) -> list[Case]:
    """The proof's case of every model that the adapter supports in fp32 under its first compiler,
    quickest to try first.
    """
    made = [
        proof_case(
            Case(
                model=model,
                workload=workload,
                mode=mode,
                batch_size=1,
                precision="fp32",
                compiler=next(iter(adapter.compilers)),
                device=device,
                threads=threads,
            )
        )
        for model, workload in workloads.items()
    ]
    return sorted((case for case in made if adapter.supports(case).supported), key=effort)


def effort(case: Case) -> float:
    """The cost of trying the case, in FLOPs."""
    work = work_of(case, proof=proof_work(case))
    tensors = len(work.workload.tensors())
    return work.flops_per_sample * case.batch_size + TENSOR_FLOPS * tensors
