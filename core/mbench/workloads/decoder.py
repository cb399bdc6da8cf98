"""What causal language models share that read a prompt into a cache and go on token by token."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol
from mbench.contract.workload import Workload

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Decoder", "DecoderConfig"]


class DecoderConfig(Protocol):
    """Dimensions that the modes `prefill` and `decode` are about, in tokens."""

    @property
    def vocabulary(self) -> int: ...

    @property
    def positions(self) -> int:
        """The longest sequence that the model takes."""

    @property
    def sequence_length(self) -> int:
        """Of a forward pass."""

    @property
    def prompt_length(self) -> int:
        """How many tokens a prompt has."""

    @property
    def new_tokens(self) -> int:
        """How many tokens follow the prompt, one by one."""

    @property
    def logits_to_keep(self) -> int:
        """A forward pass gives the logits of so many last positions; 0: of all."""

    def without_dropout(self) -> DecoderConfig: ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Decoder(Workload):
    """A model whose samples are tokens: a batch has sequences of them."""

    config: DecoderConfig
    samples: str = "tokens"

    def decode_flops(self) -> float:
        """FLOPs of the new tokens of one sequence, each attending to itself and those before it."""
        raise NotImplementedError(f"{type(self).__name__} must count the FLOPs of its new tokens")

    def decode_operations(self, batch_size: int) -> list[str]:
        """As `operations`, of the new tokens; empty where nobody wrote them down."""
        return []

    def read_numbers(self, batch_size: int) -> tuple[int, int]:
        """Weights, and keys and values of the cache, that a step of new tokens must read at least:
        for each token all weights once, whatever the batch, but of a table that is only looked up
        no more than the batch's rows; and of each sequence the positions up to the token.
        """
        raise NotImplementedError(f"{type(self).__name__} must say what its new tokens read")

    def cache_size(self) -> int:
        """Numbers in the cache of a sequence."""
        raise NotImplementedError(f"{type(self).__name__} must say what its cache takes")

    def samples_per_item(self) -> int:
        return self.config.sequence_length

    @property
    def kept(self) -> int:
        """Positions whose logits a forward pass gives."""
        return self.config.logits_to_keep or self.config.sequence_length

    def keeping(self, kept: int, *, length: int) -> Decoder:
        """The model on the first `length` tokens, which gives the logits of the last `kept`."""
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
