"""A model of the tiny framework that has stages: blocks that add a product to what they get.

The first stage is "front", the second "back". Flaky's lie "napping": each block of "back" sleeps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from mbench_tiny import loss

from mbench.contract import generator
from mbench.contract.workload import Optimizer, Tensor, Workload

__all__ = ["DEEP", "DIFFERENCES", "build", "forward", "gradients", "loss"]

STAGES = ("front", "back")
SLEEP_SECONDS = 0.02
"""Long compared with what a busy machine adds to a sleep."""


@dataclass(frozen=True)
class DeepConfig:
    blocks: tuple = (2, 3)
    width: int = 32
    classes: int = 16

    def without_dropout(self):
        return self

    def names(self):
        """The names of all blocks, in their order."""
        return [
            f"{stage}.{block}"
            for at, stage in enumerate(STAGES)
            for block in range(self.blocks[at])
        ]


@dataclass(frozen=True, kw_only=True)
class DeepWorkload(Workload):
    """Softmax regression on what the blocks make of the features."""

    config: DeepConfig

    def tensors(self):
        width, classes, found = self.config.width, self.config.classes, []
        for name in self.config.names():
            found.append(Tensor(f"{name}.weight", (width, width), 0.05))
            found.append(Tensor(f"{name}.bias", (width,), 0.1, decay=False))
        found.append(Tensor("weight", (classes, width), 0.1))
        return [*found, Tensor("bias", (classes,), 0.1, decay=False)]

    def batch(self, size, *, seed):
        shape, classes = (size, self.config.width), self.config.classes
        return {
            "features": generator.uniform(f"data/{seed}/features", shape),
            "labels": generator.integers(f"data/{seed}/labels", (size,), below=classes),
        }

    def forward_flops(self):
        width = self.config.width
        return 2.0 * width * (width * sum(self.config.blocks) + self.config.classes)

    def operations(self, batch_size, *, training):
        width, classes = self.config.width, self.config.classes
        block = [f"op:linear/{batch_size}x{width}x{width}", f"op:add/{batch_size}x{width}"]
        loss = f"op:cross_entropy/{batch_size}x{classes}"
        return [
            *(block * sum(self.config.blocks)),
            f"op:linear/{batch_size}x{width}x{classes}",
            *([loss] if training else []),
        ]

    def lengthened(self):
        if not self.stages:
            return {}
        front, back = self.config.blocks
        return {
            "front": self.longer("front", blocks=(2 * front, back)),
            "back": self.longer("back", blocks=(front, 2 * back)),
            "front.1of2": self.longer("front.1of2", blocks=(front + 1, back)),
            "back.1of3": self.longer("back.1of3", blocks=(front, back + 1)),
        }


DEEP = DeepWorkload(
    name="tiny-deep",
    title="Softmax regression of two stages",
    family="tiny-deep",
    samples="samples",
    batch_sizes={"cpu": 16, "cuda": 16},
    config=DeepConfig(),
    proof={"batch_size": 8, "learning_rate": 1e-3},
    optimizer=Optimizer(rule="sgd", learning_rate=1e-5, momentum=0.9, weight_decay=1e-2),
    model_files={"tiny": "mbench_tiny_deep", "flaky": "mbench_tiny_deep"},
    stages=("front", "back"),
)

DIFFERENCES = ("gradients are written by hand",)


class Deep(dict):
    """The model's tensors by name."""

    lie = ""

    def __init__(self, config):
        super().__init__()
        self.blocks = config.names()
        for tensor in DeepWorkload.tensors(DEEP.replace(config=config)):
            self[tensor.name] = np.zeros(tensor.shape)


def build(config):
    return Deep(config)


def activations(model, batch):
    """The input of each block, and the output of the last one."""
    found = [batch["features"]]
    for name in model.blocks:
        x = found[-1]
        found.append(x + x @ model[f"{name}.weight"].T + model[f"{name}.bias"])
    return found


def forward(model, batch):
    for name in model.blocks:
        if model.lie == "napping" and name.startswith("back"):
            time.sleep(SLEEP_SECONDS)
    return {"logits": activations(model, batch)[-1] @ model["weight"].T + model["bias"]}


def gradients(model, error, batch):
    """The gradients of all tensors, from the error (B, C) in the logits."""
    *inputs, last = activations(model, batch)
    found = {"weight": error.T @ last, "bias": error.sum(axis=0)}
    error = error @ model["weight"]
    for name, x in zip(reversed(model.blocks), reversed(inputs), strict=True):
        found[f"{name}.weight"], found[f"{name}.bias"] = error.T @ x, error.sum(axis=0)
        error = error + error @ model[f"{name}.weight"]
    return found
