"""JAX in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from mbench.contract.adapter import Unsupported
from mbench.sdk.benchmark import GRADIENT, Prepared, direction_of
from mbench.sdk.checks import check_effect
from mbench.sdk.runtime import RuntimeBase
from mbench_jax import precision, profiler
from mbench_jax.compiler import COMPILERS, Eager
from mbench_jax.layers import split
from mbench_jax.optimizer import Update
from mbench_jax.parameters import Tensor, local, to_numpy
from mbench_jax.plugin import Jax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from types import ModuleType

    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native
    from mbench_jax.layers import Net, Tensors

__all__ = ["Benchmark", "Runtime"]


class Benchmark(Prepared):
    """A case in JAX. `params` and `stats` are those after the last step."""

    channels_last = True
    updater = Update
    update: Update
    precision_differences = staticmethod(precision.differences)
    to_numpy = staticmethod(to_numpy)

    def build(self) -> Net:
        self.ranks = self.joined()
        self.key = self.shared(jax.random.key(self.case.seed))
        self.outlines = outlines(self.family, self.workload)
        self.params: dict[str, jax.Array] = {}
        self.stats: dict[str, jax.Array] = {}
        for name, native in self.outlines.items():
            zeros = np.zeros(native.tensor.shape, jnp.dtype(self.precision.parameters))
            if native.trainable:
                self.params[name] = self.shared(jnp.array(zeros))
            else:
                self.stats[name] = self.own(jnp.array(zeros))
        return self.family.build(self.workload.config)

    def joined(self) -> Any:
        """The processes that train together; None if this one is alone."""
        if self.among.ranks == 1 or not self.work.scenario.exchanges:
            return None
        from mbench_jax.parallel import WorkerGroup

        return WorkerGroup(self.among)

    def shared(self, tree: Any) -> Any:
        """Arrays that are the same on all ranks, as a step takes them."""
        return tree if self.ranks is None else self.ranks.shared(tree)

    def own(self, tree: Any) -> Any:
        """Arrays of which each rank has its own, as a step takes them."""
        return tree if self.ranks is None else self.ranks.own(tree)

    def sample(self) -> Tensors:
        scenario = self.work.scenario
        if scenario.exchanges and not scenario.separable:  # all ranks take part
            return self.batch
        batch = jax.tree.map(local, self.batch)
        return jax.tree.map(lambda array: array[:1], batch) if scenario.separable else batch

    def place(self, array: np.ndarray) -> jax.Array:
        """Images become channels last."""
        kind = self.precision.parameters if array.dtype.kind == "f" else None
        return self.own(jnp.array(channels_last(array), kind))

    def check(self) -> None:
        """The outputs come from matrix products, so their type is that of the products."""
        params, stats = jax.tree.map(local, (self.params, self.stats))
        outputs = jax.eval_shape(self.forward, params, stats, self.sample())
        found = {name: str(output.dtype) for name, output in outputs.items()}
        check_effect(self.precision, found, self.precision.products)
        found = {name: str(array.dtype) for name, array in (self.params | self.stats).items()}
        check_effect(self.precision, found, self.precision.parameters)
        self.differences += getattr(self.model, "differences", ())

    def forward(
        self, params: Tensors, stats: Tensors, batch: Tensors, *, counted: bool = False
    ) -> Tensors:
        products = self.precision.products
        net = replace(self.model, params=params, stats=stats, products=products, counted=counted)
        return self.family.forward(net, batch)

    def prepare_training(self) -> None:
        family, model, update = self.family, self.model, self.update
        products, ranks = self.precision.products, self.ranks
        checkpointed, parts = self.case.checkpoint, self.case.accumulate

        def backward(params: Tensors, stats: Tensors, key: Any, batch: Tensors) -> tuple[Any, ...]:
            """The loss, new statistics and gradients."""

            def objective(params: Tensors) -> tuple[Any, ...]:
                net = replace(model, params=params, stats=dict(stats), training=True,
                              keys=split(key), products=products,
                              checkpointed=checkpointed)  # fmt: skip
                outputs = family.forward(net, batch)
                return family.loss(precision.wide(outputs), batch), net.stats

            found: tuple[Any, ...] = jax.value_and_grad(objective, has_aux=True)(params)
            return found

        def accumulated(
            params: Tensors, stats: Tensors, key: Any, batch: Tensors
        ) -> tuple[Any, ...]:
            """Like `backward`, but the mean over micro-batches, one after the other."""

            def add(total: Any, one: tuple[Tensors, Any]) -> tuple[Any, None]:
                (loss, _), gradients = backward(params, stats, one[1], one[0])
                return jax.tree.map(jnp.add, total, (loss, gradients)), None

            micro = {n: a.reshape(parts, -1, *a.shape[1:]) for n, a in batch.items()}
            keys = jax.random.split(key, parts)
            shapes = jax.eval_shape(backward, params, stats, key, batch)
            nothing = jax.tree.map(
                lambda one: jnp.zeros(one.shape, one.dtype), (shapes[0][0], shapes[1])
            )
            total, _ = jax.lax.scan(add, nothing, (micro, keys))
            loss, gradients = jax.tree.map(lambda one: one / parts, total)
            return (loss, stats), gradients

        passes = backward if parts == 1 else accumulated

        def compute(state: tuple[Any, ...], batch: Tensors) -> tuple[Any, ...]:
            params, stats, moments, key = state
            key, own = jax.random.split(key)
            if ranks is not None:
                own = ranks.differing(own)

            (loss, stats), gradients = passes(params, stats, own, batch)
            if ranks is not None:
                gradients = ranks.mean(gradients)
            params, moments = update(gradients, moments, params)
            return (params, stats, moments, key), loss

        if ranks is not None:
            compute = ranks.step(compute)
            self.differences += ranks.differences
        if checkpointed:
            self.differences.append("layers are jax.checkpoint's")
        if parts > 1:
            self.differences.append("micro-batches are a lax.scan within the compiled step")
        donated = self.settings.get("buffers") == "donated"
        self.compute = self.compiler.compile(compute, donate=(0,) if donated else ())

    def train(self, batch: Mapping[str, jax.Array]) -> jax.Array:
        state = self.params, self.stats, self.update.state, self.key
        (self.params, self.stats, self.update.state, self.key), loss = self.compute(state, batch)
        return loss

    def prepare_update(self) -> None:
        update = self.update

        def compute(state: tuple[Any, ...], gradients: Tensors) -> tuple[Any, ...]:
            params, moments = state
            return update(gradients, moments, params)

        donated = self.settings.get("buffers") == "donated"
        self.compute = self.compiler.compile(compute, donate=(0,) if donated else ())

    def apply(self, gradients: Mapping[str, jax.Array]) -> None:
        state = self.params, self.update.state
        self.params, self.update.state = self.compute(state, gradients)

    def prepare_gradients(self) -> None:
        family, model, inputs = self.family, self.model, self.differentiable
        products = self.precision.products

        def compute(params: Tensors, stats: Tensors, batch: Tensors) -> tuple[Any, ...]:
            def outputs(leaves: Tensors) -> tuple[Any, ...]:
                net = replace(model, params=leaves, stats=dict(stats), training=True,
                              products=products)  # fmt: skip
                return family.forward(net, batch | leaves), net.stats

            leaves = params | {name: batch[name] for name in inputs}
            found, pull, new = jax.vjp(outputs, leaves, has_aux=True)
            along = {
                name: batch[direction_of(name)].astype(output.dtype)
                for name, output in found.items()
            }
            (gradients,) = pull(along)
            return found | {GRADIENT + name: array for name, array in gradients.items()}, new

        self.compute = self.compiler.compile(compute)

    def differentiate(self, batch: Mapping[str, jax.Array]) -> Tensors:
        found, self.stats = self.compute(self.params, self.stats, batch)
        return found

    def prepare_phase(self, *, backward: bool) -> None:
        family, model = self.family, self.model
        products = self.precision.products

        def compute(params: Tensors, stats: Tensors, key: Any, batch: Tensors) -> tuple[Any, ...]:
            key, own = jax.random.split(key)

            def objective(params: Tensors) -> tuple[Any, ...]:
                net = replace(model, params=params, stats=dict(stats), training=True,
                              keys=split(own), products=products)  # fmt: skip
                return family.loss(precision.wide(family.forward(net, batch)), batch), net.stats

            if not backward:
                loss, new = objective(params)
                return {"loss": loss}, new, key
            (loss, new), gradients = jax.value_and_grad(objective, has_aux=True)(params)
            return {"loss": loss, **gradients}, new, key

        self.compute = self.compiler.compile(compute)

    def run_phase(self, batch: Mapping[str, jax.Array]) -> Tensors:
        found, self.stats, self.key = self.compute(self.params, self.stats, self.key, batch)
        return found

    def prepare_inference(self) -> None:
        self.compute = self.compiler.compile(self.forward)

    def infer(self, batch: Mapping[str, jax.Array]) -> Tensors:
        return self.compute(self.params, self.stats, batch)

    def prepare_prefill(self) -> None:
        def compute(params: Tensors, tokens: jax.Array) -> tuple[jax.Array, Any]:
            net = replace(self.model, params=params, products=self.precision.products)
            return self.family.prefill(net, tokens)

        self.fill_cache = self.compiler.compile(compute)

    def prefill(self, batch: Mapping[str, jax.Array]) -> Tensors:
        logits, self.caches = self.fill_cache(self.params, batch["input_ids"])
        return {"logits": logits}

    def prepare_decode(self) -> None:
        self.prepare_prefill()

        def compute(
            params: Tensors, cache: Any, token: jax.Array, position: jax.Array
        ) -> tuple[jax.Array, Any]:
            net = replace(self.model, params=params, products=self.precision.products)
            return self.family.advance(net, cache, token, position)

        self.advance = self.compiler.compile(compute, donate=(1,))
        self.differences.append(
            "the cache of keys and values is static and donated: dynamic_update_slice writes a "
            "token's, and attention masks what is empty"
        )
        config = self.decoder
        places = range(config.prompt_length, config.sequence_length)
        self.positions = [jnp.array(at, jnp.int32) for at in places]
        self.tokens = [
            [batch["input_ids"][:, at : at + 1] for at in places] for batch in self.placed_batches
        ]

    def fill(self, batch: Mapping[str, jax.Array]) -> Any:
        prompt = batch["input_ids"][:, : self.decoder.prompt_length]
        return self.fill_cache(self.params, prompt)[1]

    def decode(self, batch: Mapping[str, jax.Array]) -> Mapping[str, list[jax.Array]]:
        cache, found = self.caches[self.at], []
        for token, position in zip(self.tokens[self.at], self.positions, strict=True):
            logits, cache = self.advance(self.params, cache, token, position)
            found.append(logits)
        self.caches[self.at] = cache
        return {"logits": found}

    def natives(self) -> dict[str, Native]:
        found: dict[str, Native] = {}
        for name, native in self.outlines.items():
            place = self.params if native.trainable else self.stats
            put = self.shared if native.trainable else self.own
            tensor = local(place[name])
            found[name] = Tensor(tensor, native.trainable, native.axes, place, name, put)
        return found

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        if self.ranks is not None and self.updates:
            self.update.state = self.shared(self.update.state)

    def counted_flops(self) -> float | None:
        """FLOPs from XLA's analysis for the CPU, which also counts elementwise operations. The CUDA
        plugin cannot analyse what is not compiled.

        None if there are loops, such as an LSTM's, whose body it counts only once, or if the user's
        JAX_PLATFORMS excludes the CPU.
        """
        try:
            cpu, *_ = jax.local_devices(backend="cpu")
        except RuntimeError:
            return None
        whole = jax.tree.map(local, (self.params, self.stats, self.sample()))
        shapes = jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype), whole)
        with jax.default_device(cpu):
            counted = jax.jit(self.forward, static_argnames="counted").lower(*shapes, counted=True)
        if "stablehlo.while" in counted.as_text():
            return None
        costs = counted.cost_analysis()
        return None if costs is None else float(costs.get("flops", 0.0))  # there may be none


class Runtime(RuntimeBase):
    """JAX on one device with a number of threads."""

    adapter = Jax()
    compilers = COMPILERS
    plain = Eager
    benchmark = Benchmark
    version = jax.__version__
    distributions = ("jaxlib", "optax", "numpy")
    out_of_memory = ("out of memory", "resource_exhausted", "failed to allocate")
    set_precision = staticmethod(precision.set_flags)

    def set_up(self) -> None:
        if share := self.memory_share():  # read when the backend is created
            os.environ.setdefault("XLA_CLIENT_MEM_FRACTION", f"{share:.4f}")
        if self.place.ranks > 1:
            from mbench_jax import parallel

            parallel.join(self.place, self.device)
        self.expect_cuda(built=True, found=jax.default_backend() == "gpu")
        # A first step must not use a compilation cache that the user's variables name.
        jax.config.update("jax_enable_compilation_cache", False)

    def details(self) -> dict[str, str]:
        found = {"build": str(jax.devices()[0].client.platform_version)}
        if self.place.ranks > 1:
            found["collectives"] = "nccl" if self.device == "cuda" else "gloo"
        return found

    def outline(self, workload: Workload) -> dict[str, Native]:
        return outlines(self.family(workload), workload)

    def profiled(self, folder: str) -> AbstractContextManager[None]:
        return profiler.profiled(folder)

    def uploader(self, compiler: Eager) -> Callable[[np.ndarray], jax.Array]:
        return compiler.waited_for(jnp.array)

    def downloader(self, compiler: Eager) -> Callable[[jax.Array], np.ndarray]:
        raise Unsupported("JAX copies an array to the host once, and keeps that copy beside it")


def outlines(family: ModuleType, workload: Workload) -> dict[str, Native]:
    """All parameters and running statistics by canonical name, from an abstract pass."""
    found: dict[str, Native] = {}
    if not workload.tensors():  # a collective cannot run without the other ranks
        return found
    model = family.build(workload.config)
    batch = {name: channels_last(array) for name, array in workload.batch(1, seed=0).items()}

    def build(batch: Tensors, key: jax.Array) -> Tensors:
        net = replace(model, training=True, keys=split(key), outlines=found)
        return family.forward(net, batch)

    jax.eval_shape(build, batch, jax.random.key(0))
    return found


def channels_last(array: np.ndarray) -> np.ndarray:
    """(B, C, H, W) -> (B, H, W, C); anything but images is left unchanged."""
    return array.transpose(0, 2, 3, 1) if array.ndim == 4 else array
