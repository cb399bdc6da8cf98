"""PyTorch in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from mbench.sdk import tensors
from mbench.sdk.benchmark import GRADIENT, IMAGE_AXES, Prepared, direction_of
from mbench.sdk.checks import check_effect
from mbench.sdk.runtime import RuntimeBase
from mbench_pytorch import parameters, precision, profiler
from mbench_pytorch.compiler import COMPILERS, Eager
from mbench_pytorch.optimizer import Update
from mbench_pytorch.plugin import PyTorch
from mbench_pytorch.vision import import_torchvision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import numpy as np
    from torch import nn

    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native

    Tensors = Mapping[str, torch.Tensor]

__all__ = ["Benchmark", "Runtime"]


class Benchmark(Prepared):
    """A case in PyTorch."""

    updater = Update
    update: Update
    precision_differences = staticmethod(precision.differences)
    to_numpy = staticmethod(parameters.to_numpy)

    def build(self) -> nn.Module:
        torch.manual_seed(self.seed)
        model = self.family.build(self.workload.config)
        model.train(self.training)
        if self.case.checkpoint:
            self.checkpoint(model)
        # Shapes do not change, so the search for the fastest algorithms pays off.
        torch.backends.cudnn.benchmark = self.settings.get("cudnn") == "benchmark"
        dtype = getattr(torch, self.precision.parameters)
        return model.to(self.compiler.device, dtype, memory_format=self.layout)

    def checkpoint(self, model: nn.Module) -> None:
        """Let layers keep only their inputs; transformers' models do so by their own method."""
        said = "layers are torch.utils.checkpoint's"
        if layers := getattr(self.family, "layers", None):
            for layer in layers(model):
                layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
        else:
            model.activation_checkpointing_enable({"use_reentrant": False})
            said += ", by transformers"
        self.differences.append(said)

    @property
    def layout(self) -> torch.memory_format:
        """Layout of images and convolution weights: the tier's, if it pays off here."""
        chosen = self.settings.get("layout", "contiguous_format")
        on_cuda = self.compiler.device.type == "cuda"
        pays = not on_cuda or precision.on_tensor_cores(self.precision)
        suits = self.compiler.layouts and pays
        return getattr(torch, chosen) if suits else torch.contiguous_format

    def place(self, array: np.ndarray) -> torch.Tensor:
        """Images are in the tier's layout."""
        tensor = torch.from_numpy(array)
        floating = tensor.is_floating_point()
        dtype = getattr(torch, self.precision.parameters) if floating else tensor.dtype
        layout = self.layout if tensor.ndim == 4 else torch.contiguous_format
        return tensor.to(self.compiler.device, dtype).contiguous(memory_format=layout)

    def check(self) -> None:
        """The outputs come from linear layers, so their type is that of the products."""
        self.model.eval()
        with torch.no_grad():
            outputs = self.autocast(self.family.forward)(self.model, self.sample())
        self.model.train(self.training)
        found = {name: output.dtype for name, output in outputs.items()}
        check_effect(self.precision, found, getattr(torch, self.precision.products))
        self.differences += getattr(self.model, "differences", ())
        images = any(tensor.ndim == IMAGE_AXES for tensor in self.batch.values())
        if self.layout == torch.channels_last and images:
            self.differences.append("images and convolution weights are channels_last (NHWC)")

    def autocast(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return precision.autocast(function, self.precision, self.compiler)

    def prepare_training(self) -> None:
        forward, loss = self.family.forward, self.family.loss
        parts = self.case.accumulate

        def compute(model: nn.Module, batch: Tensors) -> torch.Tensor:
            found = loss(precision.widened(forward(model, batch)), batch)
            return found if parts == 1 else found / parts

        self.compute = self.autocast(self.compiler.compile(compute))
        if self.among.ranks > 1:
            from mbench_pytorch import parallel

            self.compute = parallel.together(self.model, self.compute, self.compiler.device)
            self.differences += parallel.differences(
                self.compiler.device, split=self.compiler.compiles
            )

    def train(self, batch: Tensors) -> torch.Tensor:
        self.update.zero_gradients()
        first, *others = tensors.micro_batches(batch, self.case)
        loss = self.update.backward(self.compute(self.model, first))
        for part in others:
            loss = loss + self.update.backward(self.compute(self.model, part))
        self.update.advance()
        self.compiler.flush()
        return loss

    def prepare_update(self) -> None:
        """As in training, the update is not compiled."""

    def apply(self, gradients: Tensors) -> None:
        self.update.by(gradients)
        self.compiler.flush()

    def prepare_gradients(self) -> None:
        self.compute = self.autocast(self.compiler.compile(self.family.forward))
        self.leaves = tensors.trainable(self.natives())
        self.differentiates = True
        self.renewed()

    def renewed(self) -> None:
        for batch in self.placed_batches if self.differentiates else ():
            for name in self.differentiable:
                batch[name].requires_grad_()

    def differentiate(self, batch: Tensors) -> Tensors:
        leaves = {**{name: batch[name] for name in self.differentiable}, **self.leaves}
        outputs = self.compute(self.model, batch)
        along = [batch[direction_of(name)].to(found.dtype) for name, found in outputs.items()]
        gradients = torch.autograd.grad(list(outputs.values()), list(leaves.values()), along)
        self.compiler.flush()
        return {
            **{name: output.detach() for name, output in outputs.items()},
            **{GRADIENT + name: found for name, found in zip(leaves, gradients, strict=True)},
        }

    def prepare_phase(self, *, backward: bool) -> None:
        self.backward = backward
        self.prepare_training()
        self.leaves = tensors.trainable(self.natives())

    def run_phase(self, batch: Tensors) -> Tensors:
        for leaf in self.leaves.values():
            leaf.grad = None
        loss = self.compute(self.model, batch)
        if self.backward:
            loss.backward()
        self.compiler.flush()
        gradients = {name: leaf.grad for name, leaf in self.leaves.items() if self.backward}
        return {"loss": loss.detach(), **gradients}

    def prepare_inference(self) -> None:
        compiled = self.autocast(self.compiler.compile(self.family.forward))
        self.forward = self.compiler.without_gradients(compiled)

    def infer(self, batch: Tensors) -> Tensors:
        outputs = self.forward(self.model, batch)
        self.compiler.flush()
        return outputs

    def prepare_prefill(self) -> None:
        compiled = self.autocast(self.compiler.compile(self.family.prefill))
        self.fill_cache = self.compiler.without_gradients(compiled)

    def prefill(self, batch: Tensors) -> Tensors:
        logits, self.caches = self.fill_cache(self.model, batch["input_ids"])
        self.compiler.flush()
        return {"logits": logits}

    def prepare_decode(self) -> None:
        self.prepare_prefill()
        compiled = self.autocast(self.compiler.compile(self.family.advance))
        self.advance = self.compiler.without_gradients(compiled)
        self.differences.append(
            "the cache of keys and values is static: tokens are written in place, and attention "
            "masks what is empty"
        )
        config = self.decoder
        first, last = config.prompt_length, config.sequence_length
        positions = torch.arange(first, last, device=self.compiler.device)
        self.positions = positions.split(1)
        self.tokens = [
            [batch["input_ids"][:, at : at + 1].contiguous() for at in range(first, last)]
            for batch in self.placed_batches
        ]

    def fill(self, batch: Tensors) -> Any:
        prompt = batch["input_ids"][:, : self.decoder.prompt_length].contiguous()
        return self.fill_cache(self.model, prompt)[1]

    def decode(self, batch: Tensors) -> Mapping[str, list[torch.Tensor]]:
        cache = self.caches[self.at]
        found = []
        for token, position in zip(self.tokens[self.at], self.positions, strict=True):
            found.append(self.advance(self.model, cache, token, position))
            self.compiler.flush()
        return {"logits": found}

    def natives(self) -> dict[str, Native]:
        return parameters.named(self.model)

    def loaded(self) -> None:
        self.compiler.refresh()

    def counted_flops(self) -> float:
        """FLOPs from FlopCounterMode, on the meta device: on CPU, it would miss fused attention."""
        with torch.device("meta"):
            model = self.family.build(self.workload.config).eval()
        sample = {name: tensor.to("meta") for name, tensor in self.sample().items()}
        model.to(getattr(torch, self.precision.parameters))
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            self.family.forward(model, sample)
        return float(counter.get_total_flops())


class Runtime(RuntimeBase):
    """PyTorch on one device with a number of threads."""

    adapter = PyTorch()
    compilers = COMPILERS
    plain = Eager
    benchmark = Benchmark
    version = str(torch.__version__)
    distributions = ("torch", "torchvision", "transformers", "numpy", "triton", "torch_xla")
    out_of_memory = ("out of memory", "outofmemory", "can't allocate memory")
    set_precision = staticmethod(precision.set_flags)
    threads_used = staticmethod(torch.get_num_threads)

    def set_up(self) -> None:
        self.expect_cuda(built=torch.backends.cuda.is_built(), found=torch.cuda.is_available())
        if share := self.memory_share():
            torch.cuda.set_per_process_memory_fraction(share)
        torch.set_num_threads(self.threads)
        import_torchvision()
        if self.place.ranks > 1:
            from mbench_pytorch import parallel

            parallel.join(self.place, self.device)

    def details(self) -> dict[str, str]:
        lines = [line.strip(" -") for line in torch.__config__.show().splitlines()[1:]]
        found = {
            "cpu capability": torch.backends.cpu.get_cpu_capability(),
            "build": "; ".join(line for line in lines if "Build settings" not in line),
        }
        if self.device == "cuda":
            found["cuda"] = str(torch.version.cuda)
            found["cudnn"] = str(torch.backends.cudnn.version())
        if self.place.ranks > 1:
            found["collectives"] = str(torch.distributed.get_backend())
        return found

    def outline(self, workload: Workload) -> dict[str, Native]:
        """The model's tensors on the meta device, where they have no memory."""
        with torch.device("meta"):
            return parameters.named(self.family(workload).build(workload.config))

    def profiled(self, folder: str) -> AbstractContextManager[None]:
        return profiler.profiled(folder, self.device)

    def uploader(self, compiler: Eager) -> Callable[[np.ndarray], torch.Tensor]:
        return lambda array: torch.from_numpy(array).to(compiler.device, copy=True)

    def downloader(self, compiler: Eager) -> Callable[[torch.Tensor], np.ndarray]:
        return lambda tensor: tensor.to("cpu", copy=True).numpy()
