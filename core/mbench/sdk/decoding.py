"""The part of a prepared case that handles caches of keys and values: prefill and decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mbench.contract.adapter import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.benchmark import Call
    from mbench.contract.case import Case
    from mbench.contract.precision import Precision
    from mbench.contract.scenario import Work
    from mbench.contract.tensors import Tensor, Tensors
    from mbench.contract.workload import Workload
    from mbench.workloads.decoder import Decoder, DecoderConfig

__all__ = ["Decoding"]


class Decoding:
    """What an adapter implements for caches, and what is the same everywhere; see Prepared."""

    work: Work
    case: Case
    workload: Workload
    precision: Precision
    placed_batches: Sequence[Tensor]

    # The framework's own.

    def prepare_prefill(self) -> None:
        """Compile what `prefill` calls."""
        raise Unsupported("the adapter has no caches of keys and values")

    def prepare_decode(self) -> None:
        """Compile what `fill` and `decode` call."""
        raise Unsupported("the adapter has no caches of keys and values")

    def prefill(self, batch: Tensors) -> Tensors:
        """Enqueue the pass over the prompts that fills a new cache of keys and values; returns the
        logits of their last positions (B, 1, V).
        """
        raise NotImplementedError(f"{type(self).__name__} must prefill")

    def fill(self, batch: Tensors) -> Tensor:
        """A cache with the prompts of a batch and room for the new tokens."""
        raise NotImplementedError(f"{type(self).__name__} must fill a cache")

    def decode(self, batch: Tensors) -> Mapping[str, Sequence[Tensor]]:
        """Enqueue the given tokens one by one, each after those before it in this batch's cache,
        `self.caches[self.at]`; returns the logits of each (B, V).
        """
        raise NotImplementedError(f"{type(self).__name__} must decode")

    # What follows is the same everywhere.

    caches: list[Tensor]
    """Caches of keys and values by batch number, once parameters are loaded."""
    decodes = False

    @property
    def decoder(self) -> DecoderConfig:
        """The config with the lengths of the prompt, and of prompt and new tokens."""
        return cast("DecoderConfig", self.workload.config)

    def prefill_step(self) -> Call:
        """A function that reads prompts into a new cache."""
        self.prepare_prefill()
        return self.prefill

    def decode_step(self) -> Call:
        """A function that processes the tokens after the prompts, one by one."""
        self.prepare_decode()
        self.decodes = True
        return self.decode

    def cache_bytes(self) -> int:
        """Size of a batch's cache of keys and values; 0 if there is none."""
        if not self.work.scenario.caches:
            return 0
        numbers = cast("Decoder", self.workload).cache_size() * self.case.batch_size
        return numbers * self.precision.parameter_bytes

    def fill_caches(self) -> None:
        """Called after parameters are loaded: in decode, prompts are read again."""
        if self.decodes:
            self.caches = []
            for batch in self.placed_batches:
                self.caches.append(self.fill(batch))
