"""TensorFlow in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.contract.adapter import FrameworkInfo, Unsupported
from mbench_tensorflow import parameters
from mbench_tensorflow.compiler import COMPILERS, Eager
from mbench_tensorflow.layers import built_when_called
from mbench_tensorflow.optimizer import Update
from mbench_tensorflow.plugin import TensorFlow
from mbench_tensorflow.precision import resolve, widened
from mbench_tensorflow.probes import Accumulate, MatMul

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

    import numpy as np

    from mbench.contract.case import Case
    from mbench.workloads.workload import Workload
    from mbench_tensorflow.precision import Precision

    Tensors = dict[str, tf.Tensor]

__all__ = ["Inference", "Runtime", "Training"]

DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "keras", "numpy")


class Runtime:
    """TensorFlow on one device with a number of threads."""

    def __init__(self, *, device: str, threads: int) -> None:
        if device == "cuda" and not tf.test.is_built_with_cuda():
            raise Unsupported("this build of TensorFlow has no CUDA")
        gpus = tf.config.list_physical_devices("GPU")
        if device == "cuda" and not gpus:
            raise Unsupported("TensorFlow finds no CUDA device")
        tf.config.set_visible_devices(gpus[:1] if device == "cuda" else [], "GPU")
        if device == "cuda":
            # It would take the whole memory of the device, and leave other workers none.
            tf.config.experimental.set_memory_growth(gpus[0], True)
        # Kernels compute in the first pool; the second dispatches them, and with a single thread
        # there operations would wait for one another. By default both are as many as the cores.
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        # Whatever the user's keras.json says.
        keras.config.set_floatx("float32")
        keras.config.set_image_data_format("channels_last")
        self.device = device
        self._gpus = gpus

    def describe(self) -> FrameworkInfo:
        on_cuda = self.device == "cuda"
        versions = {}
        for name in DISTRIBUTIONS:
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        details = {
            "build": f"{tf.version.GIT_VERSION}; {tf.version.COMPILER_VERSION}",
            "oneDNN": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "by default"),
        }
        device_name = platform.machine()
        if on_cuda:
            build = tf.sysconfig.get_build_info()
            details["cuda"] = str(build.get("cuda_version"))
            details["cudnn"] = str(build.get("cudnn_version"))
            gpu = tf.config.experimental.get_device_details(self._gpus[0])
            device_name = gpu.get("device_name", device_name)
        return FrameworkInfo(
            version=tf.version.VERSION,
            devices=["cpu", "cuda"] if self._gpus else ["cpu"],
            device_name=device_name,
            threads=tf.config.threading.get_intra_op_parallelism_threads(),
            versions=versions,
            details=details,
        )

    def prepare(self, case: Case, workload: Workload) -> Training | Inference:
        if case.compiler not in COMPILERS:
            raise Unsupported(f"TensorFlow has no compiler {case.compiler}")
        keras.utils.clear_session()  # frees the model of the case before, which holds cycles
        compiler = COMPILERS[case.compiler](self.device)
        precision = resolve(case.precision, self.device)
        kind = Training if case.mode == "train" else Inference
        return kind(case, workload, compiler, precision)

    def matmul(self, size: int, precision: str) -> MatMul:
        compiler = Eager(self.device)
        return MatMul(size, resolve(precision, self.device), compiler)

    def accumulate(self, elements: int, precision: str) -> Accumulate:
        compiler = Eager(self.device)
        return Accumulate(elements, resolve(precision, self.device), compiler)

    def shapes(self, workload: Workload) -> dict[str, Sequence[int]]:
        """In a graph that never runs, where variables have no memory."""
        family = family_of(workload)
        with tf.Graph().as_default():
            model = built_when_called(family.build(workload.config))
            sample = {name: native(a) for name, a in workload.batch(1, seed=0).items()}
            family.forward(model, sample, training=False)
        return parameters.shapes(model)


class Prepared:
    """What training and inference share: the model and the batch on their device."""

    def __init__(
        self, case: Case, workload: Workload, compiler: Eager, precision: Precision
    ) -> None:
        keras.utils.set_random_seed(case.seed)
        family = family_of(workload)
        self._family = family
        self._compiler = compiler
        self._batch = {
            name: place(array, compiler, precision)
            for name, array in workload.batch(case.batch_size, seed=case.seed).items()
        }
        self._model = built_when_called(family.build(workload.config))
        precision.check(family.forward, self._model, self._batch)
        self.differences = [*precision.differences(), *compiler.differences, *family.DIFFERENCES]

    def synchronize(self) -> None:
        self._compiler.synchronize()

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        parameters.load(self._model, arrays)

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        return parameters.read(self._model)

    def trainable_parameters(self) -> int:
        return sum(v.shape.num_elements() for v in parameters.trainable(self._model).values())

    def counted_flops(self) -> float | None:
        """By TensorFlow's profiler, which counts elementwise operations as well.

        None where there are loops, such as an LSTM's: it counts what is in them once.
        """
        sample = {name: tensor[:1] for name, tensor in self._batch.items()}
        forward = tf.function(self._family.forward, autograph=False)
        graph = forward.get_concrete_function(self._model, sample, training=False).graph
        if any("While" in operation.type for operation in graph.get_operations()):
            return None
        options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
        options["output"] = "none"
        return float(tf.compat.v1.profiler.profile(graph, options=options).total_float_ops)

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
        model = self._model
        trainable = parameters.trainable(model)
        variables = list(trainable.values())
        update = Update(workload, trainable, precision)

        def train(batch: Tensors) -> tf.Tensor:
            with tf.GradientTape() as tape:
                found = loss(widened(forward(model, batch, training=True)), batch)
                scaled = update.scaled(found)
            update(tape.gradient(scaled, variables))
            return found

        self._train = compiler.compile(train)
        self._update = update
        self.differences += update.differences

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self._update.reset()

    def step(self) -> None:
        self._loss = self._train(self._batch)

    def loss(self) -> float:
        return float(self._loss)


class Inference(Prepared):
    """A Benchmark whose step is one forward pass."""

    def __init__(
        self, case: Case, workload: Workload, compiler: Eager, precision: Precision
    ) -> None:
        super().__init__(case, workload, compiler, precision)
        forward, model = self._family.forward, self._model

        def infer(batch: Tensors) -> Tensors:
            outputs: Tensors = forward(model, batch, training=False)
            return outputs

        self._infer = compiler.compile(infer)

    def step(self) -> None:
        self._outputs = self._infer(self._batch)

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: parameters.to_numpy(output) for name, output in self._outputs.items()}


def place(array: np.ndarray, compiler: Eager, precision: Precision) -> tf.Tensor:
    """One input on the device: floats in the precision's type, images channels last."""
    with tf.device(compiler.placement):
        tensor = tf.identity(native(array))
        return tf.cast(tensor, precision.parameters) if tensor.dtype.is_floating else tensor


def family_of(workload: Workload) -> ModuleType:
    """The module with this model's `build`, `forward` and `loss`."""
    return importlib.import_module(TensorFlow().model_file(workload))


def native(array: np.ndarray) -> tf.Tensor:
    """(B, C, H, W) -> (B, H, W, C); what is no image stays as it is."""
    return tf.constant(array.transpose(0, 2, 3, 1) if array.ndim == 4 else array)
