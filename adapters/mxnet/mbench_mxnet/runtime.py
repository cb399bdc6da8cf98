"""MXNet in the worker: sets it up, builds cases and runs their steps."""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
from typing import TYPE_CHECKING, Any

from mbench.contract.adapter import FrameworkInfo, Unsupported
from mbench_mxnet import libraries

try:
    import mxnet as mx
except OSError as error:
    raise Unsupported(libraries.explain(error)) from error

from mxnet import autograd, gluon

from mbench_mxnet import parameters
from mbench_mxnet.compiler import COMPILERS, Eager
from mbench_mxnet.optimizer import Update
from mbench_mxnet.parameters import ExactStatistics, Statistics
from mbench_mxnet.plugin import MXNet
from mbench_mxnet.precision import resolve
from mbench_mxnet.probes import Accumulate, MatMul

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

    import numpy as np

    from mbench.contract.case import Case
    from mbench.workloads.workload import Workload
    from mbench_mxnet.precision import Precision

__all__ = ["Inference", "Runtime", "Training"]

DISTRIBUTIONS = ("mxnet", "mxnet-cu112", "numpy")


class Runtime:
    """MXNet on one device with a number of threads."""

    def __init__(self, *, device: str, threads: int) -> None:
        if device == "cuda" and not mx.runtime.Features().is_enabled("CUDA"):
            raise Unsupported("this build of MXNet has no CUDA: mxnet-cu112 is one that has")
        if device == "cuda" and mx.context.num_gpus() == 0:
            raise Unsupported("MXNet finds no CUDA device")
        if os.environ.get("OMP_NUM_THREADS") != str(threads):
            raise Unsupported(f"MXNet starts with its threads: OMP_NUM_THREADS must be {threads}")
        self.device = device
        self.threads = threads

    def describe(self) -> FrameworkInfo:
        versions = {}
        for name in DISTRIBUTIONS:
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        features = mx.runtime.Features().values()
        return FrameworkInfo(
            version=mx.__version__,
            devices=["cpu", "cuda"] if mx.context.num_gpus() else ["cpu"],
            device_name="CUDA device 0" if self.device == "cuda" else platform.machine(),
            threads=self.threads,
            versions=versions,
            details={"features": ", ".join(f.name for f in features if f.enabled)},
        )

    def prepare(self, case: Case, workload: Workload) -> Training | Inference:
        if case.compiler not in COMPILERS:
            raise Unsupported(f"MXNet has no compiler {case.compiler}")
        compiler = COMPILERS[case.compiler](self.device)
        if case.mode == "train" and not compiler.trains:
            raise Unsupported(f"MXNet's {case.compiler} is for inference")
        precision = resolve(case.precision, compiler.device)
        kind = Training if case.mode == "train" else Inference
        return kind(case, workload, compiler, precision)

    def shapes(self, workload: Workload) -> dict[str, Sequence[int]]:
        """Of a model that is not initialized, whose parameters have no memory."""
        return parameters.shapes(family_of(workload).build(workload.config))

    def matmul(self, size: int, precision: str) -> MatMul:
        compiler = Eager(self.device)
        return MatMul(size, resolve(precision, compiler.device), compiler)

    def accumulate(self, elements: int, precision: str) -> Accumulate:
        compiler = Eager(self.device)
        return Accumulate(elements, resolve(precision, compiler.device), compiler)


class Prepared:
    """What training and inference share: the model and the batch on their device."""

    def __init__(
        self, case: Case, workload: Workload, compiler: Eager, precision: Precision
    ) -> None:
        mx.random.seed(case.seed)
        family = family_of(workload)
        model: gluon.HybridBlock = family.build(workload.config)
        model.cast(precision.parameters)
        model.initialize(mx.init.Zero(), ctx=compiler.device)
        self._family = family
        self._model = model
        self._compiler = compiler
        self._batch = {
            name: place(array, compiler, precision)
            for name, array in workload.batch(case.batch_size, seed=case.seed).items()
        }
        sample = {name: tensor[:1] for name, tensor in self._batch.items()}
        mode = autograd.train_mode if case.mode == "train" else autograd.predict_mode

        def forward() -> None:
            with mode():
                family.forward(model, sample)

        precision.check(model, forward)
        statistics = ExactStatistics if precision.exact else Statistics
        self._statistics = statistics(model, forward, case.batch_size)
        self.differences = [
            *precision.differences(),
            *compiler.differences,
            *getattr(family, "DIFFERENCES", ()),
            *self._statistics.differences(),
        ]

    def synchronize(self) -> None:
        self._compiler.synchronize()

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        parameters.load(self._model, arrays, self._statistics)

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        return parameters.read(self._model, self._statistics)

    def trainable_parameters(self) -> int:
        return sum(p.data().size for p in parameters.trainable(self._model).values())

    def counted_flops(self) -> None:
        """MXNet has no counter."""

    def loss(self) -> float:
        raise AssertionError("inference has no loss")

    def outputs(self) -> dict[str, np.ndarray]:
        raise AssertionError("training keeps no outputs")

    def peak_memory_bytes(self) -> int:
        return self._compiler.peak_memory_bytes()


class Training(Prepared):
    """A Benchmark whose step is one optimizer step."""

    def __init__(
        self, case: Case, workload: Workload, compiler: Eager, precision: Precision
    ) -> None:
        super().__init__(case, workload, compiler, precision)
        self._objective = Objective(self._family, self._model, precision, list(self._batch))
        self._inputs = list(self._batch.values())
        compiler.compile(self._objective)
        self._update = Update(workload, parameters.trainable(self._model), precision)
        self.differences += self._update.differences

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self._update.reset()

    def step(self) -> None:
        with autograd.record():
            loss = self._objective(*self._inputs)
        self._update(loss)
        self._loss = loss
        self._statistics.advance()

    def loss(self) -> float:
        return float(self._loss.asscalar())


class Inference(Prepared):
    """A Benchmark whose step is one forward pass."""

    def __init__(
        self, case: Case, workload: Workload, compiler: Eager, precision: Precision
    ) -> None:
        super().__init__(case, workload, compiler, precision)
        compiler.compile(self._model)

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self._compiler.refresh(self._model)

    def step(self) -> None:
        self._outputs = self._family.forward(self._model, self._batch)

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: parameters.to_numpy(output) for name, output in self._outputs.items()}


class Objective(gluon.HybridBlock):
    """The loss of a batch as one block, which Gluon can make one graph of.

    `names` are those of the batch's tensors, in the order in which the block takes them.
    """

    def __init__(
        self, family: ModuleType, model: gluon.HybridBlock, precision: Precision, names: list[str]
    ) -> None:
        super().__init__()
        self.model = model
        self._family = family
        self._precision = precision
        self._names = names

    def hybrid_forward(self, F: Any, *tensors: Any) -> Any:
        batch = dict(zip(self._names, tensors, strict=True))
        outputs = self._family.forward(self.model, batch)
        return self._family.loss(self._precision.widened(F, outputs), batch)


def place(array: np.ndarray, compiler: Eager, precision: Precision) -> mx.nd.NDArray:
    """One input on the device: floats in the precision's type, indices in int32."""
    dtype = precision.parameters if array.dtype.kind == "f" else "int32"
    return mx.nd.array(array, ctx=compiler.device, dtype=dtype)


def family_of(workload: Workload) -> ModuleType:
    """The module with this model's `build`, `forward` and `loss`."""
    return importlib.import_module(MXNet().model_file(workload))
