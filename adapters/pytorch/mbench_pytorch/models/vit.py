"""Vision transformers: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional
from torchvision.models.vision_transformer import VisionTransformer

from mbench_pytorch.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mbench.workloads.vit import ViTConfig

__all__ = ["DIFFERENCES", "build", "forward", "layers", "loss"]

DIFFERENCES = (ATTENTION,)


def build(config: ViTConfig) -> VisionTransformer:
    # Attention in inference is the fused kernel (scaled_dot_product_attention), as in training. The
    # "fast path" of nn.MultiheadAttention would be two products around a softmax.
    torch.backends.mha.set_fastpath_enabled(False)
    return VisionTransformer(
        image_size=config.image_size,
        patch_size=config.patch_size,
        num_layers=config.layers,
        num_heads=config.heads,
        hidden_dim=config.hidden,
        mlp_dim=config.intermediate,
        num_classes=config.classes,
        norm_layer=partial(nn.LayerNorm, eps=config.epsilon),
    )


def layers(model: VisionTransformer) -> Iterable[nn.Module]:
    return model.encoder.layers


def forward(model: VisionTransformer, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
