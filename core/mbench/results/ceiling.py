"""The machine's ceiling as frameworks showed it, and how near a case came to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.contract.precision import PRECISIONS
from mbench.machine.datasheet import peak_flops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.results.events import Ceiling
    from mbench.results.records import CaseRecord, Run

__all__ = ["ceiling", "data_sheet", "mfu", "peak"]

Document = dict[str, Any]


def ceiling(run: Run, case: CaseRecord) -> Document | None:
    """The peaks for `case`, found by any case of its framework, precision, device and threads. In
    half precision the product is that of single precision, where this is faster.

    None where none was sought. A peak is the fastest block's: whatever slows a block down, it
    takes the machine nowhere near its limit.
    """
    made = [p for other in run.cases.values() if key(other) == key(case) for p in other.ceiling]
    if not made:
        return None
    product, memory = fastest_product(made), largest(made, "add")
    sustained = of_kind(made, "sustained")
    found = {"matmul": product, "single": product, "add": memory}
    lacking = [one for one in made if one.reason and found.get(one.operator) is None]
    return {
        "flops_per_second": rate(product) if product else None,
        "sustained_flops_per_second": mean_rate(sustained) if sustained else None,
        "matmul_size": product.size if product else None,
        "bytes_per_second": rate(memory) if memory else None,
        "reason": "; ".join(f"{one.operator}: {one.reason}" for one in lacking),
    }


def peak(run: Run, case: CaseRecord) -> float | None:
    """FLOPs per second of the fastest matrix product that any framework of the run made here, in
    the precision of `case` or in a wider one, on its device, with its threads; None where none was
    made.
    """
    made = [p for c in run.cases.values() if where(c) == where(case) for p in c.ceiling]
    product = fastest_product(made)
    return rate(product) if product else None


def data_sheet(case: CaseRecord) -> float | None:
    """FLOPs per second that the device's maker promises; None where that is not known here."""
    if case.info is None or case.axes.device == "cpu":
        return None
    kind = PRECISIONS[case.axes.precision]
    return peak_flops(case.info.device_name, "tf32" if kind.tf32 else kind.products)


def key(case: CaseRecord) -> tuple[Any, ...]:
    return (case.planned.spec, *where(case))


def where(case: CaseRecord) -> tuple[Any, ...]:
    return (case.axes.precision, case.axes.device, case.axes.threads)


def fastest_product(made: Sequence[Ceiling]) -> Ceiling | None:
    """Half precision may be widened: what the machine can do in single precision bounds it, too."""
    kinds = (of_kind(made, "matmul"), of_kind(made, "single"))
    return max((one for one in kinds if one), key=rate, default=None)


def of_kind(made: Sequence[Ceiling], kind: str) -> Ceiling | None:
    """The fastest of an operator that was timed; None where none was."""
    timed = [one for one in made if one.operator == kind and one.nanoseconds]
    return max(timed, key=rate, default=None)


def largest(made: Sequence[Ceiling], kind: str) -> Ceiling | None:
    """That of the largest size that was timed, which fits the fewest caches."""
    timed = [one for one in made if one.operator == kind and one.nanoseconds]
    return max(timed, key=lambda one: (one.size, rate(one)), default=None)


def mean_rate(one: Ceiling) -> float:
    """FLOPs per second of all blocks together: what a GPU goes on with."""
    return one.amount * one.steps * len(one.nanoseconds) * 1e9 / sum(one.nanoseconds)


def rate(one: Ceiling) -> float:
    """FLOPs or bytes per second of the fastest block."""
    return one.amount * one.steps * 1e9 / min(one.nanoseconds)


def mfu(case: CaseRecord, speed: Document | None, highest: float | None) -> float | None:
    """Model FLOPs utilisation (Chowdhery et al. 2022): FLOPs of the model per second, of the peak.

    The FLOPs are the workload's, so what a framework recomputes or saves does not count. The peak
    is the machine's: a framework whose own products are slow does not look better for it. Of
    several devices, it is each one's while all are at it.
    """
    if speed is None or not highest:
        return None
    return float(case.planned.flops_per_sample * speed["value"] / (highest * case.axes.devices))
