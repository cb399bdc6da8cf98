"""The least memory a case can manage with: what certainly does not fit is refused beforehand.

It counts what every framework must hold at once, and leaves out what only some do: copies, kernel
buffers, most activations. So a case that is not refused may still run out of memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from mbench.contract.precision import PRECISIONS
from mbench.contract.scenario import GRADIENTS, UPDATES
from mbench.scenarios.find import resolve, scenario_of
from mbench.workloads.find import OPERATORS

if TYPE_CHECKING:
    from mbench.contract.case import Case
    from mbench.contract.workload import Workload
    from mbench.workloads.decoder import Decoder

__all__ = ["Footprint", "least"]

MOMENTS = {"adamw": 2, "sgd": 1}
"""How many numbers an optimizer keeps per parameter; without momentum, SGD keeps none."""
INDEX_BYTES = 4
GIB = 2**30


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Bytes on each device."""

    weights: float
    gradients: float
    moments: float
    """The optimizer's state."""
    cache: float
    """The cache of keys and values."""
    batch: float
    """Inputs, outputs, and activations that the backward pass needs."""

    @property
    def fixed(self) -> float:
        """The part that does not depend on the batch size."""
        return self.weights + self.gradients + self.moments

    @property
    def bytes(self) -> float:
        return self.fixed + self.cache + self.batch

    def refusal(self, case: Case, *, bytes_there: float, where: str, processes: int = 1) -> str:
        """Why it does not fit, with a remedy; empty if it may. `processes` share the memory."""
        if processes * self.bytes <= bytes_there:
            return ""
        parts = ", ".join(
            f"{name} {size / GIB:,.1f}" for name, size in vars(self).items() if size >= GIB / 20
        )
        each, needs = (f"{processes} processes of ", "need") if processes > 1 else ("", "needs")
        remedy = "use a smaller --batch-size"
        if processes * self.fixed > bytes_there:
            remedy = "use a smaller model, --precision bf16, or more memory"
            if made_smaller := size_that_fits(case, bytes_there / processes):
                remedy = f"use {made_smaller}, or more memory"
        return (
            f"{each}{case.model} {case.mode} at batch size {case.batch_size} {needs} at least "
            f"{processes * self.bytes / GIB:,.1f} GiB ({parts}), but {where} has "
            f"{bytes_there / GIB:,.1f}: {remedy}"
        )


def least(case: Case) -> Footprint | None:
    """The least footprint; None if unknown: for operators, and precisions that will be refused."""
    precision = PRECISIONS.get(case.precision)
    if precision is None or case.workload == OPERATORS:
        return None
    workload = resolve(case)
    scenario = scenario_of(case, workload)
    products = precision.product_bytes
    # An engine only for inference may keep weights in the type it multiplies them in.
    number = precision.parameter_bytes
    if not scenario.training:
        number = 1 if precision.quantized else min(number, products)
    trained = workload.parameter_count() * number
    differentiates = scenario.proof in (UPDATES, GRADIENTS)
    rule, cache = workload.optimizer, 0
    kept = MOMENTS.get(rule.rule, 0) if rule.rule != "sgd" or rule.momentum else 0
    if scenario.caches:
        cache = cast("Decoder", workload).cache_size() * case.batch_size * products
        held = 0
    else:
        held = workload.held_numbers(training=differentiates) // case.accumulate
    return Footprint(
        weights=sum(tensor.size for tensor in workload.tensors()) * number,
        gradients=trained if differentiates else 0,
        moments=trained * kept if scenario.updates else 0,
        cache=cache,
        batch=case.batch_size * (input_bytes(workload, number) + held * products),
    )


def size_that_fits(case: Case, bytes_there: float) -> str:
    """The option, with a round number, that makes a model's weights fit into half of the memory;
    empty if there is none. It is half because this is only the least that a case needs.
    """
    workload = resolve(case)
    name = workload.shrinks_by
    if not name:
        return ""

    def fits(value: int) -> bool:
        found = least(replace(case, sizes={**case.sizes, name: value}))
        return found is not None and 2 * found.bytes <= bytes_there

    low, high = workload.sizes[name].least, getattr(workload.config, name)
    if not fits(low):
        return ""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    digit = 10 ** (len(str(low)) - 1)
    return f"--size {name}={low // digit * digit}"


def input_bytes(workload: Workload, number_bytes: int) -> int:
    """The bytes of a sample's input; indices may have 32 bits."""
    return sum(
        array.size * (number_bytes if array.dtype.kind == "f" else INDEX_BYTES)
        for array in workload.batch(1, seed=0).values()
    )
