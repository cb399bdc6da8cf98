"""ResNet-50 training in PyTorch on several devices, by hand; torchrun tells each rank its place."""

from __future__ import annotations

import torch
from torch import distributed
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from mbench_pytorch.runtime import import_torchvision


def build(*, batch_size: int, image_size: int, threads: int):
    """A function that trains n steps and returns when they are done."""
    torch.set_num_threads(threads)
    keep = import_torchvision()
    from torchvision.models import resnet50

    distributed.init_process_group("gloo")
    model = resnet50().to(memory_format=torch.channels_last).train()
    parallel = DistributedDataParallel(model, broadcast_buffers=False)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=1e-8, momentum=0.9, weight_decay=1e-4, fused=True
    )
    images = torch.randn(batch_size, 3, image_size, image_size)
    images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch_size,))

    def train(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(parallel(images), labels).backward()
            optimizer.step()

    train.keep = keep  # the declared operators live as long as the model
    return train
