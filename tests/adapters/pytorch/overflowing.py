"""PyTorch with mixed float16 on the CPU, where that is slow, and with too large a loss scale."""

from __future__ import annotations

import torch

from mbench_pytorch import optimizer, runtime
from mbench_pytorch.plugin import PyTorch

SCALE = 2.0**32
"""Many halvings above what fits: all of the first steps are skipped."""


class Update(optimizer.Update):
    def build(self):
        super().build()
        scales = self.precision.scales_loss
        self._scaler = torch.amp.GradScaler("cpu", init_scale=SCALE, enabled=scales)


class Still(optimizer.Update):
    """Never updates where the loss is scaled, although it finds its scale as usual."""

    def build(self):
        super().build()
        if self.precision.scales_loss:
            self._optimizer.step = lambda *given, **named: None


class Benchmark(runtime.Benchmark):
    updater = Update


class StillBenchmark(Benchmark):
    updater = Still


class Anything(PyTorch):
    lacks = ()


class Runtime(runtime.Runtime):
    adapter = Anything()
    benchmark = Benchmark


class StillRuntime(Runtime):
    benchmark = StillBenchmark
