"""Tests of collectives that all adapters have in common, run by two processes in one launch."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from cases import make_case
from ranks import in_ranks

from mbench.scenarios.find import resolve
from mbench.workloads.operators.collectives import answers

if TYPE_CHECKING:
    from mbench.contract.case import Case

__all__ = ["CollectivesAlike"]

NAMES = {
    "all_reduce": "op:all_reduce/30",
    "all_gather": "op:all_gather/30",
    "broadcast": "op:broadcast/30",
    "reduce": "op:reduce/30",
    "reduce_scatter": "op:reduce_scatter/30",
    "send_receive": "op:send_receive/30",
    "overlap_mul": "op:overlap_mul/30x7",
    "overlap_matmul": "op:overlap_matmul/30x5x7x6",
    "matmul_all_reduce": "op:matmul_all_reduce/5x7x6",
    "matmul_all_gather": "op:matmul_all_gather/5x7x6",
}
RANKS = 2
BATCHES = (0, 1, 0)


class CollectivesAlike:
    """Base of an adapter's tests: `has` lists the collectives that it supports on the CPU. The
    others are unsupported, each with a reason that names the framework.
    """

    runtime_name: str
    compiler: str
    title: str
    has: tuple[str, ...]

    def test_each_rank_gets_what_is_due(self):
        """Results are exact, for alternating batches and in both precisions."""
        cases = [
            make_case(
                model=name, workload="mbench.workloads.operators:OPERATORS", batch_size=2,
                mode="inference", precision=precision, compiler=self.compiler,
            )
            for name in NAMES.values()
            for precision in ("fp64", "fp32")
        ]  # fmt: skip
        steps, batches = [len(BATCHES)] * len(cases), [list(BATCHES)] * len(cases)
        left = in_ranks(self.runtime_name, cases, ranks=RANKS, steps=steps, batch=batches)
        for of, found in zip(cases, left, strict=True):
            self.judge(dataclasses.replace(of, scale=f"1x{RANKS}"), found)

    def judge(self, case: Case, found: list[dict]):
        config = resolve(case).config
        if config.kind not in self.has:
            assert all(self.title in str(each["unsupported"]) for each in found)
            return
        for at, batch in enumerate(BATCHES):
            for rank, due in enumerate(answers(config, batch)):
                made = {
                    name.partition("/")[2]: array
                    for name, array in found[rank].items()
                    if name.startswith(f"{at}/")
                }
                assert set(made) == set(due), f"{case.model} on rank {rank}"
                for name, array in due.items():
                    assert made[name].dtype == (
                        np.float64 if case.precision == "fp64" else np.float32
                    )
                    np.testing.assert_array_equal(made[name], array, f"{case.model} {name}")
