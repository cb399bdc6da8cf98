"""mbench's LSTM in NumPy, with its gradients by hand.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

import numpy as np


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


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def run(model, x):
    """(B, L, F) -> logits (B, K), the last states (B, H), and each layer's inputs and steps."""
    tape = []
    for layer in range(len(model) // 4):
        biases = model[f"lstm.bias_ih_l{layer}"] + model[f"lstm.bias_hh_l{layer}"]
        gates = x @ model[f"lstm.weight_ih_l{layer}"].T + biases
        recurrent = model[f"lstm.weight_hh_l{layer}"].T
        h = c = np.zeros((len(x), len(recurrent)), x.dtype)
        steps, states = [], []
        for t in range(x.shape[1]):
            i, f, g, o = np.split(gates[:, t] + h @ recurrent, 4, axis=1)
            i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
            before = h, c
            c = f * c + i * g
            h = o * np.tanh(c)
            steps.append((*before, i, f, g, o, np.tanh(c)))
            states.append(h)
        tape.append((x, steps))
        x = np.stack(states, axis=1)
    return h @ model["linear.weight"].T + model["linear.bias"], h, tape


def forward(model, batch):
    """features (B, L, F) -> logits (B, K)."""
    return {"logits": run(model, batch["features"])[0]}


def gradients(model, batch):
    """The mean cross entropy, and its gradient by each tensor."""
    logits, h, tape = run(model, batch["features"])
    rows, labels = np.arange(len(logits)), batch["labels"]
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    loss = -np.log(chances[rows, labels]).mean()
    chances[rows, labels] -= 1
    chances /= len(rows)
    found = {"linear.weight": chances.T @ h, "linear.bias": chances.sum(axis=0)}
    by_states = np.zeros((*tape[-1][0].shape[:2], h.shape[1]), h.dtype)  # (B, L, H)
    by_states[:, -1] = chances @ model["linear.weight"]
    for layer, (x, steps) in reversed(list(enumerate(tape))):
        by_gates = np.zeros((*x.shape[:2], 4 * h.shape[1]), h.dtype)
        by_h = by_c = np.zeros_like(h)
        for t, (_, c, i, f, g, o, squashed) in reversed(list(enumerate(steps))):
            by_h = by_h + by_states[:, t]
            by_c = by_c + by_h * o * (1 - squashed**2)
            by_i, by_f = by_c * g * i * (1 - i), by_c * c * f * (1 - f)
            by_g, by_o = by_c * i * (1 - g**2), by_h * squashed * o * (1 - o)
            by_gates[:, t] = np.concatenate([by_i, by_f, by_g, by_o], axis=1)
            by_h, by_c = by_gates[:, t] @ model[f"lstm.weight_hh_l{layer}"], by_c * f
        befores = np.stack([step[0] for step in steps], axis=1)
        found[f"lstm.weight_ih_l{layer}"] = np.tensordot(by_gates, x, ([0, 1], [0, 1]))
        found[f"lstm.weight_hh_l{layer}"] = np.tensordot(by_gates, befores, ([0, 1], [0, 1]))
        found[f"lstm.bias_ih_l{layer}"] = by_gates.sum(axis=(0, 1))
        found[f"lstm.bias_hh_l{layer}"] = found[f"lstm.bias_ih_l{layer}"]
        by_states = by_gates @ model[f"lstm.weight_ih_l{layer}"]
    return loss, found
