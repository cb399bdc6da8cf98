"""ResNet-50 training in PaddlePaddle on several devices, by hand; its launcher tells each rank its
place.
"""

from __future__ import annotations

import paddle
import paddle.distributed
from paddle.nn import functional as F


def build(*, batch_size: int, image_size: int, threads: int):
    """A function that trains n steps and returns when they are done."""
    paddle.set_device("cpu")
    paddle.distributed.init_parallel_env()
    model = paddle.vision.models.resnet50()
    model.train()
    parallel = paddle.DataParallel(model)
    optimizer = paddle.optimizer.Momentum(
        learning_rate=1e-8, momentum=0.9, weight_decay=1e-4, parameters=model.parameters()
    )
    images = paddle.randn([batch_size, 3, image_size, image_size])
    labels = paddle.randint(0, 1000, [batch_size])

    def train(steps: int) -> None:
        for _ in range(steps):
            loss = F.cross_entropy(parallel(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad(set_to_zero=False)
        loss.item()

    return train
