"""mbench's LSTM. Shapes: B batch, L sequence, F features, H hidden, K classes."""

import autograd.numpy as np

from mbench_mine.layers import linear, sigmoid


def build(config, dtype):
    model = {}
    for layer in range(config.layers):
        inputs, rows = config.hidden if layer else config.features, 4 * config.hidden
        model[f"lstm.weight_ih_l{layer}"] = np.zeros((rows, inputs), dtype)
        model[f"lstm.weight_hh_l{layer}"] = np.zeros((rows, config.hidden), dtype)
        model[f"lstm.bias_ih_l{layer}"] = np.zeros(rows, dtype)
        model[f"lstm.bias_hh_l{layer}"] = np.zeros(rows, dtype)
    model["linear.weight"] = np.zeros((config.classes, config.hidden), dtype)
    model["linear.bias"] = np.zeros(config.classes, dtype)
    return model


def forward(model, batch, training=False):
    """features (B, L, F) -> logits (B, K)."""
    x = batch["features"]
    for layer in range(len(model) // 4):
        biases = model[f"lstm.bias_ih_l{layer}"] + model[f"lstm.bias_hh_l{layer}"]
        gates = np.dot(x, model[f"lstm.weight_ih_l{layer}"].T) + biases
        recurrent = model[f"lstm.weight_hh_l{layer}"].T
        h = c = np.zeros((len(x), len(recurrent)), x.dtype)
        states = []
        for t in range(x.shape[1]):
            i, f, g, o = np.split(gates[:, t] + np.dot(h, recurrent), 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            states.append(h)
        x = np.stack(states, axis=1)
    return {"logits": linear(model, "linear", h)}
