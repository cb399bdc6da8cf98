"""Operators on sequences: rows of a table, sums of such rows, and an LSTM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mbench.contract.workload import Tensor
from mbench.workloads.operators.operator import Kind, Operand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    Arrays = Mapping[str, np.ndarray]

__all__ = ["LSTM", "Embedding", "EmbeddingBag"]

GATES = 4


@dataclass(frozen=True, kw_only=True)
class Embedding(Kind):
    """Rows of a table (vocabulary, features), looked up by number (rows,)."""

    kind: ClassVar[str] = "embedding"
    dims: ClassVar[tuple[str, ...]] = ("rows", "vocabulary", "features")
    says: ClassVar[str] = "Rows of a table"
    proof_sizes: ClassVar[Mapping[str, int]] = {"rows": 24, "vocabulary": 40, "features": 48}
    rows: int
    vocabulary: int
    features: int

    def inputs(self) -> list[Operand]:
        return [Operand("tokens", (self.rows,), below=self.vocabulary)]

    def weights(self) -> list[Tensor]:
        return [Tensor("weight", (self.vocabulary, self.features), 1.0)]

    def outputs(self) -> tuple[int, ...]:
        return (self.rows, self.features)

    def untouched(self) -> int:
        return max(0, self.vocabulary - self.rows) * self.features

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["weight"][x["tokens"]]

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        found = np.zeros(x["weight"].shape)
        np.add.at(found, x["tokens"], direction)
        return {"weight": found}


@dataclass(frozen=True, kw_only=True)
class EmbeddingBag(Kind):
    """Sums of rows of a table (vocabulary, features), looked up by number (bags, of_bag), as for a
    recommender's feature.
    """

    kind: ClassVar[str] = "embedding_bag"
    dims: ClassVar[tuple[str, ...]] = ("bags", "of_bag", "vocabulary", "features")
    says: ClassVar[str] = "Sums of rows of a table"
    proof_sizes: ClassVar[Mapping[str, int]] = {
        "bags": 6, "of_bag": 4, "vocabulary": 40, "features": 48,
    }  # fmt: skip
    bags: int
    of_bag: int
    vocabulary: int
    features: int

    def inputs(self) -> list[Operand]:
        return [Operand("tokens", (self.bags, self.of_bag), below=self.vocabulary)]

    def weights(self) -> list[Tensor]:
        return [Tensor("weight", (self.vocabulary, self.features), 1.0)]

    def outputs(self) -> tuple[int, ...]:
        return (self.bags, self.features)

    def untouched(self) -> int:
        return max(0, self.vocabulary - self.bags * self.of_bag) * self.features

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["weight"][x["tokens"]].sum(axis=1)

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        found = np.zeros(x["weight"].shape)
        np.add.at(found, x["tokens"], direction[:, None])
        return {"weight": found}


@dataclass(frozen=True, kw_only=True)
class LSTM(Kind):
    """One layer over sequences (b, l, features), from zero states; it outputs all hidden states.

    Gates are in the order input, forget, cell, output.
    """

    kind: ClassVar[str] = "lstm"
    dims: ClassVar[tuple[str, ...]] = ("b", "l", "features", "hidden")
    says: ClassVar[str] = "LSTM of one layer"
    proof_sizes: ClassVar[Mapping[str, int]] = {"b": 3, "l": 5, "features": 24, "hidden": 32}
    b: int
    l: int  # noqa: E741 (as in B, L, D)
    features: int
    hidden: int

    def inputs(self) -> list[Operand]:
        return [Operand("x", (self.b, self.l, self.features))]

    def weights(self) -> list[Tensor]:
        rows = GATES * self.hidden
        return [
            Tensor("weight_ih_l0", (rows, self.features), math.sqrt(3 / self.features)),
            Tensor("weight_hh_l0", (rows, self.hidden), math.sqrt(3 / self.hidden)),
            Tensor("bias_ih_l0", (rows,), 0.1),
            Tensor("bias_hh_l0", (rows,), 0.1),
        ]

    def outputs(self) -> tuple[int, ...]:
        return (self.b, self.l, self.hidden)

    def macs(self) -> int:
        return self.b * self.l * GATES * self.hidden * (self.features + self.hidden)

    def steps(self, x: Arrays) -> Sequence[tuple[np.ndarray, ...]]:
        """(input, forget, cell, output gate, state, hidden) after each step."""
        import numpy as np

        found = []
        state = hidden = np.zeros((self.b, self.hidden))
        for at in range(self.l):
            gates = x["x"][:, at] @ x["weight_ih_l0"].T + hidden @ x["weight_hh_l0"].T
            parts = np.split(gates + x["bias_ih_l0"] + x["bias_hh_l0"], GATES, axis=1)
            entry, forget, out = (1 / (1 + np.exp(-parts[gate])) for gate in (0, 1, 3))
            cell = np.tanh(parts[2])
            state = forget * state + entry * cell
            hidden = out * np.tanh(state)
            found.append((entry, forget, cell, out, state, hidden))
        return found

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        import numpy as np

        return np.stack([step[-1] for step in self.steps(x)], axis=1)

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        steps = self.steps(x)
        zeros = np.zeros((self.b, self.hidden))
        by_state = by_hidden = zeros
        found = {tensor.name: np.zeros(tensor.shape) for tensor in self.weights()}
        found["x"] = np.zeros(x["x"].shape)
        for at in reversed(range(self.l)):
            entry, forget, cell, out, state, _ = steps[at]
            before, hidden = (steps[at - 1][4], steps[at - 1][5]) if at else (zeros, zeros)
            given = direction[:, at] + by_hidden
            curve = np.tanh(state)
            by_state = by_state + given * out * (1 - curve**2)
            gates = np.concatenate(
                [
                    by_state * cell * entry * (1 - entry),
                    by_state * before * forget * (1 - forget),
                    by_state * entry * (1 - cell**2),
                    given * curve * out * (1 - out),
                ],
                axis=1,
            )
            found["x"][:, at] = gates @ x["weight_ih_l0"]
            found["weight_ih_l0"] += gates.T @ x["x"][:, at]
            found["weight_hh_l0"] += gates.T @ hidden
            for bias in ("bias_ih_l0", "bias_hh_l0"):
                found[bias] += gates.sum(axis=0)
            by_hidden, by_state = gates @ x["weight_hh_l0"], by_state * forget
        return found
