"""PyTorch in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import platform
from typing import TYPE_CHECKING

import torch
from torch.utils.flop_counter import FlopCounterMode

from mbench.contract.adapter import FrameworkInfo, Unsupported, model_file
from mbench_pytorch import parameters
from mbench_pytorch.compiler import COMPILERS, Eager
from mbench_pytorch.optimizer import Update
from mbench_pytorch.precision import resolve, widened
from mbench_pytorch.probes import Accumulate, MatMul

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

    import numpy as np
    from torch import nn

    from mbench.contract.case import Case
    from mbench.workloads.workload import Workload
    from mbench_pytorch.precision import Precision

__all__ = ["Inference", "Runtime", "Training"]

DISTRIBUTIONS = ("torch", "torchvision", "transformers", "numpy", "triton", "torch_xla")


class Runtime:
    """PyTorch on one device with a number of threads."""

    def __init__(self, *, device: str, threads: int) -> None:
        if device == "cuda" and not torch.backends.cuda.is_built():
            raise Unsupported("this build of PyTorch has no CUDA")
        if device == "cuda" and not torch.cuda.is_available():
            raise Unsupported("PyTorch finds no CUDA device")
        torch.set_num_threads(threads)
        torch.backends.cudnn.benchmark = True  # shapes do not change: the search pays
        import_torchvision()
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
            "cpu capability": torch.backends.cpu.get_cpu_capability(),
            "build": "; ".join(
                line.strip(" -")
                for line in torch.__config__.show().splitlines()[1:]
                if "Build settings" not in line
            ),
        }
        if on_cuda:
            details["cuda"] = str(torch.version.cuda)
            details["cudnn"] = str(torch.backends.cudnn.version())
        return FrameworkInfo(
            version=str(torch.__version__),
            devices=["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"],
            device_name=torch.cuda.get_device_name() if on_cuda else platform.machine(),
            threads=torch.get_num_threads(),
            versions=versions,
            details=details,
        )

    def prepare(self, case: Case, workload: Workload) -> Training | Inference:
        if case.compiler not in COMPILERS:
            raise Unsupported(f"PyTorch has no compiler {case.compiler}")
        compiler = COMPILERS[case.compiler](self.device)
        precision = resolve(case.precision, compiler.device)
        kind = Training if case.mode == "train" else Inference
        return kind(case, workload, compiler, precision)

    def shapes(self, workload: Workload) -> dict[str, Sequence[int]]:
        """On the meta device, where tensors have no memory."""
        family = family_of(workload)
        with torch.device("meta"):
            model = family.build(workload.config)
        return {name: tensor.shape for name, tensor in parameters.named(model).items()}

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
        torch.manual_seed(case.seed)
        family = family_of(workload)
        model: nn.Module = family.build(workload.config)
        model.train(case.mode == "train")
        model.to(compiler.device, precision.parameters, memory_format=compiler.layout)
        self._family = family
        self._config = workload.config
        self._model = model
        self._compiler = compiler
        self._batch = {
            name: place(array, compiler, precision)
            for name, array in workload.batch(case.batch_size, seed=case.seed).items()
        }
        precision.check(family.forward, model, self._batch, compiler.device)
        self.differences = [*precision.differences(), *compiler.differences]
        if compiler.layout == torch.channels_last and "images" in self._batch:
            self.differences.append("images and convolution weights are channels_last (NHWC)")

    def synchronize(self) -> None:
        self._compiler.synchronize()

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        parameters.load(self._model, arrays)
        self._compiler.flush()

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        return parameters.read(self._model)

    def trainable_parameters(self) -> int:
        return sum(p.numel() for p in parameters.trainable(self._model).values())

    def counted_flops(self) -> float:
        """By FlopCounterMode, on the meta device: on CPU it does not see fused attention."""
        with torch.device("meta"):
            model = self._family.build(self._config).eval()
        sample = {name: tensor[:1].to("meta") for name, tensor in self._batch.items()}
        model.to(next(iter(self._model.parameters())).dtype)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            self._family.forward(model, sample)
        return float(counter.get_total_flops())

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
        forward, loss = self._family.forward, self._family.loss

        def compute(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
            return loss(widened(forward(model, batch)), batch)

        self._compute = precision.autocast(compiler.compile(compute), compiler.device)
        trainable = parameters.trainable(self._model)
        self._update = Update(workload, trainable, precision, compiler.device)
        self.differences += self._update.differences

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self._update.reset()

    def step(self) -> None:
        self._update.zero_gradients()
        loss = self._compute(self._model, self._batch)
        self._update(loss)
        self._loss = loss.detach()
        self._compiler.flush()

    def loss(self) -> float:
        return self._loss.item()


class Inference(Prepared):
    """A Benchmark whose step is one forward pass."""

    def __init__(
        self, case: Case, workload: Workload, compiler: Eager, precision: Precision
    ) -> None:
        super().__init__(case, workload, compiler, precision)
        compiled = precision.autocast(compiler.compile(self._family.forward), compiler.device)
        self._forward = compiler.without_gradients(compiled)

    def step(self) -> None:
        self._outputs = self._forward(self._model, self._batch)
        self._compiler.flush()

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: parameters.to_numpy(output) for name, output in self._outputs.items()}


def place(array: np.ndarray, compiler: Eager, precision: Precision) -> torch.Tensor:
    """One input on the device: floats in the precision's type, images in the compiler's layout."""
    tensor = torch.from_numpy(array)
    dtype = precision.parameters if tensor.is_floating_point() else tensor.dtype
    layout = compiler.layout if tensor.ndim == 4 else torch.contiguous_format
    return tensor.to(compiler.device, dtype).contiguous(memory_format=layout)


@functools.cache
def import_torchvision() -> torch.library.Library | None:
    """Import torchvision, beside a torch of another build too; the result is to be kept.

    The index holds a CUDA build, whose operators do not load beside a CPU torch. The models need
    none of them, but the import fails on the two that it describes to torch: they are declared
    here where, and only where, they are missing.
    """
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms does not exist" not in str(error):
            raise
    else:
        return None
    library = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    importlib.import_module("torchvision")
    return library


def family_of(workload: Workload) -> ModuleType:
    """The module with this model's `build`, `forward` and `loss`."""
    file = model_file(workload, framework="torch", models="mbench_pytorch.models")
    return importlib.import_module(file)
