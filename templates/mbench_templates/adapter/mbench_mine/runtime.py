"""Mine in the worker: sets it up, builds cases and runs their steps."""

from autograd import value_and_grad

from mbench.contract.compat import version_of
from mbench.sdk.benchmark import Prepared
from mbench.sdk.compiler import Compiler
from mbench.sdk.runtime import RuntimeBase
from mbench_mine.compiler import Queued
from mbench_mine.layers import cross_entropy
from mbench_mine.optimizer import Update
from mbench_mine.plugin import Mine


class Benchmark(Prepared):
    updater = Update
    cross_entropy = staticmethod(cross_entropy)

    def build(self):
        return self.family.build(self.workload.config, self.precision.parameters)

    def place(self, array):
        return array.astype(self.precision.parameters) if array.dtype.kind == "f" else array

    def optimize(self, batch):
        def loss_of(weights):
            outputs = self.family.forward({**self.model, **weights}, batch, training=True)
            return self.loss_of(outputs, batch)

        loss, gradients = value_and_grad(loss_of)(self.update.parameters)
        self.update(gradients)
        return loss


class Runtime(RuntimeBase):
    adapter = Mine()
    compilers = {"eager": Compiler, "queued": Queued}
    benchmark = Benchmark
    version = version_of("autograd")
    distributions = ("numpy",)
