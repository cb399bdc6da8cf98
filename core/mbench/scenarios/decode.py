"""Decode: tokens follow a prompt one by one, using a cache of keys and values.

The tokens are given, so that the work is the same everywhere: with random weights, rounding would
change which tokens are chosen. Each step begins after the same prompt, so that all are alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mbench.contract.metric import LATENCIES, METRICS, named_latencies
from mbench.contract.precision import PRECISIONS
from mbench.contract.quantized import linear_weights
from mbench.contract.scenario import Steps
from mbench.scenarios.prefill import Prefill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.metric import Metric
    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload
    from mbench.workloads.decoder import Decoder

__all__ = ["DECODE"]

TOKEN = named_latencies(
    LATENCIES,
    "token",
    "time per token",
    says="duration of a step divided by the number of its tokens",
    of_token=True,
)


class Decode(Prefill):
    """Its outputs are those of a forward pass over prompt and new tokens, at the new tokens."""

    name = "decode"
    says = "new tokens one by one, with a cache that holds a prompt"
    metrics: Sequence[Metric] = (*METRICS, *TOKEN)
    takes: Sequence[str] = ("prompt_length", "new_tokens")

    def fitted(self, workload: Workload, case: Case) -> Workload:
        """Raises ValueError if prompt and new tokens exceed the model's positions."""
        reason = self.suits(workload)
        if reason:
            raise ValueError(reason)
        decoder = cast("Decoder", workload)
        prompt, new, most = (
            decoder.config.prompt_length, decoder.config.new_tokens, decoder.config.positions,
        )  # fmt: skip
        if prompt + new > most:
            raise ValueError(
                f"a prompt of {prompt} and {new} new tokens exceed the {most} positions of "
                f"{workload.name}: reduce --prompt-length or --new-tokens"
            )
        return decoder.keeping(new, length=prompt + new)

    def operations(self, workload: Workload, batch_size: int) -> list[str]:
        return cast("Decoder", workload).decode_operations(batch_size)

    def flops(self, workload: Workload) -> float:
        return cast("Decoder", workload).decode_flops()

    def masked_flops(self, workload: Workload) -> float:
        """0: positions after a token are not counted in the first place."""
        return 0.0

    def read_bytes(self, workload: Workload, case: Case, *, number_bytes: int) -> int | None:
        """Bytes of weights, and of the cache, which has the type of products: all that each token's
        logits depend on.
        """
        decoder = cast("Decoder", workload)
        weights, cached = decoder.read_numbers(case.batch_size)
        precision = PRECISIONS.get(case.precision)
        products = precision.product_bytes if precision else 0  # the case will be refused
        found = weights * number_bytes + cached * products
        if precision and precision.quantized:  # integers instead of numbers, plus scales
            for one in linear_weights(workload):
                saved = one.size * (number_bytes - 1) - one.shape[0] * number_bytes
                found -= decoder.config.new_tokens * saved
        return found

    def samples_per_item(self, workload: Workload) -> int:
        return cast("Decoder", workload).config.new_tokens

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, benchmark.decode_step())


DECODE = Decode()
