"""MegEngine in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import megengine as mge
from megengine.autodiff import GradManager
from megengine.utils.module_stats import module_stats

from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import SAMPLE, check_effect, is_unbiased, require
from mbench.sdk.runtime import RuntimeBase
from mbench_megengine import layers, parameters
from mbench_megengine.compiler import COMPILERS, Eager
from mbench_megengine.optimizer import Update
from mbench_megengine.plugin import MegEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from megengine import module as M

    from mbench.sdk.tensors import Native

    Tensors = Mapping[str, mge.Tensor]

__all__ = ["Benchmark", "Runtime"]

PRODUCTS = ("Conv2d", "Linear")
"""Layers that multiply and add, by their names in module_stats."""


class Benchmark(Prepared):
    """A case in MegEngine."""

    updater = Update
    update: Update
    place = staticmethod(parameters.placed)
    to_numpy = staticmethod(parameters.to_numpy)

    def build(self) -> M.Module:
        mge.random.seed(self.case.seed)
        model = self.family.build(self.workload.config)
        layers.seed(model, self.case.seed)
        model.train(self.training)
        return model

    def check(self) -> None:
        found = {name: native.tensor.dtype.name for name, native in self.natives().items()}
        check_effect(self.precision, found, self.precision.parameters)
        kept = "batch norm keeps biased variances here"
        require(not self.training or is_unbiased(sample_variance()), kept)

    def prepare_training(self) -> None:
        model, family, update = self.model, self.family, self.update
        manager = GradManager().attach(list(update.parameters.values()))

        def compute(batch: Tensors) -> mge.Tensor:
            with manager:
                loss = family.loss(family.forward(model, batch), batch)
                manager.backward(loss)
            update()
            return loss

        self.compute = self.compiler.compile(compute)
        for _ in range(self.compiler.unlike):
            self.compute(self.batch)  # all that it changes is loaded or reset afterwards

    def train(self, batch: Tensors) -> mge.Tensor:
        return self.compute(batch)

    def prepare_inference(self) -> None:
        self.compute = self.compiler.compile(partial(self.family.forward, self.model))

    def infer(self, batch: Tensors) -> Tensors:
        return self.compute(batch)

    def natives(self) -> dict[str, Native]:
        return parameters.named(self.model)

    def counted_flops(self) -> float | None:
        """FLOPs of convolutions and linear layers, from megengine.utils.module_stats.

        module_stats counts a multiply-add as one, but each element of a norm as seven. It knows
        only the products of layers, so it does not count attention.
        """
        if "images" not in self.batch:
            return None
        found = module_stats(
            self.family.build(self.workload.config),
            inputs=self.sample()["images"].numpy(),
            cal_params=False,
            cal_activations=False,
            logging_to_stdout=False,
        )[1]
        known = [one for one in found.flops if one.get("class_name") in PRODUCTS]
        return 2.0 * sum(one["flops_num"] for one in known)


class Runtime(RuntimeBase):
    """MegEngine on the CPU with a number of threads."""

    adapter = MegEngine()
    compilers = COMPILERS
    plain = Eager
    benchmark = Benchmark
    version = str(mge.__version__)
    distributions = ("megengine", "numpy")
    out_of_memory = ("out of memory", "failed to malloc", "bad_alloc")

    def set_up(self) -> None:
        self.expect_cuda(built=True, found=mge.is_cuda_available())
        # A device with that many threads; the default one, "cpu0", has a single thread.
        mge.set_default_device(f"multithread{self.threads}:0")

    def threads_used(self) -> int:
        return int(mge.get_default_device().partition(":")[0].replace("multithread", ""))

    def details(self) -> dict[str, str]:
        return {"commit": str(mge.version.git_version)}

    def is_out_of_memory(self, error: Exception) -> bool:
        """A failure of an enqueued operation is reported later, as the cause of an AsyncError."""
        cause = error.__cause__
        told = isinstance(cause, Exception) and super().is_out_of_memory(cause)
        return told or super().is_out_of_memory(error)


def sample_variance() -> float:
    """The variance of SAMPLE that batch norm averages into its running variance."""
    norm = mge.module.BatchNorm2d(1, momentum=0.0)
    norm(parameters.placed(SAMPLE))
    return float(norm.running_var.numpy().item())
