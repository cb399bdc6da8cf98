"""PaddlePaddle in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

import contextlib
import io
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import paddle
from paddle import nn
from paddle.distributed.fleet.utils import recompute

from mbench.contract.adapter import Unsupported
from mbench.contract.precision import PRECISIONS
from mbench.sdk import tensors
from mbench.sdk.benchmark import GRADIENT, Prepared, direction_of
from mbench.sdk.checks import require
from mbench.sdk.runtime import RuntimeBase
from mbench_paddle import blas, parallel, parameters, precision, profiler
from mbench_paddle.compiler import COMPILERS, Eager
from mbench_paddle.layers import exactly, layers_of
from mbench_paddle.optimizer import Update
from mbench_paddle.plugin import PaddlePaddle
from mbench_paddle.statistics import RunningStatistics, averages_unbiased

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    import numpy as np

    from mbench.contract.precision import Precision
    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native

    Tensors = Mapping[str, paddle.Tensor]

__all__ = ["Benchmark", "Runtime"]


class Benchmark(Prepared):
    """A case in PaddlePaddle."""

    updater = Update
    update: Update
    to_numpy = staticmethod(parameters.to_numpy)

    @property
    def own(self) -> Precision:
        """The model's precision: fp32 if the compiler itself lowers it to half precision."""
        lowered = self.compiler.lowers and self.precision.half
        return PRECISIONS["fp32"] if lowered else self.precision

    def precision_differences(  # type: ignore[override]  # the compiler's, too
        self, kind: Precision
    ) -> list[str]:
        if self.own is kind:
            return precision.differences(kind)
        return [f"the engine takes a float32 model down to {kind.products} where it can"]

    def build(self) -> nn.Layer:
        paddle.seed(self.seed)
        if self.case.device == "cuda":
            # Shapes do not change, so the search for the fastest algorithms pays off.
            search = self.settings.get("cudnn") == "search"
            paddle.set_flags({"FLAGS_cudnn_exhaustive_search": search})
        model = precision.built(partial(self.family.build, self.workload.config), self.own)
        if self.training:
            model.train()
        else:
            model.eval()
        if self.case.checkpoint:
            for layer in self.family.layers(model):
                layer.forward = partial(recompute, layer.forward)
            self.differences.append("layers are paddle.distributed.fleet.utils.recompute's")
        return model

    def place(self, array: np.ndarray) -> paddle.Tensor:
        tensor = parameters.placed(array)
        return tensor.astype(self.own.parameters) if tensor.is_floating_point() else tensor

    def check(self) -> None:
        """Checks each layer's type of output for a sample, which does not affect batch norms.

        What the compiler lowers, it checks itself.
        """
        types, counts = set(), {}

        def note(layer: nn.Layer, inputs: object, output: paddle.Tensor) -> None:
            if isinstance(layer, nn.BatchNorm2D):
                counts[layer] = self.times_sample * output.size // output.shape[1]
            else:
                types.add(output.dtype)

        norms = layers_of(self.model, nn.BatchNorm2D)
        noted = layers_of(self.model, nn.BatchNorm2D, *precision.PRODUCTS)
        hooks = [layer.register_forward_post_hook(note) for layer in noted]
        for norm in norms:
            norm.eval()
        with paddle.no_grad():
            outputs = precision.autocast(self.family.forward, self.own)(self.model, self.sample())
        for norm in norms:
            norm.training = self.training
        for hook in hooks:
            hook.remove()
        if not types:  # for products that are not layers
            types = {output.dtype for output in outputs.values()}
        found = ", ".join(sorted(map(str, types)))
        said = f"{self.precision.name} has no effect here: products are {found}"
        nothing = not types  # a rank of a collective may have no outputs
        require(nothing or getattr(paddle, self.own.products) in types, said)
        exact = self.own.name == "fp64"
        kind: Any = type(self.compiler)
        unbiased = (
            bool(norms) and self.training
            and averages_unbiased(kind, self.case.device, exact=exact)
        )  # fmt: skip
        self.statistics = RunningStatistics(self.model, counts, exact=exact, unbiased=unbiased)
        self.differences += [*self.statistics.differences, *self.remarks()]

    def remarks(self) -> Iterator[str]:
        if "images" in self.batch:
            yield "images are NCHW, the only layout of paddle.vision's models"
        if self.case.device == "cpu" and not self.compiler.lowers:  # the engine uses oneDNN
            yield from blas.differences()
        if self.own.name == "fp64":
            yield "constants that kernels hold in float32 are made exact around them in float64"

    def prepare_training(self) -> None:
        model, forward, loss = self.model, self.family.forward, self.family.loss
        parts = self.case.accumulate

        def compute(batch: Tensors) -> paddle.Tensor:
            found = loss(precision.widened(forward(model, batch)), batch)
            return found if parts == 1 else found * exactly(1 / parts, like=found)

        compiled = self.compiler.compile(compute)
        if self.among.ranks > 1:
            compiled = parallel.together(model, compiled)
            device, one_graph = self.case.device, self.compiler.one_graph
            self.differences += parallel.differences(device, one_graph=one_graph)
        self.compute = precision.autocast(compiled, self.own)

    def train(self, batch: Tensors) -> paddle.Tensor:
        self.statistics.advance()
        self.update.zero_gradients()
        losses = []
        for part in tensors.micro_batches(batch, self.case):
            loss = self.compute(part)
            self.update.backward(loss)
            losses.append(loss.detach())
        self.update.advance()
        return losses[0] if len(losses) == 1 else paddle.add_n(losses)

    def prepare_update(self) -> None:
        """As in training, the update is not compiled."""

    def apply(self, gradients: Tensors) -> None:
        self.update.by(gradients)

    def prepare_gradients(self) -> None:
        model, forward = self.model, self.family.forward

        def compute(batch: Tensors) -> Tensors:
            return forward(model, batch)

        self.compute = precision.autocast(self.compiler.compile(compute), self.own)
        self.leaves = tensors.trainable(self.natives())
        self.differentiates = True
        self.renewed()

    def renewed(self) -> None:
        for batch in self.placed_batches if self.differentiates else ():
            for name in self.differentiable:
                batch[name].stop_gradient = False

    def differentiate(self, batch: Tensors) -> Tensors:
        self.statistics.advance()
        leaves = {**{name: batch[name] for name in self.differentiable}, **self.leaves}
        outputs = self.compute(batch)
        along = [batch[direction_of(name)].astype(found.dtype) for name, found in outputs.items()]
        gradients = paddle.grad(list(outputs.values()), list(leaves.values()), along)
        return {
            **{name: output.detach() for name, output in outputs.items()},
            **{GRADIENT + name: found for name, found in zip(leaves, gradients, strict=True)},
        }

    def prepare_phase(self, *, backward: bool) -> None:
        self.backward = backward
        self.prepare_training()
        self.leaves = tensors.trainable(self.natives())

    def run_phase(self, batch: Tensors) -> Tensors:
        self.statistics.advance()
        for leaf in self.leaves.values():
            leaf.clear_gradient(False)
        loss = self.compute(batch)
        found = {"loss": loss.detach()}
        if self.backward:
            loss.backward()
            found.update((name, leaf.grad) for name, leaf in self.leaves.items())
        return found

    def prepare_inference(self) -> None:
        self.forward = self.compiler.infer(self.family.forward, self.model, self.precision)

    def infer(self, batch: Tensors) -> Tensors:
        return self.forward(batch)

    def prepare_prefill(self) -> None:
        said = f"PaddlePaddle's inference engine has no {self.case.mode} here: use eager or static"
        require(not self.compiler.lowers, said)
        self.read = self.compiler.infer(self.family.read, self.model, self.precision)
        self.cache = self.room()
        self.differences.append(
            "the cache of keys and values is made beforehand; those of new tokens are written into "
            "it in place, behind the graph"
        )

    def room(self) -> Any:
        return self.family.room(self.model, self.case.batch_size, self.own.parameters)

    def prefill(self, batch: Tensors) -> Tensors:
        return {"logits": self.family.prefill(self.read, self.cache, batch["input_ids"])}

    def prepare_decode(self) -> None:
        self.prepare_prefill()
        self.take = self.compiler.infer(self.family.take, self.model, self.precision)
        self.differences.append("attention is to all of the static cache, and masks what is empty")
        places = range(self.decoder.prompt_length, self.decoder.sequence_length)
        self.places = [(at, paddle.to_tensor([at])) for at in places]
        self.tokens = [
            [batch["input_ids"][:, at : at + 1].contiguous() for at in places]
            for batch in self.placed_batches
        ]

    def fill(self, batch: Tensors) -> Any:
        cache = self.room()
        prompt = batch["input_ids"][:, : self.decoder.prompt_length].contiguous()
        self.family.prefill(self.read, cache, prompt)
        return cache

    def decode(self, batch: Tensors) -> Mapping[str, list[paddle.Tensor]]:
        cache = self.caches[self.at]
        steps = zip(self.tokens[self.at], self.places, strict=True)
        return {"logits": [self.family.advance(self.take, cache, *step) for step in steps]}

    def natives(self) -> dict[str, Native]:
        return parameters.named(self.model) | self.statistics.natives

    def loaded(self) -> None:
        self.statistics.restart()
        self.compiler.refresh(self.batch)

    def counted_flops(self) -> float | None:
        """FLOPs from paddle.flops, which counts a multiply-add as one and takes only models with
        one input. It would also count norms, 5 % of a narrow model: these are left out.
        """
        if "images" not in self.batch:
            return None
        model = self.family.build(self.workload.config)
        model.eval()
        with contextlib.redirect_stdout(io.StringIO()):
            size = [1, *self.batch["images"].shape[1:]]
            return 2.0 * paddle.flops(model, size, {nn.BatchNorm2D: lambda *_: None})


class Runtime(RuntimeBase):
    """PaddlePaddle on one device with a number of threads."""

    adapter = PaddlePaddle()
    compilers = COMPILERS
    plain = Eager
    benchmark = Benchmark
    version = str(paddle.__version__)
    distributions = ("paddlepaddle", "paddlepaddle-gpu", "numpy")
    out_of_memory = ("resourceexhausted", "out of memory", "outofmemory")
    set_precision = staticmethod(precision.set_flags)

    def set_up(self) -> None:
        built = paddle.is_compiled_with_cuda()
        self.expect_cuda(built=built, found=built and paddle.device.cuda.device_count() > 0)
        if os.environ["OMP_NUM_THREADS"] != str(self.threads):  # set to 1 by paddle if unset
            raise RuntimeError(f"OMP_NUM_THREADS must be {self.threads} before paddle is imported")
        if self.device == "cuda" and self.device_memory_bytes:
            # Read at the first allocation; the allocator grows as needed.
            paddle.set_flags({"FLAGS_gpu_memory_limit_mb": self.device_memory_bytes // 2**20})
        paddle.set_device("gpu:0" if self.device == "cuda" else "cpu")
        if self.place.ranks > 1:
            parallel.join(self.place, self.device)

    def details(self) -> dict[str, str]:
        found = {
            "commit": str(paddle.version.commit),
            "mkl": str(paddle.version.mkl()),
            "cinn": str(paddle.version.cinn()),
        }
        if self.device == "cuda":
            found["cuda"] = str(paddle.version.cuda())
            found["cudnn"] = str(paddle.version.cudnn())
        if self.place.ranks > 1:
            found["collectives"] = parallel.BACKENDS[self.device]
        return found

    def outline(self, workload: Workload) -> dict[str, Native]:
        """Tensors of a model that has no memory yet; raises Unsupported if it allocates at once, as
        paddle.nn.LSTM does.
        """
        family = self.family(workload)
        try:
            with paddle.LazyGuard():
                return parameters.named(family.build(workload.config))
        except ValueError as error:
            said = f"PaddlePaddle cannot build {workload.name} without its memory"
            raise Unsupported(said) from error

    def profiled(self, folder: str) -> AbstractContextManager[None]:
        return profiler.profiled(folder, self.device)

    def uploader(self, compiler: Eager) -> Callable[[np.ndarray], paddle.Tensor]:
        return paddle.to_tensor

    def downloader(self, compiler: Eager) -> Callable[[paddle.Tensor], np.ndarray]:
        return paddle.Tensor.numpy
