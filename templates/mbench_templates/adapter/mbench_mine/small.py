"""A variant of mbench's LSTM that takes seconds to prove."""

import dataclasses

from mbench.workloads.lstm import MODELS, LSTMConfig

SMALL = dataclasses.replace(
    MODELS["lstm"],
    name="lstm-small",
    title="LSTM of 2 small layers",
    config=LSTMConfig(layers=2, hidden=64),
)
