"""What transformers' decoders share here: their norms, and how they run with a cache.

Shapes: B batch, L sequence, D hidden, H heads of keys and values, W width of a head, T positions of
a cache, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from mbench_pytorch.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.llama import LlamaConfig

    Cache = list[tuple[torch.Tensor, torch.Tensor]]

__all__ = ["DIFFERENCES", "RMSNorm", "advance", "forward", "loss", "prefill", "settings",
           "with_exact_parts"]  # fmt: skip

DIFFERENCES = (
    ATTENTION,
    "norms are transformers' but for float64, and rotations come from a table in place of sines in "
    "each step",
)


class RMSNorm(nn.Module):
    """transformers' LlamaRMSNorm, except that float64 is not computed in float32."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.hidden))
        self.epsilon = config.epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        own = x.to(torch.promote_types(x.dtype, torch.float32))
        own = own * torch.rsqrt(own.pow(2).mean(-1, keepdim=True) + self.epsilon)
        return self.weight * own.to(x.dtype)


def settings(config: LlamaConfig) -> dict[str, Any]:
    """The settings of a configuration, by their names in transformers."""
    return {
        "vocab_size": config.vocabulary,
        "hidden_size": config.hidden,
        "intermediate_size": config.intermediate,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.key_value_heads,
        "hidden_act": "silu",
        "max_position_embeddings": config.positions,
        "rms_norm_eps": config.epsilon,
        "tie_word_embeddings": config.tied,
        "pad_token_id": None,  # no padding: every row of the word embedding learns
        "attn_implementation": "sdpa",  # transformers' default
    }


def with_exact_parts(model: Any, config: LlamaConfig) -> None:
    """Give a transformers model norms and rotations that are float64 if the model is."""
    model.kept = config.logits_to_keep
    model.positions = config.sequence_length
    body = model.model
    body.norm = RMSNorm(config)
    for layer in body.layers:
        layer.input_layernorm = RMSNorm(config)
        layer.post_attention_layernorm = RMSNorm(config)
    del body.rotary_emb
    for name, table in zip(("cosines", "sines"), config.rotations(), strict=True):
        whole = torch.tensor(table).repeat(1, 2)  # (L, W): both halves of a head turn alike
        model.register_buffer(f"rotary_{name}", whole, persistent=False)


class Kept:
    """Stores the keys and values of prompts, as a cache for transformers' layers. In mixed
    precision, both have the values' type.
    """

    def __init__(self, positions: int) -> None:
        self.positions = positions
        self.cache: Cache = []

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        size, heads, length, width = values.shape
        room = [values.new_zeros((size, heads, self.positions, width)) for _ in range(2)]
        for kept, new in zip(room, (keys, values), strict=True):
            kept[:, :, :length] = new
        self.cache.append((room[0], room[1]))
        return keys, values


class Appended:
    """A static cache, to which the keys and values of one token are added at `position` (1)."""

    def __init__(self, cache: Cache, position: torch.Tensor) -> None:
        self.cache = cache
        self.position = position

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        for kept, new in zip(self.cache[layer], (keys, values), strict=True):
            kept.index_copy_(2, self.position, new.to(kept.dtype))
        return self.cache[layer]


def forward(model: Any, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """input_ids (B, L) -> logits of the last positions (B, kept, V)."""
    x = states(model, batch["input_ids"], slice(0, batch["input_ids"].shape[1]))
    return {"logits": model.lm_head(x[:, -model.kept :])}  # all positions if `kept` is 0


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"].flatten(0, 1), batch["labels"].flatten())


def states(model: Any, tokens: torch.Tensor, at: Any, **settings: Any) -> torch.Tensor:
    """(B, L) -> (B, L, D), layer by layer: the model's own forward would first build masks. Without
    a mask, attention is causal.
    """
    body = model.model
    x = body.embed_tokens(tokens)
    turns = model.rotary_cosines[at][None], model.rotary_sines[at][None]  # (1, L, W)
    for layer in body.layers:
        x = layer(x, position_embeddings=turns, **settings)
    return body.norm(x)


def prefill(model: Any, tokens: torch.Tensor) -> tuple[torch.Tensor, Cache]:
    """(B, L) -> the last position's logits (B, 1, V), and each layer's keys and values
    (B, H, T, W), filled for the prompt.
    """
    kept, at = Kept(model.positions), slice(0, tokens.shape[1])
    x = states(model, tokens, at, past_key_values=kept, use_cache=True)
    return model.lm_head(x[:, -1:]), kept.cache


def advance(model: Any, cache: Cache, token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    """A token (B, 1) at its position (1) -> its logits (B, V); the token is added to the cache."""
    seen = torch.arange(model.positions, device=position.device) <= position  # (T)
    added = Appended(cache, position)
    mask = seen[None, None, None]
    x = states(model, token, position, attention_mask=mask, past_key_values=added, use_cache=True)
    return model.lm_head(x)[:, 0]
