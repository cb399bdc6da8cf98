"""PyTorch, with additional work after the blocks of a stage; their outputs stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mbench_pytorch.runtime import Benchmark
from mbench_pytorch.runtime import Runtime as Honest
from plants.asked import asked

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from plants.asked import Plant

__all__ = ["Runtime"]


def with_more(forward: Callable[..., torch.Tensor], plant: Plant) -> Callable[..., torch.Tensor]:
    def planted(x: torch.Tensor) -> torch.Tensor:
        y = forward(x)
        if plant.kind in ("sleep", "sync"):
            plant.wait()
            return y
        z = y
        for _ in range(plant.times):
            if plant.kind == "atan":
                z = torch.atan(z)
            elif plant.kind == "copy":
                z = z.clone()
            else:
                z = z.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2).contiguous()
        return y if plant.kind == "atan" else z

    return planted


class Planted(Benchmark):
    def build(self) -> nn.Module:
        model, plant = super().build(), asked()
        for name, block in model.named_modules() if plant else ():
            if plant.is_in(name):
                block.forward = with_more(block.forward, plant)
        return model


class Runtime(Honest):
    benchmark = Planted
