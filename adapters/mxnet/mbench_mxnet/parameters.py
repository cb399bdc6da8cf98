"""Canonical tensors to and from the model's own; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from mxnet import nd

from mbench_mxnet.layers import BatchNorm, Projection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mxnet import gluon

__all__ = [
    "ExactStatistics",
    "Statistics",
    "load",
    "named",
    "read",
    "shapes",
    "to_numpy",
    "trainable",
]

LEAVES = {"gamma": "weight", "beta": "bias"}
"""Gluon's names of parameters that have another one in PyTorch."""


def trainable(model: gluon.HybridBlock) -> dict[str, gluon.Parameter]:
    """Parameters that the optimizer updates, by canonical name."""
    return {name: p for name, p in named(model).items() if p.grad_req != "null"}


def named(model: gluon.HybridBlock) -> dict[str, gluon.Parameter]:
    """All parameters and running statistics by canonical name.

    Blocks are named as in PyTorch, so the name by which Gluon saves a parameter is canonical but
    for its leaf. A tied one appears once, under its first name: BERT's decoder is the word
    embedding.
    """
    found: dict[str, gluon.Parameter] = {}
    for saved_as, parameter in model._collect_params_with_prefix().items():
        at, _, leaf = saved_as.rpartition(".")
        if parameter not in found.values():
            found[f"{at}.{LEAVES.get(leaf, leaf)}"] = parameter
    return found


def turned(model: gluon.HybridBlock) -> set[gluon.Parameter]:
    """Weights whose canonical layout is (in, out), where Gluon's is (out, in)."""
    found = set()

    def note(block: gluon.Block) -> None:
        if isinstance(block, Projection):
            found.add(block.weight)

    model.apply(note)
    return found


def shapes(model: gluon.HybridBlock) -> dict[str, tuple[int, ...]]:
    """Canonical shapes by canonical name; the model need not be initialized."""
    transposed = turned(model)
    return {
        name: parameter.shape[::-1] if parameter in transposed else parameter.shape
        for name, parameter in named(model).items()
    }


def load(
    model: gluon.HybridBlock, arrays: Iterable[tuple[str, np.ndarray]], statistics: Statistics
) -> None:
    """Copy `arrays` into the model; `statistics` start from there.

    Raises ValueError for a name that the model lacks or that comes twice, for a wrong shape,
    and for a tensor left out.
    """
    missing, expected, transposed = named(model), shapes(model), turned(model)
    statistics.reset()
    for name, array in arrays:
        parameter = missing.pop(name, None)
        if parameter is None:
            raise ValueError(f"the model has no {name}, or it came before")
        if expected[name] != array.shape:
            raise ValueError(f"{name} is {expected[name]} in the model, not {array.shape}")
        if parameter in transposed:
            array = array.T
        # Not from NumPy at once: oneDNN may have laid the parameter out its own way.
        parameter.set_data(nd.array(array, dtype=parameter.dtype))
        statistics.begin(parameter, array)
    if missing:
        raise ValueError(f"the model has {next(iter(missing))}, which was left out")


def read(model: gluon.HybridBlock, statistics: Statistics) -> Iterator[tuple[str, np.ndarray]]:
    """Copies of all tensors, one at a time; half precision widened to float32."""
    transposed = turned(model)
    for name, parameter in named(model).items():
        array = statistics.canonical(parameter, to_numpy(parameter.data()))
        yield name, array.T if parameter in transposed else array


def to_numpy(tensor: nd.NDArray) -> np.ndarray:
    """A copy in float32, or in float64 where `tensor` is."""
    if np.dtype(tensor.dtype).itemsize < 4:
        tensor = nd.amp_cast(tensor, dtype="float32")
    array: np.ndarray = tensor.asnumpy()
    return array


class Statistics:
    """Batch norm's running variance, which MXNet averages without the factor n / (n - 1).

    After k steps from `start` it is momentum**k * start and a rest that lacks this factor.
    """

    def __init__(
        self, model: gluon.HybridBlock, forward: Callable[[], object], batch_size: int
    ) -> None:
        """`forward` runs the model on one sample, for the sizes of the layers' inputs."""
        self._rules: dict[gluon.Parameter, tuple[float, float]] = {}
        self._start: dict[gluon.Parameter, np.ndarray] = {}
        self._steps = 0
        hooks = []

        def note(norm: BatchNorm, inputs: tuple[nd.NDArray], output: nd.NDArray) -> None:
            count = batch_size * inputs[0].size // inputs[0].shape[1]
            self._rules[norm.running_mean] = norm.momentum, 1.0
            self._rules[norm.running_var] = norm.momentum, count / (count - 1)

        def attach(block: gluon.Block) -> None:
            if isinstance(block, BatchNorm):
                hooks.append(block.register_forward_hook(note))

        model.apply(attach)
        forward()
        for hook in hooks:
            hook.detach()

    def differences(self) -> list[str]:
        """What a reader should know of this conversion."""
        if not self._rules:
            return []
        return ["running variances are kept biased, and unbiased where they are read"]

    def reset(self) -> None:
        self._start.clear()
        self._steps = 0

    def begin(self, parameter: gluon.Parameter, array: np.ndarray) -> None:
        """Note the value from which a statistic starts; other parameters may come too."""
        if parameter in self._rules:
            self._start[parameter] = array.astype(np.float64)

    def advance(self) -> None:
        """Count a training step."""
        self._steps += 1

    def canonical(self, parameter: gluon.Parameter, native: np.ndarray) -> np.ndarray:
        """`native` as PyTorch would have it; other parameters as they are."""
        if parameter not in self._start:
            return native
        momentum, factor = self._rules[parameter]
        kept = momentum**self._steps * self._start[parameter]
        canonical: np.ndarray = kept + factor * (native - kept)
        return canonical.astype(native.dtype)


class ExactStatistics(Statistics):
    """In float64, where native statistics are those of the last batch: see `layers.BatchNorm`."""

    def __init__(
        self, model: gluon.HybridBlock, forward: Callable[[], object], batch_size: int
    ) -> None:
        super().__init__(model, forward, batch_size)
        self._averages: dict[gluon.Parameter, nd.NDArray] = {}

    def differences(self) -> list[str]:
        if not self._rules:
            return []
        return ["in fp64 running statistics are averaged beside the kernel, whose momentum is fp32"]

    def begin(self, parameter: gluon.Parameter, array: np.ndarray) -> None:
        if parameter in self._rules:
            self._averages[parameter] = parameter.data().copy()

    def advance(self) -> None:
        """Enqueue a training step's update."""
        for parameter, average in self._averages.items():
            momentum, factor = self._rules[parameter]
            average *= momentum
            average += (1 - momentum) * factor * parameter.data()

    def canonical(self, parameter: gluon.Parameter, native: np.ndarray) -> np.ndarray:
        average = self._averages.get(parameter)
        return native if average is None else to_numpy(average)
