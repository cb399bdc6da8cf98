"""TensorFlow in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from mbench.contract.adapter import Unsupported
from mbench.sdk import tensors
from mbench.sdk.benchmark import GRADIENT, Prepared, direction_of
from mbench.sdk.checks import check_effect, require
from mbench.sdk.runtime import RuntimeBase
from mbench_tensorflow import parallel, parameters, precision, profiler
from mbench_tensorflow.compiler import COMPILERS, Eager, accumulated, in_turn
from mbench_tensorflow.layers import (
    FUSED_NORM,
    Convolution,
    built_when_called,
    checkpointed,
    grouped_gradient,
)
from mbench_tensorflow.optimizer import Update
from mbench_tensorflow.plugin import TensorFlow
from mbench_tensorflow.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import numpy as np

    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native

    Tensors = Mapping[str, tf.Tensor]

__all__ = ["Benchmark", "Runtime"]

UNTRIED = re.compile(r"No algorithm worked!\s*(Error messages:)?\s*(\[|$)")
"""No algorithm has a message; the text in brackets says where it happened."""


class Benchmark(Prepared):
    """A case in TensorFlow."""

    channels_last = True
    updater = Update
    update: Update
    precision_differences = staticmethod(precision.differences)
    to_numpy = staticmethod(parameters.to_numpy)

    def build(self) -> keras.Model:
        """The model's variables are created when it is first called."""
        keras.utils.set_random_seed(self.seed)
        model = built_when_called(self.family.build(self.workload.config))
        recurrent = [one for one in model._flatten_layers() if isinstance(one, keras.layers.LSTM)]
        if recurrent and not self.compiler.takes_cudnn_rnn:
            for layer in recurrent:
                layer.use_cudnn = False
            if self.case.device == "cuda":
                self.differences.append("LSTMs are a loop: XLA cannot compile cuDNN's kernel")
        return model

    def place(self, array: np.ndarray) -> tf.Tensor:
        """Images become channels last."""
        with tf.device(self.compiler.placement):
            tensor = tf.identity(channels_last(array))
            floating = tensor.dtype.is_floating
            return tf.cast(tensor, self.precision.parameters) if floating else tensor

    def check(self) -> None:
        """The outputs come from matrix products, so their type is that of the products, and they
        are on the CPU if that is where TensorFlow has its kernels.
        """
        outputs = self.family.forward(self.model, self.sample(), training=False)
        found = {name: output.dtype.name for name, output in outputs.items()}
        check_effect(self.precision, found, self.precision.products)
        for name, output in outputs.items():
            elsewhere = f"TensorFlow computes {name} in {self.precision.name} on the CPU"
            require(output.device.endswith(self.compiler.placement), elsewhere)
        found = {variable.path: variable.dtype for variable in self.model.weights}
        check_effect(self.precision, found, self.precision.parameters)
        if self.training:
            self.check_groups()
        self.statistics = Statistics(self.model)
        self.differences += [
            *self.statistics.differences,
            *getattr(self.model, "differences", ()),
        ]
        if self.settings.get("layers") == "keras":
            self.differences = [said for said in self.differences if FUSED_NORM not in said]

    def check_groups(self) -> None:
        """Raises Unsupported if TensorFlow lacks gradients that the model needs."""
        convolutions = [one for one in self.model._flatten_layers() if isinstance(one, Convolution)]
        kind = self.precision.products
        if kind == "float64" or all(one.groups == 1 or one.depthwise for one in convolutions):
            return
        try:
            with tf.device(self.compiler.placement):
                self.compiler.compile(grouped_gradient)(kind)
        except tf.errors.InvalidArgumentError as error:
            raise Unsupported(
                f"TensorFlow has no gradients of grouped convolutions in {kind} on this CPU: try "
                "xla, or set TF_ENABLE_ONEDNN_OPTS=1"
            ) from error

    def prepare_training(self) -> None:
        forward, loss = self.family.forward, self.family.loss
        model, update = self.model, self.update
        variables = [parameter.value for parameter in update.parameters.values()]
        if self.case.checkpoint:  # the model has its variables by now
            for layer in self.family.layers(model):
                checkpointed(layer)
            self.differences.append("layers are tf.recompute_grad's")
        parts = self.case.accumulate

        def backward(batch: Tensors) -> tuple[tf.Tensor, list[tf.Tensor]]:
            with tf.GradientTape() as tape:
                found = loss(precision.widened(forward(model, batch, training=True)), batch)
                found = found if parts == 1 else found / parts
                scaled = update.scaled(found)
            # Dense: embedding rows that no sample touched have moments and decay too.
            gradients = [tf.convert_to_tensor(g) for g in tape.gradient(scaled, variables)]
            if self.case.checkpoint:
                # TensorFlow's dependency optimizer drops the order of some updates and of reads by
                # layers that are computed again, which then use parameters of the next step.
                with tf.control_dependencies(gradients):
                    gradients = [tf.identity(gradient) for gradient in gradients]
            return found, gradients

        if self.among.ranks == 1:
            passes = backward if parts == 1 else accumulated(backward, self.case)
            self.compute = self.compiler.compile(in_turn(passes, update))
        else:
            self.compute = self.compiler.among_others(backward, parallel.averaged, update)
            self.differences += parallel.differences(self.case.device, self.compiler)

    def train(self, batch: Tensors) -> tf.Tensor:
        self.statistics.advance()
        return self.compute(batch)

    def prepare_update(self) -> None:
        def apply(gradients: Tensors) -> None:
            self.update([gradients[name] for name in self.update.parameters])

        self.compute = self.compiler.compile(apply)

    def apply(self, gradients: Tensors) -> None:
        self.compute(gradients)

    def prepare_gradients(self) -> None:
        forward, model, inputs = self.family.forward, self.model, self.differentiable
        trained = tensors.trainable(self.natives())

        def differentiate(batch: Tensors) -> Tensors:
            leaves = {name: batch[name] for name in inputs}
            with tf.GradientTape() as tape:
                tape.watch(list(leaves.values()))
                outputs = forward(model, batch, training=True)
            leaves.update((name, parameter.value) for name, parameter in trained.items())
            along = [
                tf.cast(batch[direction_of(name)], found.dtype) for name, found in outputs.items()
            ]
            found = tape.gradient(list(outputs.values()), list(leaves.values()), along)
            # Dense: also for embedding rows that no token chose.
            gradients = {
                GRADIENT + n: tf.convert_to_tensor(g) for n, g in zip(leaves, found, strict=True)
            }
            return {**outputs, **gradients}

        self.compute = self.compiler.compile(differentiate)

    def differentiate(self, batch: Tensors) -> Tensors:
        self.statistics.advance()
        return self.compute(batch)

    def prepare_phase(self, *, backward: bool) -> None:
        forward, loss, model = self.family.forward, self.family.loss, self.model
        leaves = {name: one.value for name, one in tensors.trainable(self.natives()).items()}

        def run(batch: Tensors) -> Tensors:
            with tf.GradientTape() as tape:
                found = loss(precision.widened(forward(model, batch, training=True)), batch)
            if not backward:
                return {"loss": found}
            gradients = tape.gradient(found, leaves)
            return {"loss": found, **{n: tf.convert_to_tensor(g) for n, g in gradients.items()}}

        self.compute = self.compiler.compile(run)

    def run_phase(self, batch: Tensors) -> Tensors:
        self.statistics.advance()
        return self.compute(batch)

    def prepare_inference(self) -> None:
        forward, model = self.family.forward, self.model

        def infer(batch: Tensors) -> Tensors:
            outputs: Tensors = forward(model, batch, training=False)
            return outputs

        self.forward = self.compiler.compile(infer)

    def infer(self, batch: Tensors) -> Tensors:
        return self.forward(batch)

    def prepare_prefill(self) -> None:
        family, model = self.family, self.model

        def fill(cache: Any, tokens: tf.Tensor) -> tf.Tensor:
            return family.prefill(model, cache, tokens)

        self.fill_cache = self.compiler.compile(fill)
        self.cache = self.room()
        self.differences.append("the cache of keys and values is made of variables, beforehand")

    def room(self) -> Any:
        with tf.device(self.compiler.placement):
            return self.family.room(self.model, self.case.batch_size, self.precision.products)

    def prefill(self, batch: Tensors) -> Tensors:
        return {"logits": self.fill_cache(self.cache, batch["input_ids"])}

    def prepare_decode(self) -> None:
        self.prepare_prefill()
        family, model = self.family, self.model

        def advance(cache: Any, token: tf.Tensor, position: tf.Tensor) -> tf.Tensor:
            return family.advance(model, cache, token, position)

        self.advance = self.compiler.compile(advance)
        self.differences.append(
            "the cache is static: a token's keys and values are scattered into it, and attention "
            "masks what is empty"
        )
        places = range(self.decoder.prompt_length, self.decoder.sequence_length)
        with tf.device(self.compiler.placement):
            self.positions = [tf.constant(at, tf.int32) for at in places]
            self.tokens = [
                [tf.identity(batch["input_ids"][:, at : at + 1]) for at in places]
                for batch in self.placed_batches
            ]

    def fill(self, batch: Tensors) -> Any:
        cache = self.room()
        self.fill_cache(cache, batch["input_ids"][:, : self.decoder.prompt_length])
        return cache

    def decode(self, batch: Tensors) -> Mapping[str, list[tf.Tensor]]:
        cache = self.caches[self.at]
        steps = zip(self.tokens[self.at], self.positions, strict=True)
        return {"logits": [self.advance(cache, token, position) for token, position in steps]}

    def natives(self) -> dict[str, Native]:
        return self.statistics.natives()

    def loaded(self) -> None:
        self.statistics.begin()

    def counted_flops(self) -> float | None:
        """FLOPs from TensorFlow's profiler, which also counts elementwise operations.

        None if there are loops, such as an LSTM's, whose body it counts only once.
        """
        forward = tf.function(self.family.forward, autograph=False)
        graph = forward.get_concrete_function(self.model, self.sample(), training=False).graph
        if any("While" in operation.type for operation in graph.get_operations()):
            return None
        options = tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
        options["output"] = "none"
        return float(tf.compat.v1.profiler.profile(graph, options=options).total_float_ops)


class Runtime(RuntimeBase):
    """TensorFlow on one device with a number of threads."""

    adapter = TensorFlow()
    compilers = COMPILERS
    plain = Eager
    benchmark = Benchmark
    version = tf.version.VERSION
    distributions = ("tensorflow", "tensorflow-cpu", "keras", "numpy")
    out_of_memory = (
        "out of memory", "resourceexhausted", "resource_exhausted", "oom when",
        "failed to allocate",
    )  # fmt: skip
    set_precision = staticmethod(precision.set_flags)
    threads_used = staticmethod(tf.config.threading.get_intra_op_parallelism_threads)

    def set_up(self) -> None:
        self._gpus = tf.config.list_physical_devices("GPU")
        self.expect_cuda(built=tf.test.is_built_with_cuda(), found=bool(self._gpus))
        on_cuda = self.device == "cuda"
        tf.config.set_visible_devices(self._gpus[:1] if on_cuda else [], "GPU")
        if on_cuda and self.device_memory_bytes:
            limit = tf.config.LogicalDeviceConfiguration(self.device_memory_bytes // 2**20)
            tf.config.set_logical_device_configuration(self._gpus[0], [limit])
        # Kernels run in the first pool, and the second dispatches them. With a single thread in the
        # second, operations would wait for one another. By default, both have as many threads as
        # there are cores.
        tf.config.threading.set_intra_op_parallelism_threads(self.threads)
        tf.config.threading.set_inter_op_parallelism_threads(self.threads)
        used = keras.config.backend()
        require(used == "tensorflow", f"Keras computes by {used}: unset KERAS_BACKEND")
        # Overrides the user's keras.json.
        keras.config.set_floatx("float32")
        keras.config.set_image_data_format("channels_last")
        if self.place.ranks > 1:
            parallel.join(self.place, self.device)

    def details(self) -> dict[str, str]:
        found = {
            "build": f"{tf.version.GIT_VERSION}; {tf.version.COMPILER_VERSION}",
            "oneDNN": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "by default"),
        }
        if self.device == "cuda":
            build = tf.sysconfig.get_build_info()
            found["cuda"] = str(build.get("cuda_version"))
            found["cudnn"] = str(build.get("cudnn_version"))
        if self.place.ranks > 1:
            found["collectives"] = parallel.ALL_REDUCE[self.device].lower()
        return found

    def is_out_of_memory(self, error: Exception) -> bool:
        """Also true if none of cuDNN's algorithms worked and none has a message: those whose
        scratch space did not fit were not even tried.
        """
        return super().is_out_of_memory(error) or bool(UNTRIED.search(str(error)))

    def prepare(self, work: Work) -> Prepared:
        keras.utils.clear_session()  # frees the previous case's model, which has reference cycles
        return super().prepare(work)

    def outline(self, workload: Workload) -> dict[str, Native]:
        """The model's tensors in a graph that never runs, where variables have no memory."""
        family = self.family(workload)
        with tf.Graph().as_default():
            model = built_when_called(family.build(workload.config))
            sample = {name: channels_last(a) for name, a in workload.batch(1, seed=0).items()}
            family.forward(model, sample, training=False)
            return parameters.named(model)

    def profiled(self, folder: str) -> AbstractContextManager[None]:
        return profiler.profiled(folder)

    def uploader(self, compiler: Eager) -> Callable[[np.ndarray], tf.Tensor]:
        def upload(array: np.ndarray) -> tf.Tensor:
            with tf.device(compiler.placement):
                return tf.constant(array)

        return upload

    def downloader(self, compiler: Eager) -> Callable[[tf.Tensor], np.ndarray]:
        return lambda tensor: tensor.numpy()


def channels_last(array: np.ndarray) -> tf.Tensor:
    """(B, C, H, W) -> (B, H, W, C); anything but images is left unchanged."""
    return tf.constant(array.transpose(0, 2, 3, 1) if array.ndim == 4 else array)
