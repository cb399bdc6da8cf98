"""A whole third-party adapter in one module: a NumPy "framework", its model, its registration.

"tiny" is well-behaved; "flaky" is the same but for its runtime (mbench_tiny_flaky.py).
"""

from __future__ import annotations

import importlib
import math
import os
import time
import weakref
from dataclasses import dataclass, replace

import numpy as np

from mbench.contract import generator
from mbench.contract.workload import Optimizer, Tensor, Workload
from mbench.plugins.hooks import hookimpl
from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import require
from mbench.sdk.compiler import Compiler
from mbench.sdk.optimizer import UpdateBase, decays
from mbench.sdk.plugin import AdapterBase, Lack
from mbench.sdk.runtime import RuntimeBase
from mbench.sdk.tensors import Native, micro_batches

FEATURES, CLASSES = 256, 64
SLEEP_SECONDS = 0.02


@dataclass(frozen=True)
class TinyConfig:
    features: int = FEATURES
    classes: int = CLASSES

    def without_dropout(self):
        return self


@dataclass(frozen=True, kw_only=True)
class TinyWorkload(Workload):
    """Softmax regression. F features, C classes."""

    config: TinyConfig

    def tensors(self):
        shape = (self.config.classes, self.config.features)
        return [Tensor("weight", shape, 0.1), Tensor("bias", shape[:1], 0.1, decay=False)]

    def batch(self, size, *, seed):
        shape = (size, self.config.features)
        return {
            "features": generator.uniform(f"data/{seed}/features", shape),
            "labels": generator.integers(f"data/{seed}/labels", (size,), below=CLASSES),
        }

    def forward_flops(self):
        return 2.0 * self.config.features * self.config.classes

    def operations(self, batch_size, *, training):
        shape = f"{batch_size}x{self.config.features}x{self.config.classes}"
        loss = f"op:cross_entropy/{batch_size}x{self.config.classes}"
        return [f"op:linear/{shape}", *([loss] if training else [])]


TINY = TinyWorkload(
    name="tiny-model",
    title="Softmax regression",
    family="tiny",
    samples="samples",
    batch_sizes={"cpu": 64, "cuda": 64},
    config=TinyConfig(),
    proof={"batch_size": 8, "learning_rate": 1e-3},
    optimizer=Optimizer(rule="sgd", learning_rate=1e-5, momentum=0.9, weight_decay=1e-2),
    model_files={"tiny": "mbench_tiny", "flaky": "mbench_tiny"},
)


DIFFERENCES = ("gradients are written by hand",)


def build(config):
    shape = (config.classes, config.features)
    return {"weight": np.zeros(shape), "bias": np.zeros(shape[0])}


def forward(model, batch):
    return {"logits": batch["features"] @ model["weight"].T + model["bias"]}  # (B, C)


def loss(outputs, batch):
    """The mean cross-entropy, and B times its gradient with respect to the logits (B, C).

    Labels are numbers of classes (B,), or shares of the first K classes (B, K).
    """
    logits, rows = outputs["logits"], np.arange(len(batch["labels"]))
    if batch["labels"].ndim > 1:
        shares = np.zeros_like(logits)
        shares[:, : batch["labels"].shape[1]] = batch["labels"]
        top = logits.max(axis=1, keepdims=True)
        shifted = np.exp(logits - top)
        total = shifted.sum(axis=1, keepdims=True)
        found = (shares * (np.log(total) + top - logits)).sum(axis=1).mean()
        return found, shifted / total - shares
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances = shifted / shifted.sum(axis=1, keepdims=True)
    found = -np.log(chances[rows, batch["labels"]]).mean()
    chances[rows, batch["labels"]] -= 1
    return found, chances


def gradients(model, error, batch):
    """The gradients of all tensors, from the error (B, C) in the logits."""
    return {"weight": error.T @ batch["features"], "bias": error.sum(axis=0)}


class Update(UpdateBase):
    """Gradient descent with momentum, or AdamW; `lie` is what flaky tells.

    If the loss is scaled, steps are skipped as long as the scale is too large for the device.
    """

    lie = ""
    largest_scale = math.inf

    def set_learning_rate(self, rate):
        self.spec = replace(self.spec, learning_rate=rate)

    def build(self):
        self.decays = decays(self.workload, self.parameters)
        self.scale = 2.0**16 if self.precision.scales_loss else 1.0

    def loss_scale(self):
        return self.scale

    def reset(self):
        self.momentum = {name: np.zeros_like(array) for name, array in self.parameters.items()}
        self.squares = {name: np.zeros_like(array) for name, array in self.parameters.items()}
        self.steps = 0

    def __call__(self, gradients):
        if self.scale > self.largest_scale:
            self.scale /= 2
            return
        if self.lie == "drowsy":
            time.sleep(SLEEP_SECONDS)
        self.steps += 1
        for at, (name, value) in enumerate(self.parameters.items()):
            if self.lie == "frozen" and at == 1:
                continue
            gradient = gradients[name]
            if self.spec.rule == "adamw":
                self.adapt(name, value, gradient)
                continue
            if self.lie != "no-decay":
                gradient = gradient + self.decays[name] * value
            self.momentum[name] = self.spec.momentum * self.momentum[name] + gradient
            value -= self.spec.learning_rate * self.momentum[name]

    def adapt(self, name, value, gradient):
        rate, (first, second) = self.spec.learning_rate, self.spec.betas
        mean = self.momentum[name] = first * self.momentum[name] + (1 - first) * gradient
        square = self.squares[name] = second * self.squares[name] + (1 - second) * gradient**2
        deviation = np.sqrt(square / (1 - second**self.steps)) + self.spec.epsilon
        if self.lie != "no-decay":
            value *= 1 - rate * self.decays[name]
        value -= rate / (1 - first**self.steps) * mean / deviation


class Model(Prepared):
    """Softmax regression with hand-written gradients."""

    updater = Update
    held = 0
    lie = ""

    def build(self):
        model = self.family.build(self.workload.config)
        for name, array in model.items():
            model[name] = array.astype(self.precision.parameters)
        return model

    def place(self, array):
        return array.astype(self.precision.parameters) if array.dtype.kind == "f" else array

    def prepare_update(self):
        pass

    def apply(self, gradients):
        self.update(gradients)

    def prepare_gradients(self):
        pass

    def differentiate(self, batch):
        return self.family.differentiate(self.model, batch)

    def prepare_training(self):
        if self.compiler.gpu:
            self.update.largest_scale = self.compiler.gpu.settings.largest_scale

    def step(self, at):
        if self.compiler.gpu:
            self.occupy(self.compiler.gpu)
            self.compiler.gpu.launch()
        super().step(at)

    def occupy(self, device):
        """At the first step, take the case's memory until its end, and tuning's for a moment."""
        if not self.held:
            self.held = device.settings.sample * self.case.batch_size
            device.take(self.held)
            weakref.finalize(self, device.give, self.held)
            device.take(device.settings.tuning)
            device.give(device.settings.tuning)

    def files(self, source):
        return importlib.import_module("mbench_tiny_images").open_files(self, source)

    def infer(self, batch):  # also a part of training here, so it is not compiled
        return self.family.forward(self.model, batch)

    def train(self, batch):
        parts = micro_batches(batch, self.case)
        found, gradients = self.propagate(parts[0])
        for part in parts[1:]:
            loss, more = self.propagate(part)
            found += loss
            gradients = {name: gradients[name] + more[name] for name in more}
        if len(parts) > 1 and self.lie != "undivided":
            found /= len(parts)
            gradients = {name: gradient / len(parts) for name, gradient in gradients.items()}
        self.update(Eager.exchange.mean(gradients) if Eager.exchange else gradients)
        return found

    def propagate(self, batch):
        found, chances = self.family.loss(self.infer(batch), batch)
        return found, self.gradients(chances, batch)

    def gradients(self, chances, batch):
        if self.lie != "unscaled":
            chances /= len(chances)
        return self.family.gradients(self.model, chances, batch)

    def prepare_prefill(self):
        pass

    def prefill(self, batch):
        logits, self.cache = self.family.prefill(self.model, batch["input_ids"])
        return {"logits": logits}

    def prepare_decode(self):
        pass

    def fill(self, batch):
        prompt = batch["input_ids"][:, : self.decoder.prompt_length]
        return self.family.prefill(self.model, prompt)[1]

    def decode(self, batch):
        cache, found = self.caches[self.at], []
        for token in batch["input_ids"][:, self.decoder.prompt_length :].T:
            logits, cache = self.family.advance(self.model, cache, token)
            found.append(logits)
        if self.lie == "forgetful":  # the next step goes on from there
            self.caches[self.at] = cache
        return {"logits": found}

    def prepare_phase(self, *, backward):
        self.backward = backward

    def run_phase(self, batch):
        found, chances = self.family.loss(self.infer(batch), batch)
        return {"loss": found, **(self.gradients(chances, batch) if self.backward else {})}

    def natives(self):
        trained = getattr(self.model, "trained", {})
        return {
            name: Native(array, trainable=trained.get(name, True))
            for name, array in self.model.items()
        }


class Eager(Compiler):
    """`gpu` is the made-up one, if the case is for it; `exchange` is that with other ranks."""

    gpu = None
    exchange = None

    def peak_memory_bytes(self):
        return self.gpu.peak if self.gpu else super().peak_memory_bytes()

    def begin_peak(self):
        if self.gpu:
            self.gpu.peak = self.gpu.given
        return bool(self.gpu)


GPU = "TINY_GPU"
"""The variable that names the folder of a made-up GPU; see mbench_tiny_gpu.py."""
CPU_ONLY = "tiny computes on the CPU only"


class Tiny(AdapterBase):
    name = "tiny"
    title = "Tiny"
    imports = ("numpy",)
    accumulates = True
    feeds = ("files",)
    runtime = "mbench_tiny:Runtime"
    compilers = {"eager": "NumPy, operation by operation", "imaginary": "for refusals"}  # noqa: RUF012
    tuned_by = ("TINY_",)
    parallel = "a star of sockets"
    caches = ("tiny-decoder",)
    devices = ("cpu", "cuda", *os.environ.get("TINY_DEVICES", "").split())

    lacks = (
        Lack("tiny knows fp32 and fp64 only", precisions=("tf32", "amp-bf16", "bf16", "fp16")),
        Lack("tiny knows fp32 and fp64 only", ("cpu",), ("amp-fp16",)),
        Lack("this compiler does not exist", compilers=("imaginary",)),
    )

    def lacking(self, **words):
        if words.get("device") == "cuda" and GPU not in os.environ:
            return CPU_ONLY
        return super().lacking(**words)

    def model_file(self, workload):
        if workload.family in ("operators", "collectives"):
            return f"mbench_tiny_{workload.family}"
        return super().model_file(workload)

    def requirements(self, version, accelerator):
        return [f"numpy=={version}" if version else "numpy>=1.23"]


class Runtime(RuntimeBase):
    adapter = Tiny()
    compilers = {"eager": Eager, "steady": Eager}  # noqa: RUF012
    plain = Eager
    benchmark = Model
    version = np.__version__
    out_of_memory = ("outofdevicememory",)

    def set_up(self):
        if self.place.ranks > 1:
            exchange = importlib.import_module("mbench_tiny_exchange")
            Eager.exchange = exchange.Exchange(self.place)
        if self.device == "cpu":
            return
        require(GPU in os.environ, CPU_ONLY)
        Eager.gpu = importlib.import_module("mbench_tiny_gpu").Device(self.device_memory_bytes)

    def describe(self):
        found = super().describe()
        if Eager.gpu is None:
            return found
        settings = Eager.gpu.settings
        return replace(found, devices=["cpu", "cuda"], device_name=settings.name,
                       device_address=settings.address)  # fmt: skip

    def profiled(self, folder):
        return Eager.gpu.profiler(folder) if Eager.gpu else super().profiled(folder)

    def outline(self, workload):
        return {tensor.name: Native(tensor, tensor.trainable) for tensor in workload.tensors()}

    def uploader(self, compiler):
        return np.copy

    def downloader(self, compiler):
        return np.copy


class Flaky(Tiny):
    name = "flaky"
    title = "Flaky"
    runtime = "mbench_tiny_flaky:FlakyRuntime"
    compilers = {**Tiny.compilers, "steady": "without its faults"}  # noqa: RUF012


@hookimpl
def mbench_adapters():
    return [Tiny(), Flaky()]


@hookimpl
def mbench_workloads():
    return {"tiny-model": "mbench_tiny:TINY", "tiny-deep": "mbench_tiny_deep:DEEP",
            "tiny-images": "mbench_tiny_images:IMAGES"}  # fmt: skip
