"""What models are made of. Shapes: B batch, C channels, H W pixels, K classes."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def relu(x):
    return np.maximum(x, 0)


def linear(model, name, x):
    return np.dot(x, model[f"{name}.weight"].T) + model[f"{name}.bias"]


def windows(x, kernel, stride, padding, fill):
    """(B, C, H, W) -> (B, C, kernel^2, H', W'): what lies under each place of a kernel."""
    around = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    x = np.pad(x, around, "constant", constant_values=fill)
    rows, columns = ((side - kernel) // stride * stride + 1 for side in x.shape[2:])
    places = [(row, column) for row in range(kernel) for column in range(kernel)]
    parts = [x[:, :, r : r + rows : stride, c : c + columns : stride] for r, c in places]
    return np.stack(parts, axis=2)


def convolution(model, name, x, stride=1):
    weight = model[f"{name}.weight"]  # (K, C, kernel, kernel)
    kernel = weight.shape[2]
    under = windows(x, kernel, stride, kernel // 2, 0.0)
    flat = np.reshape(weight, (*weight.shape[:2], kernel * kernel))
    return np.transpose(np.tensordot(flat, under, ([1, 2], [1, 2])), (1, 0, 2, 3))


def max_pool(x, kernel, stride):
    return np.max(windows(x, kernel, stride, kernel // 2, -np.inf), axis=2)


def batch_norm(model, name, x, training, epsilon=1e-5):
    """Normalises by the running statistics; `training`, which all models pass, is ignored."""
    mean, variance = (model[f"{name}.running_{of}"] for of in ("mean", "var"))
    scale = model[f"{name}.weight"] / np.sqrt(variance + epsilon)
    shift = model[f"{name}.bias"] - mean * scale
    return x * scale[:, None, None] + shift[:, None, None]
