"""mbench's adapter for a made-up framework: NumPy, operation by operation."""

import numpy as np

from mbench.plugins.hooks import hookimpl
from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import check_effect
from mbench.sdk.compiler import Compiler
from mbench.sdk.plugin import AdapterBase, Lack
from mbench.sdk.runtime import RuntimeBase
from mbench.sdk.tensors import Native
from mbench_mine.compiler import Queued
from mbench_mine.optimizer import Update


class Mine(AdapterBase):
    name = "mine"
    title = "Mine"
    imports = ("numpy",)
    runtime = "mbench_mine:Runtime"
    models = "mbench_mine"
    compilers = {"eager": "operations run one by one", "queued": "steps are done by a thread"}
    lacks = (
        Lack("Mine computes on the CPU only", devices=("cuda",)),
        Lack("NumPy has no bfloat16", precisions=("bf16", "amp-bf16")),
        Lack("NumPy has no mixed precision", precisions=("tf32", "amp-fp16")),
        Lack("Mine trains in fp32 and fp64", precisions=("fp16",), modes=("train",)),
    )

    def requirements(self, version, accelerator):
        return [f"numpy=={version or '2.2.6'}"]


class Model(Prepared):
    updater = Update

    def build(self):
        return self.family.build(self.workload.config, self.precision.parameters)

    def place(self, array):
        return array.astype(self.precision.parameters) if array.dtype.kind == "f" else array

    def check(self):
        found = {"logits": self.family.forward(self.model, self.sample())["logits"].dtype}
        check_effect(self.precision, found, np.dtype(self.precision.products))

    def prepare_training(self):
        self.enqueue = self.compiler.compile(super().step)

    prepare_inference = prepare_training

    def step(self, at):
        self.enqueue(at)

    def train(self, batch):
        loss, gradients = self.family.gradients(self.model, batch)
        self.update(gradients)
        return loss

    def natives(self):
        return {name: Native(array, trainable=True) for name, array in self.model.items()}


class Runtime(RuntimeBase):
    adapter = Mine()
    compilers = {"eager": Compiler, "queued": Queued}
    benchmark = Model
    version = np.__version__

    def outline(self, workload):  # np.zeros takes no memory before it is written to
        model = self.family(workload).build(workload.config, "float32")
        return {name: Native(array, trainable=True) for name, array in model.items()}


@hookimpl
def mbench_adapters():
    return [Mine()]


@hookimpl
def mbench_workloads():
    return {"lstm-small": "mbench_mine.small:SMALL"}
