"""The task's CNN in PyTorch, and a training loop as its tutorials write one."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Loop:
    def __init__(self, lesson):
        config, rule = lesson.config, lesson.optimizer
        first, second, side = (int(config[name]) for name in ("first", "second", "image_size"))
        self.model = nn.Sequential(
            nn.Conv2d(1, first, 3, padding=1, bias=False), nn.BatchNorm2d(first), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1, bias=False), nn.BatchNorm2d(second), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(second * (side // 4) ** 2, 10),
        ).train()  # fmt: skip
        parameters = list(self.model.parameters())
        self.optimizer = torch.optim.SGD(
            [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": rule.weight_decay},
             {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}],
            lr=rule.learning_rate, momentum=rule.momentum,
        )  # fmt: skip
        self.seen = []

    def prepared(self, batch):
        """Arrays as they are handed over."""
        return batch["images"], batch["labels"]

    def step(self, batch, rate):
        images, labels = map(torch.from_numpy, batch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        self.seen.append(loss.detach())

    def synchronize(self):
        pass

    def losses(self):
        return [float(loss) for loss in self.seen]


build = Loop
