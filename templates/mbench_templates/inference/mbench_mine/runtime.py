"""Mine in the worker: sets it up, builds cases and runs their steps."""

from mbench.contract.compat import version_of
from mbench.sdk.benchmark import Prepared
from mbench.sdk.compiler import Compiler
from mbench.sdk.runtime import RuntimeBase
from mbench_mine.compiler import Queued
from mbench_mine.plugin import Mine


class Benchmark(Prepared):
    def build(self):
        return self.family.build(self.workload.config, self.precision.parameters)

    def place(self, array):
        return array.astype(self.precision.parameters) if array.dtype.kind == "f" else array


class Runtime(RuntimeBase):
    adapter = Mine()
    compilers = {"eager": Compiler, "queued": Queued}
    benchmark = Benchmark
    version = version_of("numpy")
