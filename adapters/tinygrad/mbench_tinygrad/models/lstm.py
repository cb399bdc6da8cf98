"""mbench's LSTM, of tinygrad's LSTMCell. Shapes: B batch, L sequence, F features, K classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygrad import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.lstm import LSTMConfig


class Classifier:
    def __init__(self, config: LSTMConfig) -> None:
        self.layers = config.layers
        self.lstm: dict[str, Tensor] = {}
        for layer in range(config.layers):
            inputs = config.hidden if layer else config.features
            cell = nn.LSTMCell(inputs, config.hidden)
            self.lstm |= {f"{name}_l{layer}": tensor for name, tensor in vars(cell).items()}
        self.linear = nn.Linear(config.hidden, config.classes)

    def __call__(self, x: Tensor) -> Tensor:
        for layer in range(self.layers):
            cell = nn.LSTMCell(1, 1)
            vars(cell).update({name: self.lstm[f"{name}_l{layer}"] for name in vars(cell)})
            state, states = None, []
            for step in range(x.shape[1]):
                state = cell(x[:, step], state)
                states.append(state[0])
            x = Tensor.stack(*states, dim=1)
        return self.linear(x[:, -1])


build = Classifier


def forward(model: Classifier, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """features (B, L, F) -> logits (B, K)."""
    return {"logits": model(batch["features"])}
