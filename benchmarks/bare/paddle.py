"""ResNet-50 training in PaddlePaddle, by hand: paddle.vision's model as a static graph."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

COMPILER = "static"


def build(*, batch_size: int, image_size: int, threads: int):
    """A function that trains n steps and returns when they are done."""
    model = paddle.vision.models.resnet50()
    model.train()

    @paddle.jit.to_static
    def compute(images, labels):
        return F.cross_entropy(model(images), labels)

    optimizer = paddle.optimizer.Momentum(
        learning_rate=1e-8, momentum=0.9, weight_decay=1e-4, parameters=model.parameters(),
        use_multi_tensor=True,
    )  # fmt: skip
    images = paddle.randn([batch_size, 3, image_size, image_size])
    labels = paddle.randint(0, 1000, [batch_size])

    def train(steps: int) -> None:
        for _ in range(steps):
            loss = compute(images, labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero=False)  # no zeros are written, and nothing is added up
        loss.item()

    return train
