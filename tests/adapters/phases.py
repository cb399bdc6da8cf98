"""Tests that all adapters have in common: the phases of a training step are parts of that step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small import losses, prepare

from mbench.contract.workload import NO_OPTIMIZER

__all__ = ["PhasesAlike"]

RATE = 1e-3
"""The learning rate of the plain gradient descent that `prepare` sets up."""


class PhasesAlike:
    """Base of an adapter's tests, which have a fixture `workload`. Each of `compilers` is tried."""

    compilers: tuple[str, ...]

    def test_they_are_of_that_step(self, runtime, workload):
        """The loss is the whole step's, and plain descent moves parameters by these gradients."""
        workload = replace(workload, optimizer=replace(workload.optimizer, clip_norm=None))
        trained = {tensor.name for tensor in workload.tensors() if tensor.trainable}
        for compiler in self.compilers:
            how = {"compiler": compiler, "precision": "fp64"}
            whole = prepare(runtime, workload, plain_sgd=True, **how)
            before = dict(whole.parameters())
            (due,) = losses(whole, 1)
            moved = {name: before[name] - array for name, array in whole.parameters()}
            for phase, names in (("forward", set()), ("backward", trained)):
                made = prepare(
                    runtime, replace(workload, optimizer=NO_OPTIMIZER), mode=phase, **how
                )
                for _ in range(2):  # gradients must not add up
                    made.step(0)
                    made.synchronize()
                    found = made.outputs()
                    assert float(found.pop("loss")) == pytest.approx(due, rel=1e-12), compiler
                    assert set(found) == names
                    size = max((np.abs(array).max() for array in found.values()), default=0.0)
                    for name, gradient in found.items():
                        gap = np.abs(RATE * gradient - moved[name]).max()
                        assert gap <= 1e-10 * RATE * size + 1e-15, f"{name} under {compiler}"
                kept = dict(made.parameters())
                assert all(np.array_equal(kept[name], before[name]) for name in trained)
