"""MXNet in the worker: sets it up, builds cases and runs their steps."""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mbench.contract.adapter import Unsupported
from mbench_mxnet import libraries

try:
    libraries.load_cuda()
    import mxnet as mx
except OSError as error:
    raise Unsupported(libraries.explain(error)) from error

import numpy as np
from mxnet import autograd, gluon, nd

from mbench.sdk import tensors
from mbench.sdk.benchmark import GRADIENT, Prepared, direction_of
from mbench.sdk.checks import check_effect, require
from mbench.sdk.cuda import cuda_device
from mbench.sdk.runtime import RuntimeBase
from mbench_mxnet import parameters, precision, profiler
from mbench_mxnet.compiler import COMPILERS, Eager
from mbench_mxnet.layers import BatchNorm, Shares, blocks_of
from mbench_mxnet.optimizer import Update
from mbench_mxnet.plugin import MXNet
from mbench_mxnet.statistics import ExactStatistics, Statistics, averages_unbiased

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native

__all__ = ["Benchmark", "Runtime"]

NEWER = (9, 0)
"""First compute capability too new for mxnet-cu112: its library holds code for 5.0, 6.0, 7.0, 8.0
and 8.6, which runs on all 8.x, and none that a driver could translate for others."""


class Benchmark(Prepared):
    """A case in MXNet."""

    updater = Update
    update: Update
    around: Sequence[gluon.HybridBlock] = ()
    """The block that is compiled in place of the model and contains it."""
    precision_differences = staticmethod(precision.differences)
    to_numpy = staticmethod(parameters.to_numpy)

    def build(self) -> gluon.HybridBlock:
        mx.random.seed(self.seed)
        model: gluon.HybridBlock = self.family.build(self.workload.config)
        model.cast(self.precision.parameters)
        model.initialize(mx.init.Zero(), ctx=self.compiler.device)
        if self.case.accumulate > 1:
            for parameter in model.collect_params().values():
                if parameter.grad_req != "null":
                    parameter.grad_req = "add"
        return model

    def place(self, array: np.ndarray) -> nd.NDArray:
        """Indices become int32."""
        dtype = self.precision.parameters if array.dtype.kind == "f" else "int32"
        return nd.array(array, ctx=self.compiler.device, dtype=dtype)

    def check(self) -> None:
        """Checks each layer's type of output for a sample, and counts each batch norm's values."""
        types, norms = {}, {}

        def note(block: gluon.Block, inputs: Sequence[nd.NDArray], output: nd.NDArray) -> None:
            if isinstance(block, BatchNorm):
                norms[block] = self.times_sample * inputs[0].size // inputs[0].shape[1]
            else:
                types[block.name] = precision.type_name(output.dtype)

        noted = blocks_of(self.model, BatchNorm, *precision.PRODUCTS)
        hooks = [block.register_forward_hook(note) for block in noted]
        with autograd.train_mode() if self.training else autograd.predict_mode():
            outputs = self.family.forward(self.model, self.sample())
        for hook in hooks:
            hook.detach()
        if not types:  # for products that are not layers
            types = {name: precision.type_name(found.dtype) for name, found in outputs.items()}
        check_effect(self.precision, types, self.precision.products)
        kind = ExactStatistics if precision.is_exact(self.precision) else Statistics
        self.statistics = kind(norms, unbiased=self.unbiased(bool(norms)))
        self.differences += [
            *self.statistics.differences,
            *getattr(self.model, "differences", ()),
        ]

    def unbiased(self, normed: bool) -> bool:
        """Whether running variances are unbiased; in inference there are no new ones."""
        if not (self.training and normed):
            return False
        kind: Any = type(self.compiler)
        return averages_unbiased(kind, self.case.device, self.precision.parameters)

    def prepare_training(self) -> None:
        self.objective = self.compiler.compile(Objective(self))
        if self.among.ranks > 1:
            self.update.exchange_among(self.among)

    def train(self, batch: Mapping[str, nd.NDArray]) -> nd.NDArray:
        first, *others = tensors.micro_batches(batch, self.case)
        if others:
            self.update.zero_gradients()
        total = self.passed(first)
        for part in others:
            total = total + self.passed(part)
        self.update.advance()
        self.statistics.advance()
        return total

    def passed(self, batch: Mapping[str, nd.NDArray]) -> nd.NDArray:
        """The loss of a forward pass, after which a backward pass is enqueued."""
        with autograd.record():
            loss = self.objective(*batch.values())
        self.update.backward(loss)
        return loss

    def prepare_update(self) -> None:
        self.updaters = {
            id(gradients): self.update.by(gradients) for gradients in self.placed_batches
        }

    def apply(self, gradients: Mapping[str, nd.NDArray]) -> None:
        self.updaters[id(gradients)]()

    def prepare_gradients(self) -> None:
        self.compiler.compile(self.model)
        self.leaves = tensors.trainable(self.natives())
        self.differentiates = True
        self.renewed()

    def renewed(self) -> None:
        for batch in self.placed_batches if self.differentiates else ():
            for name in self.differentiable:
                batch[name].attach_grad()

    def differentiate(self, batch: Mapping[str, nd.NDArray]) -> Mapping[str, nd.NDArray]:
        with autograd.record():
            outputs = self.family.forward(self.model, batch)
        along = [
            batch[direction_of(name)].astype(found.dtype, copy=False)
            for name, found in outputs.items()
        ]
        autograd.backward(list(outputs.values()), along)
        self.statistics.advance()
        return {
            **outputs,
            **{GRADIENT + name: batch[name].grad for name in self.differentiable},
            **{GRADIENT + name: leaf.grad() for name, leaf in self.leaves.items()},
        }

    def prepare_phase(self, *, backward: bool) -> None:
        self.backward = backward
        self.objective = self.compiler.compile(Objective(self))
        self.leaves = tensors.trainable(self.natives())

    def run_phase(self, batch: Mapping[str, nd.NDArray]) -> Mapping[str, nd.NDArray]:
        with autograd.record():
            loss = self.objective(*batch.values())
        found = {"loss": loss}
        if self.backward:
            loss.backward()
            found.update((name, leaf.grad()) for name, leaf in self.leaves.items())
        self.statistics.advance()
        return found

    def prepare_inference(self) -> None:
        self.compiler.compile(self.model)

    def infer(self, batch: Mapping[str, nd.NDArray]) -> Mapping[str, nd.NDArray]:
        return self.family.forward(self.model, batch)

    def prepare_prefill(self) -> None:
        self.reader = self.compiler.compile(self.family.Reader(self.model))
        self.around = [self.reader]
        self.cache = self.room()
        self.differences.append(
            "the cache of keys and values is made beforehand; those of new tokens are written into "
            "it in place, behind the graph"
        )

    def room(self) -> Any:
        kind = {"ctx": self.compiler.device, "dtype": self.precision.parameters}
        return self.family.room(self.model, self.case.batch_size, **kind)

    def prefill(self, batch: Mapping[str, nd.NDArray]) -> Mapping[str, nd.NDArray]:
        return {"logits": self.family.prefill(self.reader, self.cache, batch["input_ids"])}

    def prepare_decode(self) -> None:
        self.prepare_prefill()
        self.writer = self.compiler.compile(self.family.Writer(self.model))
        self.around = [self.reader, self.writer]
        self.differences.append("attention is to all of the static cache, and masks what is empty")
        places = range(self.decoder.prompt_length, self.decoder.sequence_length)
        self.places = [(at, self.place(np.array([at]))) for at in places]
        self.tokens = [
            [batch["input_ids"][:, at : at + 1].copy() for at in places]
            for batch in self.placed_batches
        ]

    def fill(self, batch: Mapping[str, nd.NDArray]) -> Any:
        cache = self.room()
        prompt = batch["input_ids"][:, : self.decoder.prompt_length].copy()
        self.family.prefill(self.reader, cache, prompt)
        return cache

    def decode(self, batch: Mapping[str, nd.NDArray]) -> Mapping[str, list[nd.NDArray]]:
        cache = self.caches[self.at]
        steps = zip(self.tokens[self.at], self.places, strict=True)
        return {"logits": [self.family.advance(self.writer, cache, *step) for step in steps]}

    def canonical(self, array: np.ndarray, native: Native | None) -> np.ndarray:
        """MXNet has no tensors without axes: a scalar has one axis."""
        found = super().canonical(array, native)
        return found.reshape(()) if native is None and found.shape == (1,) else found

    def natives(self) -> dict[str, Native]:
        return self.statistics.natives(self.model)

    def loaded(self) -> None:
        self.statistics.begin()
        for block in () if self.training else (self.model, *self.around):
            self.compiler.refresh(block)


class Objective(gluon.HybridBlock):
    """The loss of a batch as one block, which Gluon can make one graph of; for a micro-batch, its
    share of the loss.

    It takes the batch's tensors in their order in the batch.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        super().__init__()
        self.model = benchmark.model
        self._family = benchmark.family
        self._precision = benchmark.precision
        self._names = list(benchmark.batch)
        self._benchmark = benchmark
        self._parts = benchmark.case.accumulate

    def hybrid_forward(self, F: Any, *tensors: Any) -> Any:
        batch = dict(zip(self._names, tensors, strict=True))
        if self._benchmark.soft:
            batch["labels"] = Shares(batch["labels"])
        outputs = self._family.forward(self.model, batch)
        loss = self._family.loss(precision.widened(F, outputs, self._precision), batch)
        return loss if self._parts == 1 else loss / self._parts


class Runtime(RuntimeBase):
    """MXNet on one device with a number of threads."""

    adapter = MXNet()
    compilers = COMPILERS
    plain = Eager
    benchmark = Benchmark
    version = str(mx.__version__)
    distributions = ("mxnet", "mxnet-cu112", "nvidia-cudnn-cu11", "numpy")
    out_of_memory = ("out of memory", "failed to allocate", "trying to allocate is larger")
    set_precision = staticmethod(precision.set_flags)

    def set_up(self) -> None:
        self.expect_cuda(
            built=mx.runtime.Features().is_enabled("CUDA"),
            found=mx.context.num_gpus() > 0,
            hint=": mxnet-cu112 is one that has",
        )
        gpu = cuda_device() if self.device == "cuda" else None
        if gpu is not None:
            said = "MXNet's CUDA 11.2 has no code for compute capability {}.{}: up to 8.x it has"
            require(gpu.capability < NEWER, said.format(*gpu.capability))
        threads = os.environ.get("OMP_NUM_THREADS")
        mend = f"OMP_NUM_THREADS must be {self.threads}"
        require(threads == str(self.threads), f"MXNet starts with its threads: {mend}")
        if self.place.ranks > 1:
            from mbench_mxnet import parallel  # only for several processes

            parallel.join(self.place, self.device)

    def details(self) -> dict[str, str]:
        features = mx.runtime.Features().values()
        return {"features": ", ".join(f.name for f in features if f.enabled)}

    def outline(self, workload: Workload) -> dict[str, Native]:
        """Tensors of an uninitialized model, whose parameters have no memory."""
        return parameters.named(self.family(workload).build(workload.config))

    def profiled(self, folder: str) -> AbstractContextManager[None]:
        return profiler.profiled(folder)

    def uploader(self, compiler: Eager) -> Callable[[np.ndarray], nd.NDArray]:
        return lambda array: nd.array(array, ctx=compiler.device, dtype=array.dtype)

    def downloader(self, compiler: Eager) -> Callable[[nd.NDArray], np.ndarray]:
        return nd.NDArray.asnumpy
