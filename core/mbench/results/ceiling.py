"""The machine's ceiling as frameworks showed it, how near a case came to it, and for an operator
its share of the roofline (Williams, Waterman and Patterson 2009).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from mbench.contract.device import HOST
from mbench.contract.precision import PRECISIONS
from mbench.contract.quantities import (
    CAUSAL,
    WHOLE,
    Bytes,
    BytesPerSecond,
    Count,
    FlopsPerSecond,
    Share,
)
from mbench.contract.reading import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.machine.records import System
    from mbench.results.events import Ceiling as Timed
    from mbench.results.records import CaseRecord, Run

__all__ = ["TERA", "Ceiling", "MemoryRead", "Operator", "Peaks", "attainable", "data_sheet",
           "memory_read", "mfu", "most_flops", "peak_flops", "unlike_others"]  # fmt: skip

Place = tuple[str, str, int]

TERA = 1e12
TYPES = ("float64", "float32", "tf32", "float16", "bfloat16")
HOPPER = (67, 67, 494, 989, 989)
SHEETS = (
    # Start of the name that the driver gives; TFLOP/s of products in each of TYPES.
    ("Tesla V100-SXM2", (7.8, 15.7, None, 125, None)),
    ("Tesla V100-PCIE", (7, 14, None, 112, None)),
    ("Tesla T4", (None, 8.1, None, 65, None)),
    ("NVIDIA A100", (19.5, 19.5, 156, 312, 312)),
    ("NVIDIA A30", (10.3, 10.3, 82, 165, 165)),
    ("NVIDIA L40S", (None, 91.6, 183, 362, 362)),
    ("NVIDIA H100 PCIe", (51, 51, 378, 756, 756)),
    ("NVIDIA H100 80GB HBM3", HOPPER),
    ("NVIDIA H200", HOPPER),
    ("NVIDIA B200", (37, 75, 1100, 2250, 2250)),
)
"""Peak rates from the makers' data sheets, for comparison with published numbers. They are for
dense products at boost clocks, not the doubled figures for sparse matrices. Sources: NVIDIA's data
sheet of each product ("Tesla V100", "T4", "A10", "A30", "A100 80GB", "L4", "L40S", "H100", "H200",
"DGX B200")."""


def peak_flops(name: str, products: str) -> float | None:
    """Peak FLOP/s of matrix products in a type; None if the device or the type is not listed.

    `products` is the neutral name of a type, or "tf32".
    """
    for begins, peaks in SHEETS:
        # "A30" must not match "A3000".
        if name.startswith(begins) and not name[len(begins) : len(begins) + 1].isalnum():
            found = dict(zip(TYPES, peaks, strict=True)).get(products)
            return None if found is None else found * TERA
    return None


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """What the machine can do at most, with a framework."""

    flops_per_second: FlopsPerSecond | None
    """Rate of matrix products; null if the framework cannot compute one."""
    sustained_flops_per_second: FlopsPerSecond | None
    """Rate of the fastest of them when sustained for seconds; null on the CPU."""
    matmul_size: Annotated[int, Quantity("rows")] | None
    """Size of the matrices with which that rate was reached."""
    bytes_per_second: BytesPerSecond | None
    """Memory bandwidth; null where it could not be measured."""
    reason: str
    """What could not be measured, and why; else empty."""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """The work of an operator, on all devices together, and its share of the roofline."""

    counts: dict[str, Count]
    """How often a step calls it, for each model that `--operators` named."""
    bytes_per_sample: Bytes
    """The least that a call must read and write."""
    flops_per_second: FlopsPerSecond | None
    """`flops_per_sample` times throughput."""
    bytes_per_second: BytesPerSecond | None
    """`bytes_per_sample` times throughput."""
    attainable_per_second: Annotated[float, Quantity("calls/s")] | None
    """What the machine's peaks allow; null if they were not measured."""
    limit: str | None
    """The peak that sets the limit: `products` or `memory`."""
    roofline: Annotated[float, Quantity("share")] | None
    """Throughput as a share of what is attainable."""


@dataclass(frozen=True, kw_only=True)
class MemoryRead:
    """What a step must read of weights and cache, on all devices together, and how fast it reads
    it.
    """

    bytes_per_step: Bytes
    """[By formula](language-models.md#memory-bandwidth)."""
    bytes_per_second: BytesPerSecond
    """`bytes_per_step` divided by the time of a step."""
    share: Share | None
    """Share of the memory bandwidth that the machine showed (`ceiling.bytes_per_second` of the
    fastest framework); null if that was not measured."""


class Peaks:
    """The peaks of a run by precision, device and threads, collected once for all its cases."""

    def __init__(self, run: Run) -> None:
        self._run, self._counts = run, run.operator_counts
        self._refused: dict[tuple[str, Place], str] = {}
        self._alike: dict[Place, list[Timed]] = {}
        self._by_spec: dict[tuple[str, Place], list[Timed]] = {}
        by_framework: dict[Place, dict[str, float]] = {}
        measured = [case for case in run.cases.values() if case.ceiling]
        for case in measured:
            if product := fastest_product(case.ceiling):
                of_place = by_framework.setdefault(where(case), {})
                name = case.planned.framework
                of_place[name] = max(rate(product), of_place.get(name, 0.0))
        for case in measured:
            key, made = (case.planned.spec, where(case)), list(case.ceiling)
            if why := refused(run, case, by_framework.get(where(case), {})):
                self._refused[key] = why
                made = [one for one in made if one.operator == "add"]
                made.append(replace(case.ceiling[0], operator="matmul", nanoseconds=[], reason=why))
            self._alike.setdefault(where(case), []).extend(made)
            self._by_spec.setdefault(key, []).extend(made)
        self._products = {place: fastest_product(made) for place, made in self._alike.items()}
        self._memory = {place: largest(made, "add") for place, made in self._alike.items()}

    def doubt(self, case: CaseRecord) -> str:
        """Why the products of the case's framework are not a peak, if they exceed what the machine
        can do; else empty.
        """
        return self._refused.get((case.planned.spec, where(case)), "")

    def ceiling(self, case: CaseRecord) -> Ceiling | None:
        """The peaks for `case`, as measured in any case with its framework, precision, device and
        threads. In half precision, the product in single precision counts if it is faster.

        None if no peak was to be measured. A peak is that of the fastest block: a block that
        anything slows down is nowhere near the machine's limit.
        """
        made = self._by_spec.get((case.planned.spec, where(case)))
        if not made:
            return None
        product, memory = fastest_product(made), largest(made, "add")
        sustained = of_kind(made, "sustained")
        found = {"matmul": product, "single": product, "add": memory}
        lacking = [one for one in made if one.reason and found.get(one.operator) is None]
        return Ceiling(
            flops_per_second=rate(product) if product else None,
            sustained_flops_per_second=mean_rate(sustained) if sustained else None,
            matmul_size=product.size if product else None,
            bytes_per_second=rate(memory) if memory else None,
            reason="; ".join(f"{one.operator}: {one.reason}" for one in lacking),
        )

    def products(self, case: CaseRecord) -> float | None:
        """FLOPs per second of the fastest matrix product that any framework of the run reached in
        the precision of `case` or in a wider one, on its device, with its threads; None if none was
        timed.
        """
        product = self._products.get(where(case))
        return rate(product) if product else None

    def unhindered(self, case: CaseRecord) -> float | None:
        """What `products` would be if no other load had slowed them: computed from their processor
        time where that is shorter, but at most what the processor can do.
        """
        made = self._alike.get(where(case), [])
        kinds = [one for one in made if one.operator in ("matmul", "single") and one.nanoseconds]
        found = max(map(rate_unhindered, kinds), default=None)
        most = most_here(self._run, case, precision=case.axes.precision)
        return found if found is None or most is None else min(found, most)

    def memory(self, case: CaseRecord) -> float | None:
        """Memory bandwidth in bytes per second that a framework of the run reached in the same
        precision, on the same device and threads; None if none was measured.
        """
        memory = self._memory.get(where(case))
        return rate(memory) if memory else None

    def operator(self, case: CaseRecord, samples_per_second: float | None) -> Operator | None:
        """The figures of a case that is an operator; None for a model.

        All of them are for all devices together, and so is the roof.
        """
        moved, flops = case.planned.bytes_per_sample, case.planned.flops_per_sample
        if moved is None:
            return None
        calls = samples_per_second
        roof, limit = attainable(
            flops, moved, products=self.products(case), memory=self.memory(case)
        )
        roof = None if roof is None else roof * case.axes.devices
        return Operator(
            counts=self._counts.get(case.planned.comparison, {}),
            bytes_per_sample=moved,
            flops_per_second=None if calls is None else calls * flops,
            bytes_per_second=None if calls is None else calls * moved,
            attainable_per_second=roof,
            limit=limit,
            roofline=None if calls is None or roof is None else calls / roof,
        )


def refused(run: Run, case: CaseRecord, known: Mapping[str, float]) -> str:
    """Why a case's products cannot be what the machine did, judging by the `known` products of all
    frameworks; empty if they can.
    """
    others = {name: flops for name, flops in known.items() if name != case.planned.framework}
    for kind, precision in (("matmul", case.axes.precision), ("single", "fp32")):
        if (one := of_kind(case.ceiling, kind)) is None or precision not in PRECISIONS:
            continue
        most = most_here(run, case, precision=precision, sheet=kind == "matmul")
        flops, said = rate(one), f"its matrix products make {rate(one):.2g} FLOP/s"
        if most is not None and flops > most:
            return f"{said}, but this machine can do at most {most:.2g}"
        if unlike_others(flops, others, most=most, half=PRECISIONS[precision].half):
            return f"{said}, but those of other frameworks at most {max(others.values()):.2g}"
    return ""


def most_here(run: Run, case: CaseRecord, *, precision: str, sheet: bool = True) -> float | None:
    """The most FLOPs per second that the case's machine can do; see `most_flops`."""
    node = next(iter(case.nodes.values()), None)
    return most_flops(
        node.system if node else run.header.system, precision=precision, device=case.axes.device,
        threads=case.axes.threads, sheet=data_sheet(case) if sheet else None,
    )  # fmt: skip


def where(case: CaseRecord) -> Place:
    return (case.axes.precision, case.axes.device, case.axes.threads)


def data_sheet(case: CaseRecord) -> float | None:
    """FLOPs per second that the device's maker specifies; None if that is not known here."""
    if case.info is None or case.axes.device == "cpu":
        return None
    kind = PRECISIONS[case.axes.precision]
    return peak_flops(case.info.device_name, "tf32" if kind.tf32 else kind.products)


def fastest_product(made: Sequence[Timed]) -> Timed | None:
    """The fastest product. Those in single precision count too, since half precision may be
    widened.
    """
    kinds = (of_kind(made, "matmul"), of_kind(made, "single"))
    return max((one for one in kinds if one), key=rate, default=None)


def of_kind(made: Sequence[Timed], kind: str) -> Timed | None:
    """The fastest timed operator of that kind; None if none was timed."""
    timed = [one for one in made if one.operator == kind and one.nanoseconds]
    return max(timed, key=rate, default=None)


def largest(made: Sequence[Timed], kind: str) -> Timed | None:
    """The timed operator of that kind with the largest size, which fits the fewest caches."""
    timed = [one for one in made if one.operator == kind and one.nanoseconds]
    return max(timed, key=lambda one: (one.size, rate(one)), default=None)


def mean_rate(one: Timed) -> float:
    """FLOPs per second over all blocks together: what a GPU sustains."""
    return one.amount * one.steps * len(one.nanoseconds) * 1e9 / sum(one.nanoseconds)


def rate(one: Timed) -> float:
    """FLOPs or bytes per second of the fastest block."""
    return one.amount * one.steps * 1e9 / min(one.nanoseconds)


def rate_unhindered(one: Timed) -> float:
    """The rate of the fastest block, by processor time if that is known and shorter."""
    return one.amount * one.steps * 1e9 / min([*one.nanoseconds, *one.processor_nanoseconds])


def mfu(
    case: CaseRecord, samples_per_second: float, highest: float | None, *, flops: str = WHOLE
) -> float | None:
    """Model FLOPs utilisation (Chowdhery et al. 2022): the model's FLOPs per second over the peak.

    The FLOPs are the workload's, so what a framework recomputes or saves does not count. The peak
    is the machine's, so a framework whose own products are slow does not look better for it. With
    several devices, the peak is that of each one while all are working. `flops` says how causal
    attention is counted.
    """
    if not highest:
        return None
    planned = case.planned
    masked = planned.masked_flops_per_sample if flops == CAUSAL else 0.0
    counted = planned.flops_per_sample - masked
    return counted * samples_per_second / (highest * case.axes.devices)


def memory_read(
    case: CaseRecord, samples_per_second: float | None, highest: float | None
) -> MemoryRead | None:
    """How fast a case reads weights and cache; None if it is not known what it reads, or how fast
    it is.
    """
    each = case.planned.read_bytes_per_step
    if each is None or samples_per_second is None:
        return None
    devices = case.axes.devices
    rate = each * devices * samples_per_second / case.samples_per_step
    return MemoryRead(
        bytes_per_step=each * devices,
        bytes_per_second=rate,
        share=rate / (highest * devices) if highest else None,
    )


def attainable(
    flops: float, moved: int, *, products: float | None, memory: float | None
) -> tuple[float | None, str | None]:
    """Calls per second that the machine's peaks allow, and which peak sets the limit: min(peak,
    bytes per second x FLOPs per byte), counted in calls so that it applies to operators without
    products.

    Both are None if a peak that is needed is not known.
    """
    if memory is None or (flops and products is None) or not (flops or moved):
        return None, None
    seconds = {"memory": moved / memory, "products": flops / products if products else 0.0}
    limit = max(seconds, key=lambda name: seconds[name])
    return 1 / seconds[limit], limit


FASTEST_HZ = 6.2e9
"""No processor is sold with a higher clock. The clock that the kernel reports may exclude the
boost."""
WIDTHS = (("SVE", 64), ("AVX-512", 64), ("NEON", 32), ("AVX2", 32))
"""FLOP per cycle and core in single precision, by the widest instruction set: two units for fused
multiply-adds of 512 or 256 bits, four of 128 bits."""
HALF = (("AMX", 1024), ("SVE", 256), ("NEON", 256), ("AVX-512", 128), ("AVX2", 64))
"""The same in half precision: by tiles, by products of pairs, or by conversion."""
TIMES_OTHERS = 3.0
"""How many times as slow the products of other frameworks may be. Seen among libraries on one
processor in single precision: 1.6."""
FAIR = 0.2
"""Other frameworks' products count as evidence from this share of what the machine can do: a
framework without a fast library must not make another's products look forged."""
BEYOND_SHEET = 1.1
"""Boost clocks may be somewhat above those of a data sheet."""


def most_flops(
    system: System, *, precision: str, device: str, threads: int, sheet: float | None
) -> float | None:
    """The most FLOPs per second that `threads` cores of a processor, or a device with that data
    sheet, can do; None if neither is known.
    """
    if device != HOST:
        return None if sheet is None else BEYOND_SHEET * sheet
    kind, sets = PRECISIONS[precision], set(system.cpu.split(", "))
    widths = HALF if kind.half else WIDTHS
    width = next((width for name, width in widths if name in sets), None)
    if width is None:
        return None
    return threads * FASTEST_HZ * (width / 2 if precision == "fp64" else width)


def unlike_others(
    rate: float, others: Mapping[str, float], *, most: float | None, half: bool
) -> bool:
    """Whether a product is far above those of other frameworks. If it is not known what the machine
    can do, products in half precision show nothing: those of some frameworks are slow.
    """
    fair = [one for one in others.values()
            if (not half if most is None else FAIR * most <= one <= most)]  # fmt: skip
    return bool(fair) and rate > TIMES_OTHERS * max(fair)
