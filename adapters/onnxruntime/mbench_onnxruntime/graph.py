"""An ONNX graph under construction: nodes, inputs, weights and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from mbench.sdk.networks.graph import Graph
from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CONTRIBUTED", "OnnxGraph", "Value"]

OPSET, IR_VERSION = 20, 10
"""Versions of the operator set, and of the format that belongs to it."""
LATER, LATER_IR = 23, 11
"""Versions for graphs that have one of the operators in OF_LATER."""
OF_LATER = {"RMSNormalization", "Attention"}
CONTRIBUTED = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""
TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64,
         "int32": TensorProto.INT32, "int8": TensorProto.INT8}  # fmt: skip
MOST_INSIDE = 2**30
"""The most bytes of weights that a graph contains itself: its format holds at most 2 GB."""


@dataclass(frozen=True)
class Value:
    """What an edge of the graph carries."""

    name: str
    shape: tuple[int, ...]


class OnnxGraph(Graph[Value]):
    """`kind` is the type of weights, of inputs that are not integers, and of results."""

    def __init__(
        self, config: Any, batch: Mapping[str, np.ndarray], *, kind: str = "float32"
    ) -> None:
        super().__init__(config)
        self.kind = kind
        self.batch: dict[str, Value] = {}
        self.types: dict[str, int] = {}
        for name, array in batch.items():
            self.input(name, array.shape, kind if array.dtype.kind == "f" else "int64")
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}

    def input(self, name: str, shape: Sequence[int], kind: str) -> Value:
        self.types[name] = TYPES[kind]
        self.batch[name] = Value(name, tuple(shape))
        return self.batch[name]

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs that a node uses; labels are not among them."""
        taken = {name for node in self.nodes for name in node.input}
        return [name for name in self.batch if name in taken]

    def add(
        self, kind: str, *inputs: Value, shape: Sequence[int] | None = None, **settings: Any
    ) -> Value:
        """Add a node; returns its output, of that shape or else of its first input's."""
        found = Value(f"{kind}_{len(self.nodes)}", tuple(shape or inputs[0].shape))
        names = [value.name for value in inputs]
        self.nodes.append(helper.make_node(kind, names, [found.name], **settings))
        return found

    def give(self, outputs: Mapping[str, Value]) -> None:
        """Name the outputs of the graph."""
        for name, value in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value.name], [name]))
            self.outputs[name] = Value(name, value.shape)

    def values(self) -> dict[str, np.ndarray]:
        """Values of weights, as the graph names them."""
        return {name: native.tensor for name, native in self.natives.items()}

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """Weights outside the graph: all if they exceed MOST_INSIDE, else none."""
        found = self.values()
        return found if sum(array.nbytes for array in found.values()) > MOST_INSIDE else {}

    def graph(self) -> bytes:
        """The whole model, with the current weights, except those kept outside."""
        outside = self.weights
        inside = self.values() | self.constants
        graph = helper.make_graph(
            self.nodes,
            "mbench",
            [described(self.batch[name], self.types[name]) for name in self.inputs],
            [described(value, TYPES[self.kind]) for value in self.outputs.values()],
            [
                numpy_helper.from_array(array, name)
                for name, array in inside.items()
                if name not in outside
            ]
            + [beside(name, array) for name, array in outside.items()],
        )
        later = any(node.op_type in OF_LATER for node in self.nodes)
        opset, version = (LATER, LATER_IR) if later else (OPSET, IR_VERSION)
        sets = [helper.make_opsetid("", opset), helper.make_opsetid(CONTRIBUTED, 1)]
        model = helper.make_model(graph, opset_imports=sets, ir_version=version)
        return bytes(model.SerializeToString())

    def allocate(self) -> None:
        self.natives = {
            name: Native(np.zeros(native.tensor.shape, self.kind), native.trainable, native.axes)
            for name, native in self.natives.items()
        }

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> Value:
        self.named(name, shape, axes, trainable=trainable)
        return Value(name, tuple(shape))

    def constant(self, array: Any) -> Value:
        """Floats get the type of weights, all else becomes int64, as indices."""
        name = f"constant_{len(self.constants)}"
        array = np.asarray(array)
        self.constants[name] = array.astype(self.kind if array.dtype.kind == "f" else "int64")
        return Value(name, self.constants[name].shape)


def beside(name: str, array: np.ndarray) -> Any:
    """A tensor whose values are passed to the session, outside the graph."""
    found = TensorProto(name=name, data_type=TYPES[array.dtype.name], dims=array.shape)
    found.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "memory"), ("offset", "0"), ("length", str(array.nbytes))):
        found.external_data.add(key=key, value=value)
    return found


def described(value: Value, kind: int) -> Any:
    shape = [length if length >= 0 else None for length in value.shape]
    return helper.make_tensor_value_info(value.name, kind, shape)
