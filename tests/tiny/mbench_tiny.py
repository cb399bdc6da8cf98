"""A whole third-party adapter in one module: a NumPy "framework", its model, its registration.

"tiny" is well-behaved. "flaky" is the same but does at step N what the variable FLAKY says:
raise@N, kill@N, hang@N, oom@N, exit@N, slow (10 % slower), silent (does not start), hasty (does
not wait for its steps), or, for the proof of equal work, a lie about the step: frozen, no-decay,
unscaled, nan, extra, kept.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from mbench.contract.adapter import SUPPORTED, FrameworkInfo, Support, Unsupported
from mbench.contract.case import MODES
from mbench.worker.limits import peak_resident_bytes
from mbench.workloads import generator
from mbench.workloads.workload import Optimizer, Tensor, Workload

FEATURES, CLASSES = 256, 64


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

    def resized(self, *, image_size, sequence_length):
        if image_size is not None or sequence_length is not None:
            raise ValueError(f"{self.name} has one size only")
        return self

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


TINY = TinyWorkload(
    name="tiny-model",
    title="Softmax regression",
    family="tiny",
    samples="samples",
    size="",
    batch_sizes={"cpu": 64, "cuda": 64},
    config=TinyConfig(),
    proof={"batch_size": 8, "learning_rate": 1e-3},
    optimizer=Optimizer(rule="sgd", learning_rate=1e-8, momentum=0.9, weight_decay=1e-2),
)


class Model:
    """Both modes: softmax regression with hand-written gradients."""

    differences = ("gradients are written by hand",)

    def __init__(self, case, workload, before_step, lie=""):
        self.dtype = np.float64 if case.precision == "fp64" else np.float32
        self.training = case.mode == "train"
        self.workload, self.before_step, self.lie = workload, before_step, lie
        batch = workload.batch(case.batch_size, seed=case.seed)
        self.features = batch["features"].astype(self.dtype)
        self.labels = batch["labels"]
        self.values = {}
        self.logits = None

    def load_parameters(self, arrays):
        arrays = dict(arrays)
        classes, features = self.workload.config.classes, self.workload.config.features
        expected = {"weight": (classes, features), "bias": (classes,)}
        if {name: array.shape for name, array in arrays.items()} != expected:
            raise ValueError("these are not the parameters of this model")
        self.values = {name: array.astype(self.dtype) for name, array in arrays.items()}
        self.momentum = {name: np.zeros_like(array) for name, array in self.values.items()}

    def step(self):
        self.before_step()
        logits = self.features @ self.values["weight"].T + self.values["bias"]  # (B, C)
        if self.lie != "kept" or self.logits is None:
            self.logits = logits
        if self.training:
            self.update(logits)

    def update(self, logits):
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances = shifted / shifted.sum(axis=1, keepdims=True)
        rows = np.arange(len(self.labels))
        self.last_loss = -np.log(chances[rows, self.labels]).mean()
        chances[rows, self.labels] -= 1
        if self.lie != "unscaled":
            chances /= len(rows)
        gradients = {"weight": chances.T @ self.features, "bias": chances.sum(axis=0)}
        optimizer = self.workload.optimizer
        for tensor in self.workload.tensors():
            if self.lie == "frozen" and tensor.name == "bias":
                continue
            value, gradient = self.values[tensor.name], gradients[tensor.name]
            if tensor.decay and self.lie != "no-decay":
                gradient = gradient + optimizer.weight_decay * value
            self.momentum[tensor.name] = optimizer.momentum * self.momentum[tensor.name] + gradient
            value -= optimizer.learning_rate * self.momentum[tensor.name]

    def synchronize(self):
        pass

    def parameters(self):
        yield from self.values.items()
        if self.lie == "extra":
            yield "surplus", np.zeros(3)

    def trainable_parameters(self):
        return sum(array.size for array in self.values.values())

    def counted_flops(self):
        return None

    def loss(self):
        return float("nan") if self.lie == "nan" else float(self.last_loss)

    def outputs(self):
        return {"logits": self.logits}

    def peak_memory_bytes(self):
        return peak_resident_bytes()


class MatMul:
    """C = A B of square matrices."""

    def __init__(self, size, dtype):
        self.a, self.b = (np.ones((size, size), dtype) for _ in range(2))

    def step(self):
        self.a @ self.b

    def synchronize(self):
        pass


class Accumulate:
    """B = B + A of vectors, in place."""

    def __init__(self, elements, dtype):
        self.a, self.b = (np.ones(elements, dtype) for _ in range(2))

    def step(self):
        self.b += self.a

    def synchronize(self):
        pass


class HastyModel(Model):
    """Its steps are done by a thread, for which synchronize does not wait; results do."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.thread = ThreadPoolExecutor(1)

    def settled(self, method, *arguments):
        return self.thread.submit(method, *arguments).result()

    def step(self):
        self.thread.submit(super().step)

    def load_parameters(self, arrays):
        self.settled(super().load_parameters, arrays)

    def parameters(self):
        return self.settled(super().parameters)

    def loss(self):
        return self.settled(super().loss)

    def outputs(self):
        return self.settled(super().outputs)


def check_toggles(case):
    if case.precision not in ("fp32", "fp64") or case.compiler != "eager":
        raise Unsupported(f"tiny has no {case.precision} under {case.compiler}")


class Runtime:
    def __init__(self, *, device, threads):
        if device != "cpu":
            raise Unsupported("tiny computes on the CPU only")
        self.threads = threads

    def describe(self):
        return FrameworkInfo(
            version=np.__version__, devices=["cpu"], device_name="CPU", threads=self.threads
        )

    def prepare(self, case, workload):
        check_toggles(case)
        return Model(case, workload, lambda: None)

    def shapes(self, workload):
        return {tensor.name: tensor.shape for tensor in workload.tensors()}

    def matmul(self, size, precision):
        return MatMul(size, {"fp32": np.float32, "fp64": np.float64}[precision])

    def accumulate(self, elements, precision):
        return Accumulate(elements, {"fp32": np.float32, "fp64": np.float64}[precision])


class FlakyRuntime(Runtime):
    def __init__(self, *, device, threads):
        super().__init__(device=device, threads=threads)
        self.fault, _, at = os.environ.get("FLAKY", "").partition("@")
        self.at, self.steps = int(at or 0), 0
        if self.fault == "silent":
            time.sleep(3600)

    def prepare(self, case, workload):
        if case.compiler == "steady":
            return super().prepare(replace(case, compiler="eager"), workload)
        check_toggles(case)
        kind = HastyModel if self.fault == "hasty" else Model
        return kind(case, workload, self.before_step, self.fault)

    def before_step(self):
        if self.fault == "slow":
            time.sleep(0.002)
        self.steps += 1
        if not self.at or self.steps < self.at:
            return
        if self.fault == "raise":
            raise RuntimeError("the tiny framework has\nlost its mind")
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "hang":
            time.sleep(3600)
        if self.fault == "exit":
            print("going down", file=sys.stderr, flush=True)
            os._exit(3)
        if self.fault == "oom":
            np.ones(2**50, dtype=np.uint8)


class Tiny:
    name = "tiny"
    title = "Tiny"
    imports = ("numpy",)
    runtime = "mbench_tiny:Runtime"
    compilers = {"eager": "NumPy, operation by operation", "imaginary": "for refusals"}  # noqa: RUF012
    variables = ("TINY_",)

    def requirements(self, version, accelerator):
        return [f"numpy=={version}" if version else "numpy>=1.23"]

    def python(self, version):
        return ">=3.10"

    def environment(self, *, threads, device):
        return {}

    def supports(self, case):
        if not case.workload.startswith("mbench_tiny:"):
            return Support.no(f"tiny does not provide {case.model}")
        if case.mode not in MODES or case.device != "cpu":
            return Support.no("tiny trains and infers on the CPU only")
        if case.precision not in ("fp32", "fp64"):
            return Support.no("tiny knows fp32 and fp64 only")
        if case.compiler == "imaginary":
            return Support.no("this compiler does not exist")
        return SUPPORTED


class Flaky(Tiny):
    name = "flaky"
    title = "Flaky"
    runtime = "mbench_tiny:FlakyRuntime"
    compilers = {**Tiny.compilers, "steady": "without its faults"}  # noqa: RUF012


def mbench_adapters():
    return [Tiny(), Flaky()]


def mbench_workloads():
    return {"tiny-model": "mbench_tiny:TINY"}


try:
    from mbench.hookspecs import hookimpl
except ModuleNotFoundError:  # in a worker there is no pluggy, and no need of it
    pass
else:
    mbench_adapters = hookimpl(mbench_adapters)
    mbench_workloads = hookimpl(mbench_workloads)
