"""TensorFlow 1 in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from mbench.sdk import tensors
from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import SAMPLE, check_effect, is_unbiased, require
from mbench.sdk.runtime import RuntimeBase
from mbench_tensorflow1.compiler import COMPILERS, Graph
from mbench_tensorflow1.optimizer import Update
from mbench_tensorflow1.parameters import Store
from mbench_tensorflow1.plugin import TensorFlow1

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native
    from mbench_tensorflow1.layers import Net

__all__ = ["Benchmark", "Runtime"]


class Benchmark(Prepared):
    """A case in TensorFlow 1: one graph, and the session that runs it.

    The session holds batches as its own persistent tensors (tf.get_session_handle). A step is fed
    the handles of its batch, short strings, and the graph uses the tensors without copying them.
    """

    updater = Update
    update: Update

    def __init__(self, *given: Any, **settings: Any) -> None:
        self.values: dict[str, tf.Tensor] = {}
        self.keep: dict[str, tf.Tensor] = {}
        self.holders: dict[str, tf.Tensor] = {}
        self.inputs: dict[str, tf.Tensor] = {}
        self.deleters: dict[str, tuple[tf.Tensor, tf.Operation]] = {}
        self.graph = tf.Graph()
        with self.graph.as_default():
            super().__init__(*given, **settings)

    def train_step(self) -> Callable[[Any], Any]:
        return self.in_graph(super().train_step)

    def infer_step(self) -> Callable[[Any], Any]:
        return self.in_graph(super().infer_step)

    def in_graph(self, prepare: Callable[[], Callable[[Any], Any]]) -> Callable[[Any], Any]:
        """What `prepare` returns. This completes the graph: nothing is added to it later."""
        with self.graph.as_default():
            step = prepare()
        self.graph.finalize()
        return step

    def build(self) -> Net:
        tf.set_random_seed(self.case.seed)
        graph = tf.get_default_graph()
        self.session = self.compiler.session(graph, self.case.threads)
        self.store = Store(self.session)
        net: Net = self.family.build(self.workload.config)
        net.dtype, net.training, net.store = self.precision.parameters, self.training, self.store
        return net

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[tf.Tensor, np.ndarray]:
        """The handles of the batch's inputs, by the placeholders that take them."""
        return dict(self.put(name, array) for name, array in batch.items())

    def put(self, name: str, array: np.ndarray) -> tuple[tf.Tensor, np.ndarray]:
        """Put an input into the session, images as channels last; returns holder and handle."""
        kind = self.precision.parameters if array.dtype.kind == "f" else array.dtype
        own = np.array(channels_last(array), kind, order="C")
        if name not in self.inputs:
            self.values[name] = tf.placeholder(own.dtype, own.shape)
            self.keep[name] = tf.get_session_handle(self.values[name])
        kept = self.session.run(self.keep[name], {self.values[name]: own})
        handle = kept.get_raw_handle()  # from now on, the tensor stays until it is deleted
        if name not in self.inputs:
            self.deleters[name] = tf.delete_session_tensor(handle)
            self.holders[name], tensor = tf.get_session_tensor(handle, own.dtype)
            tensor.set_shape(own.shape)
            self.inputs[name] = tensor
        return self.holders[name], np.array(handle, object)

    def renew(self, seeds: Mapping[int, int]) -> None:
        """Also deletes the replaced inputs, which the session would keep otherwise."""
        before = list(self.placed_batches)
        super().renew(seeds)
        names = {holder: name for name, holder in self.holders.items()}
        for batch in [one for at, one in enumerate(before) if one is not self.placed_batches[at]]:
            for holder, handle in batch.items():
                deleted, delete = self.deleters[names[holder]]
                self.session.run(delete, {deleted: handle.item()})

    def check(self) -> None:
        """Builds the model's graph. The outputs come from matrix products, so their type is that of
        the products.
        """
        self.outcomes = self.family.forward(self.model, self.inputs)
        found = {name: output.dtype.name for name, output in self.outcomes.items()}
        check_effect(self.precision, found, self.precision.products)
        found = {name: native.tensor.dtype.name for name, native in self.model.natives.items()}
        check_effect(self.precision, found, self.precision.parameters)
        if self.model.fuses:
            kept = "batch norm keeps biased variances here"
            require(is_unbiased(float(self.session.run(sample_variance()))), kept)

    def prepare_training(self) -> None:
        loss = self.family.loss(self.outcomes, self.inputs)
        update = self.update.minimize(loss, self.session)
        self.compute = self.runner((loss, tf.group(update, *self.model.updates)))

    def train(self, batch: Mapping[tf.Tensor, np.ndarray]) -> np.ndarray:
        loss, _ = self.compute(batch)
        return loss

    def prepare_inference(self) -> None:
        """Outputs stay in the session: a variable takes over the memory of assigned tensors."""
        self.kept = {
            name: tf.get_variable(
                f"kept/{name}", output.shape, output.dtype, tf.zeros_initializer(),
                trainable=False, use_resource=True,
            )
            for name, output in self.outcomes.items()
        }  # fmt: skip
        assigned = [
            self.kept[name].assign(output, read_value=False)
            for name, output in self.outcomes.items()
        ]
        self.compute = self.runner(tf.group(*assigned))

    def infer(  # type: ignore[override]  # outputs stay in the session
        self, batch: Mapping[tf.Tensor, np.ndarray]
    ) -> None:
        self.compute(batch)

    def runner(self, fetches: Any) -> Callable[[Mapping[tf.Tensor, np.ndarray]], Any]:
        """A function that runs `fetches`, given the handles of a batch."""
        if self.settings.get("run") != "callable":
            return lambda batch: self.session.run(fetches, batch)
        run = self.session.make_callable(fetches, list(self.holders.values()))
        return lambda batch: run(*batch.values())

    def outputs(self) -> dict[str, np.ndarray]:
        assert not self.training, "training keeps no outputs"
        found = self.session.run(self.kept)
        return {name: tensors.to_numpy(output) for name, output in found.items()}

    def natives(self) -> Mapping[str, Native]:
        return self.model.natives

    def loaded(self) -> None:
        self.store.flush()

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        return self.store.read(self.model.natives)

    def counted_flops(self) -> float | None:
        """FLOPs from TensorFlow's profiler, which also counts elementwise operations.

        None if there are loops, such as an LSTM's, whose body it counts only once.
        """
        with tf.Graph().as_default() as graph:
            _, outputs = traced(self.family, self.workload)
            names = [output.op.name for output in outputs.values()]
        # Auxiliary heads are not run, so they do not count.
        needed = tf.graph_util.extract_sub_graph(graph.as_graph_def(), names)
        if any(node.op in ("While", "Enter") for node in needed.node):
            return None
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(needed, name="")
        options = tf.profiler.ProfileOptionBuilder.float_operation()
        options["output"] = "none"
        return float(tf.profiler.profile(graph, options=options).total_float_ops)


class Runtime(RuntimeBase):
    """TensorFlow 1 on the CPU with a number of threads."""

    adapter = TensorFlow1()
    compilers = COMPILERS
    plain = Graph
    benchmark = Benchmark
    version = tf.version.VERSION
    distributions = ("tensorflow", "numpy", "protobuf")
    out_of_memory = (
        "out of memory", "resourceexhausted", "resource_exhausted", "oom when",
        "failed to allocate",
    )  # fmt: skip

    def set_up(self) -> None:
        tf.logging.set_verbosity(tf.logging.ERROR)  # deprecation warnings are not useful here
        self.expect_cuda(built=tf.test.is_built_with_cuda(), found=False)

    def details(self) -> dict[str, str]:
        return {"build": f"{tf.version.GIT_VERSION}; {tf.version.COMPILER_VERSION}"}

    def outline(self, workload: Workload) -> Mapping[str, Native]:
        """The model's tensors in a graph that never runs, where variables have no memory."""
        with tf.Graph().as_default():
            return traced(self.family(workload), workload)[0].natives


def traced(family: ModuleType, workload: Workload) -> tuple[Net, dict[str, tf.Tensor]]:
    """The model of a workload and its outputs, for one sample, in the default graph."""
    net: Net = family.build(workload.config)
    sample = {name: channels_last(a) for name, a in workload.batch(1, seed=0).items()}
    inputs = {name: tf.placeholder(array.dtype, array.shape) for name, array in sample.items()}
    return net, family.forward(net, inputs)


def sample_variance() -> tf.Tensor:
    """SAMPLE's variance, as the fused batch norm computes it for a running variance."""
    one, none = tf.ones([1]), tf.zeros([0])
    return tf.raw_ops.FusedBatchNormV3(
        x=tf.placeholder_with_default(channels_last(SAMPLE).astype(np.float32), (1, 2, 2, 1)),
        scale=one, offset=one, mean=none, variance=none, epsilon=1e-5, is_training=True,
    )[2]  # fmt: skip


def channels_last(array: np.ndarray) -> np.ndarray:
    """(B, C, H, W) -> (B, H, W, C); anything but images is left unchanged."""
    return array.transpose(0, 2, 3, 1) if array.ndim == 4 else array
