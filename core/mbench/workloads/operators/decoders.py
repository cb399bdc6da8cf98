"""Operators of today's language models: root mean square norm, rotation by positions, attention
in which heads share keys and values, and the gate of a SwiGLU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mbench.contract.workload import Tensor
from mbench.workloads.operators.norms import softmax
from mbench.workloads.operators.operator import Kind, Operand
from mbench.workloads.operators.pointwise import Pointwise
from mbench.workloads.operators.products import OF_SCORE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    Arrays = Mapping[str, np.ndarray]

__all__ = ["GroupedAttention", "RMSNorm", "Rotary", "SwiGLU"]


@dataclass(frozen=True, kw_only=True)
class RMSNorm(Kind):
    """Divides each row of x (rows, hidden) by the root of the mean of its squares (Zhang and
    Sennrich 2019).
    """

    kind: ClassVar[str] = "rms_norm"
    dims: ClassVar[tuple[str, ...]] = ("rows", "hidden")
    says: ClassVar[str] = "Norm by the root mean square"
    proof_sizes: ClassVar[Mapping[str, int]] = {"rows": 6, "hidden": 96}
    epsilon: ClassVar[float] = 1e-5
    rows: int
    hidden: int

    def inputs(self) -> list[Operand]:
        return [Operand("x", self.outputs())]

    def weights(self) -> list[Tensor]:
        return [Tensor("weight", (self.hidden,), 0.1, 1.0)]

    def outputs(self) -> tuple[int, ...]:
        return (self.rows, self.hidden)

    def normal(self, x: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """The normalized rows, and what each was divided by, (rows, 1)."""
        import numpy as np

        root = np.sqrt(np.square(x["x"]).mean(axis=-1, keepdims=True) + self.epsilon)
        return x["x"] / root, root

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return self.normal(x)[0] * x["weight"]

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        normal, root = self.normal(x)
        given = direction * x["weight"]
        along = (given * normal).mean(axis=-1, keepdims=True)
        return {"x": (given - normal * along) / root, "weight": (direction * normal).sum(axis=0)}


@dataclass(frozen=True, kw_only=True)
class Rotary(Kind):
    """Rotates heads x (b, l, heads * width) by their positions, counted from 0 (Su et al. 2021).
    Channels i and i + width/2 are a pair, as in transformers' Llama, turned by
    theta**(-2 i / width) per position.
    """

    kind: ClassVar[str] = "rotary"
    dims: ClassVar[tuple[str, ...]] = ("b", "l", "heads", "width")
    says: ClassVar[str] = "Rotation by positions"
    proof_sizes: ClassVar[Mapping[str, int]] = {"b": 2, "l": 12, "heads": 3}
    theta: ClassVar[float] = 1e4
    b: int
    l: int  # noqa: E741 (as in B, L, D)
    heads: int
    width: int

    def check(self) -> None:
        if self.width % 2:
            raise ValueError(
                f"a head of {self.width} channels cannot be split into pairs: use an even number"
            )

    def inputs(self) -> list[Operand]:
        return [Operand("x", self.outputs())]

    def outputs(self) -> tuple[int, ...]:
        return (self.b, self.l, self.heads * self.width)

    def rotations(self) -> tuple[np.ndarray, np.ndarray]:
        """Cosines and sines (l, width/2), float64, by position and pair."""
        import numpy as np

        half = self.width // 2
        angles = np.outer(np.arange(self.l), self.theta ** (-np.arange(half) / half))
        return np.cos(angles), np.sin(angles)

    def turned(self, x: np.ndarray, way: int) -> np.ndarray:
        import numpy as np

        heads = x.reshape(self.b, self.l, self.heads, self.width)
        one, other = np.split(heads, 2, axis=-1)
        cosines, sines = (table[:, None] for table in self.rotations())  # (l, 1, width/2)
        sines = way * sines
        turned = (one * cosines - other * sines, other * cosines + one * sines)
        return np.concatenate(turned, -1).reshape(x.shape)

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return self.turned(x["x"], 1)

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": self.turned(direction, -1)}


@dataclass(frozen=True, kw_only=True)
class GroupedAttention(Kind):
    """Attention of all `t` positions, each to itself and to those before it, or of only the last
    one if `l` is 1. The query is (b, l, heads * width), key and value are (b, t, shared * width).
    Each key and value head serves heads / shared consecutive query heads (Ainslie et al. 2023).
    """

    kind: ClassVar[str] = "grouped_attention"
    dims: ClassVar[tuple[str, ...]] = ("b", "l", "t", "heads", "shared", "width")
    says: ClassVar[str] = "Causal grouped-query attention"
    proof_sizes: ClassVar[Mapping[str, int]] = {"b": 2, "l": 12, "t": 12}
    b: int
    l: int  # noqa: E741 (as in B, L, D)
    t: int
    heads: int
    shared: int
    width: int

    def check(self) -> None:
        if self.heads % self.shared:
            raise ValueError(
                f"{self.heads} heads cannot share {self.shared} heads of keys and values evenly"
            )
        if self.l not in (1, self.t):
            raise ValueError(
                f"attention must cover all {self.t} positions or only the last one, not {self.l}"
            )

    def inputs(self) -> list[Operand]:
        kept = (self.b, self.t, self.shared * self.width)
        return [Operand("query", self.outputs()), Operand("key", kept), Operand("value", kept)]

    def outputs(self) -> tuple[int, ...]:
        return (self.b, self.l, self.heads * self.width)

    def macs(self) -> int:
        """Masked scores count too, since they are computed."""
        return 2 * self.b * self.heads * self.l * self.t * self.width

    def besides(self) -> int:
        return OF_SCORE * self.b * self.heads * self.l * self.t

    def seen(self) -> np.ndarray:
        """(l, t): which positions each one attends to."""
        import numpy as np

        return np.tri(self.l, self.t, self.t - self.l, dtype=bool)

    def grouped(self, x: np.ndarray) -> np.ndarray:
        """(b, shared, heads / shared, l, width); keys and values have 1 in place of the groups."""
        found = x.reshape(*x.shape[:2], self.shared, -1, self.width)
        return found.transpose(0, 2, 3, 1, 4)

    def flat(self, x: np.ndarray) -> np.ndarray:
        """The inverse of `grouped`: the operands' own shape."""
        found = x.transpose(0, 3, 1, 2, 4)
        return found.reshape(*found.shape[:2], -1)

    def chances(self, x: Arrays) -> np.ndarray:
        """The attention weights, (b, shared, heads / shared, l, t)."""
        import numpy as np

        query, key = self.grouped(x["query"]), self.grouped(x["key"])
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(self.width)
        return softmax(np.where(self.seen(), scores, -np.inf))

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return self.flat(self.chances(x) @ self.grouped(x["value"]))

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        chances, given = self.chances(x), self.grouped(direction)
        query, key, value = (self.grouped(x[name]) for name in ("query", "key", "value"))
        by_chances = given @ value.swapaxes(-1, -2)
        scores = chances * (by_chances - (by_chances * chances).sum(axis=-1, keepdims=True))
        scores = scores / math.sqrt(self.width)

        def of_group(found: np.ndarray) -> np.ndarray:
            return self.flat(found.sum(axis=2, keepdims=True))

        return {
            "query": self.flat(scores @ key),
            "key": of_group(scores.swapaxes(-1, -2) @ query),
            "value": of_group(chances.swapaxes(-1, -2) @ given),
        }


@dataclass(frozen=True, kw_only=True)
class SwiGLU(Pointwise):
    """Gates x (rows, features): the gate times its own sigmoid, times x (Shazeer 2020). The layers
    before and after it are linear.
    """

    kind: ClassVar[str] = "swiglu"
    says: ClassVar[str] = "Gate of a SwiGLU"

    def inputs(self) -> list[Operand]:
        return [Operand("gate", self.outputs()), Operand("x", self.outputs())]

    def open(self, x: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """The gate's sigmoid, and the gate times its sigmoid."""
        import numpy as np

        share = 1 / (1 + np.exp(-x["gate"]))
        return share, x["gate"] * share

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return self.open(x)[1] * x["x"]

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        share, opened = self.open(x)
        slope = share + opened * (1 - share)
        return {"gate": direction * x["x"] * slope, "x": direction * opened}
