"""A deep LSTM that classifies sequences (Hochreiter and Schmidhuber 1997), as SuperBench runs it.

Reference implementation: torch.nn.LSTM, whose cell has two biases, one for the input's weights and
one for the state's, and a linear layer on the last step's output. Gates are in the order input,
forget, cell, output. Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench.contract.workload import Optimizer, Size, Tensor, Workload

if TYPE_CHECKING:
    import numpy as np

__all__ = ["MODELS", "LSTMConfig", "LSTMWorkload"]

GATES = 4


@dataclass(frozen=True, kw_only=True)
class LSTMConfig:
    """Dimensions of a stack of LSTM layers in one direction, without dropout."""

    layers: int = 8
    features: int = 256
    hidden: int = 1024
    classes: int = 100
    sequence_length: int = 512

    def without_dropout(self) -> LSTMConfig:
        return self


@dataclass(frozen=True, kw_only=True)
class LSTMWorkload(Workload):
    """The loss is the mean cross entropy of a label per sequence. States start at zero."""

    config: LSTMConfig

    def inputs(self, layer: int) -> int:
        return self.config.features if layer == 0 else self.config.hidden

    def tensors(self) -> list[Tensor]:
        config, found = self.config, []
        hidden, rows = config.hidden, GATES * config.hidden
        for layer in range(config.layers):
            inputs = self.inputs(layer)
            # With a variance of 1 / fan-in, the last step still influences the first layer.
            found += [
                Tensor(f"lstm.weight_ih_l{layer}", (rows, inputs), math.sqrt(3 / inputs)),
                Tensor(f"lstm.weight_hh_l{layer}", (rows, hidden), math.sqrt(3 / hidden)),
                Tensor(f"lstm.bias_ih_l{layer}", (rows,), 0.1, decay=False),
                Tensor(f"lstm.bias_hh_l{layer}", (rows,), 0.1, decay=False),
            ]
        spread = 1 / math.sqrt(hidden)
        found += [
            Tensor("linear.weight", (config.classes, hidden), spread),
            Tensor("linear.bias", (config.classes,), spread, decay=False),
        ]
        return found

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        config = self.config
        found = [
            f"op:lstm/{batch_size}x{config.sequence_length}x{self.inputs(layer)}x{config.hidden}"
            for layer in range(config.layers)
        ]
        found.append(f"op:linear/{batch_size}x{config.hidden}x{config.classes}")
        if training:
            found.append(f"op:cross_entropy/{batch_size}x{config.classes}")
        return found

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """features: float32 (B, L, F) of unit variance; labels: int64 (B,)."""
        import numpy as np

        from mbench.contract import generator

        config = self.config
        shape = (size, config.sequence_length, config.features)
        features = generator.uniform(f"data/{seed}/features", shape) * np.float32(math.sqrt(3))
        labels = generator.integers(f"data/{seed}/labels", (size,), below=config.classes)
        return {"features": features, "labels": labels}

    def forward_flops(self) -> float:
        config = self.config
        rows = GATES * config.hidden
        step = sum(rows * (self.inputs(layer) + config.hidden) for layer in range(config.layers))
        return 2.0 * (config.sequence_length * step + config.hidden * config.classes)


LSTM = LSTMWorkload(
    name="lstm",
    title="LSTM of 8 layers",
    family="lstm",
    samples="sequences",
    sizes={"sequence_length": Size(standard=512)},
    batch_sizes={"cpu": 1, "cuda": 32},
    config=LSTMConfig(),
    proof={"batch_size": 4, "sizes": {"sequence_length": 16}, "learning_rate": 2.0**-16},
    optimizer=Optimizer(rule="adamw", learning_rate=1e-7, weight_decay=1e-2, clip_norm=1.0),
)
# For adapter authors: these are proven in seconds.
SMALL = replace(
    LSTM,
    name="lstm-small",
    title="LSTM of 2 small layers",
    config=LSTMConfig(layers=2, hidden=64),
)
TINY = replace(
    LSTM,
    name="lstm-tiny",
    title="LSTM of 1 tiny layer",
    config=LSTMConfig(layers=1, features=32, hidden=16),
    proof={**LSTM.proof, "sizes": {"sequence_length": 4}},
)
MODELS = {workload.name: workload for workload in (LSTM, SMALL, TINY)}
