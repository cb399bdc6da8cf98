"""ResNet-50 training in PyTorch, by hand."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from mbench_pytorch.runtime import import_torchvision

COMPILER = "eager"


def build(
    *, batch_size: int, image_size: int, threads: int, device: str = "cpu", precision: str = "fp32"
):
    """A function that trains n steps and returns when they are done."""
    torch.set_num_threads(threads)
    keep = import_torchvision()
    from torchvision.models import resnet50

    # What the adapter's tier "tuned" sets.
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    model = resnet50().to(device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=1e-8, momentum=0.9, weight_decay=1e-4, fused=True
    )
    images = torch.randn(batch_size, 3, image_size, image_size, device=device)
    images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch_size,), device=device)
    mixed = precision == "amp-fp16"
    scaler = torch.amp.GradScaler(device, enabled=mixed)

    def train(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, torch.float16, enabled=mixed):
                loss = F.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        if device == "cuda":
            torch.cuda.synchronize()

    train.keep = keep  # the declared operators live as long as the model
    return train
