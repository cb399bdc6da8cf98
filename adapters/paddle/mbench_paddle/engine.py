"""PaddlePaddle's inference engine: a model is saved, optimised and run without Python."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import paddle
from paddle import inference, nn

from mbench.sdk.checks import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.contract.precision import Precision

    Tensors = Mapping[str, paddle.Tensor]

__all__ = ["Predictor"]

POOL_MEGABYTES = 256  # GPU memory that the engine takes at first
LEAST_EFFECT = 1e-4  # lowering changes outputs by this share at least, float32 by 1e-6


class Predictor:
    """A forward pass run by the engine, from a copy of the model's parameters.

    `refresh` builds the engine, and rebuilds it for parameters loaded since.
    """

    def __init__(
        self,
        forward: Callable[[nn.Layer, Tensors], Tensors],
        model: nn.Layer,
        precision: Precision,
        *,
        on_cuda: bool,
    ) -> None:
        there = on_cuda or not precision.half or paddle.base.core.supports_bfloat16()
        require(there, "this CPU lacks the instructions for oneDNN's bfloat16")
        self._forward = forward
        self._model = model
        self._precision = precision
        self._on_cuda = on_cuda

    @paddle.no_grad()
    def refresh(self, batch: Tensors) -> None:
        """Make the engine from the model as it is; raises Unsupported if lowering has no effect."""
        inputs = Inputs(batch)
        reference = self._forward(self._model, inputs)
        self._names = tuple(reference)
        with tempfile.TemporaryDirectory(prefix="mbench-") as folder:
            path = str(Path(folder, "model"))
            paddle.jit.save(
                Exported(self._forward, self._model),
                path,
                input_spec=[
                    {
                        name: paddle.static.InputSpec(batch[name].shape, batch[name].dtype, name)
                        for name in sorted(inputs.read)
                    }
                ],
            )
            self._engine = inference.create_predictor(self._config(path))
        self._inputs = self._engine.get_input_names()
        if self._precision.half:
            lowered = self(batch)
            for name, output in reference.items():
                change = relative_difference(lowered[name].numpy(), output.numpy())
                said = f"{self._precision.name} has no effect here: {name} changes by {change:.0e}"
                require(not change < LEAST_EFFECT, said)

    def _config(self, path: str) -> inference.Config:
        config = inference.Config(f"{path}.json", f"{path}.pdiparams")
        config.disable_glog_info()
        config.enable_new_ir(True)
        config.enable_new_executor(True)
        config.enable_memory_optim()
        products = self._precision.products
        if self._on_cuda:
            kinds = {
                "float16": inference.PrecisionType.Half,
                "bfloat16": inference.PrecisionType.Bfloat16,
            }
            kind = kinds.get(products, inference.PrecisionType.Float32)
            config.enable_use_gpu(POOL_MEGABYTES, 0, kind)
            return config
        config.disable_gpu()
        config.set_cpu_math_library_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        if products == "float64":
            config.disable_onednn()
        else:
            config.enable_onednn()
        if products == "bfloat16":
            config.enable_onednn_bfloat16()
        return config

    def __call__(self, batch: Tensors) -> dict[str, paddle.Tensor]:
        outputs = self._engine.run([batch[name] for name in self._inputs])
        return dict(zip(self._names, outputs, strict=True))


class Exported(nn.Layer):
    """The forward pass as a layer that can be saved; outputs are a tuple in their order."""

    def __init__(self, forward: Callable[[nn.Layer, Tensors], Tensors], model: nn.Layer) -> None:
        super().__init__()
        self.compute = forward
        self.model = model
        self.eval()

    def forward(self, batch: Tensors) -> tuple[paddle.Tensor, ...]:
        return tuple(self.compute(self.model, batch).values())


class Inputs(dict[str, Any]):
    """A batch that records what is read: a saved model must have no input that it ignores."""

    def __init__(self, batch: Tensors) -> None:
        super().__init__(batch)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> paddle.Tensor:
        self.read.add(name)
        return super().__getitem__(name)


def relative_difference(array: np.ndarray, reference: np.ndarray) -> float:
    return float(np.linalg.norm(array - reference) / np.linalg.norm(reference))
