"""ResNets of basic blocks; names as in torchvision's. Shapes: B batch, C channels, H W pixels."""

import autograd.numpy as np

from mbench.contract.adapter import Unsupported
from mbench_mine.layers import batch_norm, convolution, linear, max_pool, relu


def build(config, dtype):
    if config.bottleneck:
        raise Unsupported("Mine's ResNets have basic blocks only")
    model = {}

    def layer(at, inputs, outputs, kernel, conv="conv", norm="bn"):
        model[f"{at}{conv}.weight"] = np.zeros((outputs, inputs, kernel, kernel), dtype)
        for part in ("weight", "bias", "running_mean", "running_var"):
            model[f"{at}{norm}.{part}"] = np.zeros(outputs, dtype)

    layer("", 3, config.stem, 7, "conv1", "bn1")
    inputs = config.stem
    for stage, (count, width) in enumerate(zip(config.blocks, config.widths, strict=True)):
        for number in range(count):
            at = f"layer{stage + 1}.{number}."
            layer(at, inputs, width, 3, "conv1", "bn1")
            layer(at, width, width, 3, "conv2", "bn2")
            if inputs != width:
                layer(at, inputs, width, 1, "downsample.0", "downsample.1")
            inputs = width
    model["fc.weight"] = np.zeros((config.classes, inputs), dtype)
    model["fc.bias"] = np.zeros(config.classes, dtype)
    return model


def forward(model, batch, training=False):
    """images (B, C, H, W) -> logits (B, K)."""

    def layer(conv, norm, x, stride=1):
        return batch_norm(model, norm, convolution(model, conv, x, stride), training)

    x = max_pool(relu(layer("conv1", "bn1", batch["images"], 2)), 3, 2)
    for name in model:
        at, _, part = name.rpartition("conv1.weight")
        if not at or part:
            continue
        shrinks = f"{at}downsample.0.weight" in model
        stride = 2 if shrinks else 1
        y = relu(layer(f"{at}conv1", f"{at}bn1", x, stride))
        y = layer(f"{at}conv2", f"{at}bn2", y)
        if shrinks:
            x = layer(f"{at}downsample.0", f"{at}downsample.1", x, stride)
        x = relu(x + y)
    return {"logits": linear(model, "fc", np.mean(x, axis=(2, 3)))}
