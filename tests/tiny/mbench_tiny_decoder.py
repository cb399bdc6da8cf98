"""A causal language model of the tiny framework: a token's logits are a linear function of the mean
of the embeddings up to it. Its cache is the sum of these embeddings, and their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mbench_tiny import loss as rowwise

from mbench.contract.workload import Optimizer, Size, Tensor
from mbench.workloads.decoder import Decoder

__all__ = ["DECODER", "DIFFERENCES", "advance", "build", "forward", "gradients", "loss", "prefill"]

DIFFERENCES = ("gradients are written by hand",)


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    width: int = 32
    vocabulary: int = 64
    positions: int = 64
    sequence_length: int = 16
    prompt_length: int = 10
    new_tokens: int = 6
    logits_to_keep: int = 0

    def without_dropout(self):
        return self


@dataclass(frozen=True, kw_only=True)
class TinyDecoder(Decoder):
    config: DecoderConfig

    def tensors(self):
        shape = (self.config.vocabulary, self.config.width)
        return [Tensor("words", shape, 0.1), Tensor("head", shape, 0.1)]

    def forward_flops(self):
        return 2.0 * self.kept * self.config.width * self.config.vocabulary

    def operations(self, batch_size, *, training):
        width, words, tokens = self.config.width, self.config.vocabulary, batch_size * self.kept
        return [
            f"op:embedding/{batch_size * self.config.sequence_length}x{words}x{width}",
            f"op:linear/{tokens}x{width}x{words}-b0",
            *([f"op:cross_entropy/{tokens}x{words}"] if training else []),
        ]

    def decode_operations(self, batch_size):
        width, words = self.config.width, self.config.vocabulary
        one = [f"op:embedding/{batch_size}x{words}x{width}",
               f"op:linear/{batch_size}x{width}x{words}-b0"]  # fmt: skip
        return one * self.config.new_tokens

    def cache_size(self):
        return self.config.width

    def masked_flops(self):
        """A quarter of all FLOPs, as if these products were behind a mask."""
        return self.forward_flops() / 4

    def read_numbers(self, batch_size):
        new, width = self.config.new_tokens, self.config.width
        return new * width * (self.config.vocabulary + batch_size), new * batch_size * width

    def decode_flops(self):
        return 2.0 * self.config.new_tokens * self.config.width * self.config.vocabulary


DECODER = TinyDecoder(
    name="tiny-decoder",
    title="Means of words",
    family="tiny-decoder",
    batch_sizes={"cpu": 4, "cuda": 4},
    config=DecoderConfig(),
    proof={"batch_size": 2, "learning_rate": 1e-3},
    optimizer=Optimizer(rule="sgd", learning_rate=1e-5, momentum=0.9, weight_decay=1e-2),
    sizes={
        "sequence_length": Size(standard=16, most=64),
        "prompt_length": Size(standard=10, most=64),
        "new_tokens": Size(standard=6, most=64),
        "logits_to_keep": Size(standard=0, least=0, most=64),
    },
    model_files={"tiny": "mbench_tiny_decoder", "flaky": "mbench_tiny_decoder"},
)


class Model(dict):
    def __init__(self, config):
        super().__init__()
        self.kept = config.logits_to_keep
        for tensor in DECODER.replace(config=config).tensors():
            self[tensor.name] = np.zeros(tensor.shape)


def build(config):
    return Model(config)


def means(model, tokens):
    """(B, L, D): the mean embedding of the words up to each position."""
    counts = np.arange(1, tokens.shape[1] + 1)[:, None]
    return model["words"][tokens].cumsum(axis=1) / counts.astype(model["words"].dtype)


def forward(model, batch):
    return {"logits": means(model, batch["input_ids"])[:, -model.kept :] @ model["head"].T}


def prefill(model, tokens):
    """The logits of the last position (B, 1, V), and the cache."""
    added = model["words"][tokens].sum(axis=1)
    count = added.dtype.type(tokens.shape[1])
    return ((added / count) @ model["head"].T)[:, None], (added, count)


def advance(model, cache, token):
    """The logits (B, V) after `token` (B,), and the cache that includes it."""
    added, count = cache[0] + model["words"][token], cache[1] + 1
    return (added / count) @ model["head"].T, (added, count)


def loss(outputs, batch):
    """The loss over all positions, as of one long batch."""
    logits = outputs["logits"].reshape(-1, outputs["logits"].shape[-1])
    return rowwise({"logits": logits}, {"labels": batch["labels"].reshape(-1)})


def gradients(model, error, batch):
    """The gradients of all tensors, from the error (B L, V) in the logits."""
    tokens = batch["input_ids"]
    states = means(model, tokens)
    counts = np.arange(1, tokens.shape[1] + 1)[:, None].astype(states.dtype)
    by_means = (error @ model["head"]).reshape(states.shape) / counts
    by_words = np.zeros_like(model["words"])
    np.add.at(by_words, tokens, by_means[:, ::-1].cumsum(axis=1)[:, ::-1])
    return {"words": by_words, "head": error.T @ states.reshape(len(error), -1)}
