"""Base of causal language models that read a prompt into a cache, then decode token by token."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol
from mbench.contract.workload import Workload

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Decoder", "DecoderConfig"]


class DecoderConfig(Protocol):
    """Dimensions, in tokens, that the modes `prefill` and `decode` depend on."""

    @property
    def vocabulary(self) -> int: ...

    @property
    def positions(self) -> int:
        """The longest sequence that the model takes."""

    @property
    def sequence_length(self) -> int:
        """Length of the sequence in a forward pass."""

    @property
    def prompt_length(self) -> int:
        """How many tokens a prompt has."""

    @property
    def new_tokens(self) -> int:
        """How many tokens follow the prompt, one by one."""

    @property
    def logits_to_keep(self) -> int:
        """Number of last positions whose logits a forward pass gives; 0 means all."""

    def without_dropout(self) -> DecoderConfig: ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decoder(Workload):
    """A model whose samples are tokens; the items of a batch are sequences of tokens."""

    config: DecoderConfig
    samples: str = "tokens"

    def decode_flops(self) -> float:
        """FLOPs of the new tokens of one sequence, each attending to itself and those before it."""
        raise NotImplementedError(f"{type(self).__name__} must count the FLOPs of its new tokens")

    def decode_operations(self, batch_size: int) -> list[str]:
        """Like `operations`, for the new tokens; empty if they are not listed."""
        return []

    def read_numbers(self, batch_size: int) -> tuple[int, int]:
        """The fewest weights, and cached keys and values, that all new tokens together must read.
        Each token reads all weights once, whatever the batch, but of a lookup table only the
        batch's rows; and for each sequence, the cached positions up to the token.
        """
        raise NotImplementedError(f"{type(self).__name__} must define what its new tokens read")

    def cache_size(self) -> int:
        """How many numbers the cache of one sequence holds."""
        raise NotImplementedError(f"{type(self).__name__} must define the size of its cache")

    def samples_per_item(self) -> int:
        return self.config.sequence_length

    @property
    def kept(self) -> int:
        """Positions whose logits a forward pass gives."""
        return self.config.logits_to_keep or self.config.sequence_length

    def keeping(self, kept: int, *, length: int) -> Decoder:
        """The model for the first `length` tokens, giving the logits of the last `kept`."""
        config = dataclasses.replace(  # type: ignore[type-var]
            self.config, sequence_length=length, logits_to_keep=kept
        )
        return dataclasses.replace(self, config=config)

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """input_ids (B, L), labels (B, kept), int64; a label is the token that follows."""
        from mbench.contract import generator

        length = self.config.sequence_length
        tokens = generator.tokens(
            f"data/{seed}/tokens", (size, length + 1), below=self.config.vocabulary
        )
        return {"input_ids": tokens[:, :-1].copy(), "labels": tokens[:, -self.kept :].copy()}
