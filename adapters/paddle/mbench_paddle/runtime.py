"""PaddlePaddle in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import os
import platform
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import paddle

from mbench.contract.adapter import FrameworkInfo, Unsupported
from mbench_paddle import blas, parameters
from mbench_paddle.compiler import COMPILERS, Eager
from mbench_paddle.optimizer import Update
from mbench_paddle.plugin import PaddlePaddle
from mbench_paddle.precision import resolve, widened
from mbench_paddle.probes import Accumulate, MatMul
from mbench_paddle.statistics import RunningStatistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

    from mbench.contract.case import Case
    from mbench.workloads.workload import Workload
    from mbench_paddle.precision import Precision

__all__ = ["Inference", "Runtime", "Training"]

DISTRIBUTIONS = ("paddlepaddle", "paddlepaddle-gpu", "numpy")


class Runtime:
    """PaddlePaddle on one device with a number of threads."""

    def __init__(self, *, device: str, threads: int) -> None:
        if device == "cuda" and not paddle.is_compiled_with_cuda():
            raise Unsupported("this build of PaddlePaddle has no CUDA")
        if device == "cuda" and paddle.device.cuda.device_count() == 0:
            raise Unsupported("PaddlePaddle finds no CUDA device")
        if os.environ["OMP_NUM_THREADS"] != str(threads):  # PaddlePaddle sets it to 1 if unset
            raise RuntimeError(f"OMP_NUM_THREADS must be {threads} before paddle is imported")
        paddle.set_device("gpu:0" if device == "cuda" else "cpu")
        if device == "cuda":
            # Shapes do not change: the search pays.
            paddle.set_flags({"FLAGS_cudnn_exhaustive_search": True})
        self.device = device

    def describe(self) -> FrameworkInfo:
        on_cuda = self.device == "cuda"
        versions = {}
        for name in DISTRIBUTIONS:
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        details = {
            "commit": str(paddle.version.commit),
            "mkl": str(paddle.version.mkl()),
            "cinn": str(paddle.version.cinn()),
        }
        if on_cuda:
            details["cuda"] = str(paddle.version.cuda())
            details["cudnn"] = str(paddle.version.cudnn())
        has_cuda = paddle.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0
        return FrameworkInfo(
            version=paddle.__version__,
            devices=["cpu", "cuda"] if has_cuda else ["cpu"],
            device_name=paddle.device.cuda.get_device_name() if on_cuda else platform.machine(),
            threads=int(os.environ["OMP_NUM_THREADS"]),
            versions=versions,
            details=details,
        )

    def prepare(self, case: Case, workload: Workload) -> Training | Inference:
        if case.compiler not in COMPILERS:
            raise Unsupported(f"PaddlePaddle has no compiler {case.compiler}")
        compiler = COMPILERS[case.compiler](self.device)
        if case.mode not in compiler.modes:
            raise Unsupported(f"{case.compiler} has no {case.mode}")
        return {"train": Training, "inference": Inference}[case.mode](
            case, workload, compiler, resolve(case.precision, compiler)
        )

    def shapes(self, workload: Workload) -> dict[str, Sequence[int]]:
        """Of a model whose tensors have no memory yet; paddle.nn.LSTM cannot wait for its own."""
        family = family_of(workload)
        try:
            with paddle.LazyGuard():
                model = family.build(workload.config)
        except ValueError as error:
            raise Unsupported(
                f"PaddlePaddle cannot build {workload.name} without its memory"
            ) from error
        return {name: native.shape for name, native in parameters.named(model).items()}

    def matmul(self, size: int, precision: str) -> MatMul:
        compiler = Eager(self.device)
        return MatMul(size, resolve(precision, compiler), compiler)

    def accumulate(self, elements: int, precision: str) -> Accumulate:
        compiler = Eager(self.device)
        return Accumulate(elements, resolve(precision, compiler), compiler)


class Prepared:
    """What training and inference share: the model and the batch on their device."""

    def __init__(
        self, case: Case, workload: Workload, compiler: Eager, precision: Precision
    ) -> None:
        paddle.seed(case.seed)
        self._family = family_of(workload)
        self._config = workload.config
        self._model = precision.built(partial(self._family.build, workload.config))
        if case.mode == "train":
            self._model.train()
        else:
            self._model.eval()
        self._compiler = compiler
        self._batch = {
            name: place(array, precision)
            for name, array in workload.batch(case.batch_size, seed=case.seed).items()
        }
        self._statistics = RunningStatistics(
            self._model, batch_size=case.batch_size, exact=precision.parameters == "float64"
        )
        with self._statistics.watching():
            precision.check(self._family.forward, self._model, self._batch)
        self.differences = [*precision.differences(), *compiler.differences]
        if self._statistics:
            self.differences.append(
                "running variances are biased: they are converted to unbiased ones"
            )
        if "images" in self._batch:
            self.differences.append("images are NCHW, the only layout of paddle.vision's models")
        if case.device == "cpu" and case.compiler != "engine":  # which multiplies by oneDNN
            self.differences += blas.differences()
        if precision.parameters == "float64":
            self.differences.append(
                "constants that kernels hold in float32 are made exact around them in float64"
            )

    def synchronize(self) -> None:
        self._compiler.synchronize()

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        parameters.load(self._model, arrays, self._statistics)

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        return parameters.read(self._model, self._statistics)

    def trainable_parameters(self) -> int:
        return sum(p.size for p in parameters.trainable(self._model).values())

    def counted_flops(self) -> float | None:
        """By paddle.flops, for which a multiply-add is one; it takes models of one input only."""
        if "images" not in self._batch:
            return None
        model = self._family.build(self._config)
        model.eval()
        with contextlib.redirect_stdout(io.StringIO()):
            return 2.0 * paddle.flops(model, [1, *self._batch["images"].shape[1:]])

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
        model, forward, loss = self._model, self._family.forward, self._family.loss

        def compute(batch: dict[str, paddle.Tensor]) -> paddle.Tensor:
            return loss(widened(forward(model, batch)), batch)

        self._compute = precision.autocast(compiler.compile(compute))
        self._update = Update(workload, parameters.trainable(model), precision)
        self.differences += self._update.differences

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self._update.reset()

    def step(self) -> None:
        self._statistics.advance()
        self._update.zero_gradients()
        loss = self._compute(self._batch)
        self._update(loss)
        self._loss = loss.detach()

    def loss(self) -> float:
        return float(self._loss)


class Inference(Prepared):
    """A Benchmark whose step is one forward pass."""

    def __init__(
        self, case: Case, workload: Workload, compiler: Eager, precision: Precision
    ) -> None:
        super().__init__(case, workload, compiler, precision)
        self._forward = compiler.infer(self._family.forward, self._model, precision)

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self._compiler.refresh(self._batch)

    def step(self) -> None:
        self._outputs = self._forward(self._batch)

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: parameters.to_numpy(output) for name, output in self._outputs.items()}


def place(array: np.ndarray, precision: Precision) -> paddle.Tensor:
    """One input on the device, floats in the precision's type."""
    # Paddle aborts where it finds no memory to make an array contiguous; NumPy raises.
    tensor = paddle.to_tensor(np.ascontiguousarray(array))
    return tensor.astype(precision.parameters) if tensor.is_floating_point() else tensor


def family_of(workload: Workload) -> ModuleType:
    """The module with this model's `build`, `forward` and `loss`."""
    return importlib.import_module(PaddlePaddle().model_file(workload))
