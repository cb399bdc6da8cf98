"""The model's tensors by canonical name; PyTorch's names and layouts are canonical."""

from __future__ import annotations

import numpy as np
from mxnet import gluon, nd

from mbench.sdk.tensors import Native
from mbench_mxnet.layers import Projection, blocks_of

__all__ = ["Tensor", "named", "to_numpy"]

LEAVES = {"gamma": "weight", "beta": "bias"}
"""PyTorch's names for parameters that Gluon names differently, by Gluon's names."""


class Tensor(Native):
    """One of Gluon's parameters; it has no memory until the model is initialized."""

    def assign(self, array: np.ndarray) -> None:
        # Not directly from NumPy: oneDNN may have given the parameter a layout of its own.
        self.tensor.set_data(nd.array(array, dtype=self.tensor.dtype))

    def fetch(self) -> np.ndarray:
        return to_numpy(self.tensor.data())


def named(model: gluon.HybridBlock) -> dict[str, Native]:
    """All parameters and running statistics by canonical name.

    Blocks are named as in PyTorch, so the name under which Gluon saves a parameter is canonical
    except for its leaf. A tied parameter appears once, under its first name: BERT's decoder appears
    as the word embedding.
    """
    turned = {projection.weight for projection in blocks_of(model, Projection)}
    found: dict[gluon.Parameter, str] = {}
    for saved_as, parameter in model._collect_params_with_prefix().items():
        at, dot, leaf = saved_as.rpartition(".")
        found.setdefault(parameter, f"{at}{dot}{LEAVES.get(leaf, leaf)}")
    return {
        name: Tensor(p, p.grad_req != "null", (1, 0) if p in turned else ())
        for p, name in found.items()
        if not isinstance(p, gluon.Constant)
    }


def to_numpy(tensor: nd.NDArray) -> np.ndarray:
    """A copy in float32, or in float64 if `tensor` is float64."""
    if np.dtype(tensor.dtype).itemsize < 4:
        tensor = nd.amp_cast(tensor, dtype="float32")
    array: np.ndarray = tensor.asnumpy()
    return array
