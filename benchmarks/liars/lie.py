"""What a lie is: a class mixed into an honest benchmark, whose docstring says what the lie does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.sdk.benchmark import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from mbench.contract.case import Case
    from mbench.contract.workload import Workload

__all__ = ["BATCH_NORM", "BOTH", "DEEP", "TEXT", "Lie"]

BOTH = ("inference", "train")
BATCH_NORM, TEXT, DEEP = "resnet18", "small-bert", "resnet50"


class Lie(Prepared):
    """the control: the honest adapter by the liar's name"""

    modes: tuple[str, ...] = BOTH
    model = BATCH_NORM
    """The smallest model in which the lie makes a difference."""
    precisions = ("fp32", "amp-bf16", "bf16")
    """The precisions in which the lie makes a difference."""
    proof_too = False
    """Whether it also lies in proofs, where it must be detected."""
    products = False
    """Whether it also lies about the matrix products that show the machine's peak. They are shared
    by all lies of a comparison, so most must leave them alone."""
    block = 0.05
    """Seconds of a block that is long enough to show the lie."""
    honest: Workload
    calls = 0
    """Steps since parameters were loaded."""
    start = 0
    """Steps before the lie begins."""

    @classmethod
    def falsified(cls, case: Case, workload: Workload) -> tuple[Case, Workload]:
        """What is prepared in place of what was asked for."""
        return case, workload

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self.calls = 0

    def begin(self) -> None:
        """What is done once, before the first step that lies."""

    def step(self, at: int) -> None:
        if self.calls == self.start:
            self.begin()
        self.calls += 1
        super().step(at)

    def twice(self) -> bool:
        """Whether this is every second step."""
        return self.calls % 2 == 0
