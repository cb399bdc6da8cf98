"""Watches the very step that is timed, and sketches what it leaves, as evidence of equal work."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.precision import PRECISIONS
from mbench.contract.quantized import digest
from mbench.contract.scenario import GRADIENTS
from mbench.contract.sketch import signs_of, sketch, thinned
from mbench.contract.wire import Kept, Observation, Seen, SeenBefore, StepEvidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mbench.contract.benchmark import Benchmark
    from mbench.contract.scenario import Evidence, Steps, Work
    from mbench.contract.wire import Keep, Look, Observe
    from mbench.contract.workload import Tensor
    from mbench.worker.batch_cycler import BatchCycler

__all__ = ["keep", "load", "look", "observe"]

MOST_KEPT = 4096
"""The most results of last steps that are kept, by reference: keeping one takes 40 ns."""
KEPT_BYTES = 2**20
"""The most bytes of outputs that are kept: so little memory does not affect a step's time."""

MOST_SKIPPED = 40
"""The most steps to find a loss scale. Each halves the scale, from 2**16 in most frameworks; below
2**-24 nothing would be left of it."""
HALVES = ("float16", "bfloat16")
"""In parameters of these types, few numbers move, so all are looked at."""
MOST_REPEATS = 5
"""Most attempts at an observation. A skipped step halves the scale, so the next one skips fewer."""


def load(
    steps: Steps,
    arrays: Callable[[], Iterable[tuple[str, np.ndarray]]],
    *,
    batches: Sequence[int] = (),
) -> None:
    """Load parameters and, if the loss is scaled, find a scale at which no step is skipped.

    A scale begins so large that the first steps may overflow. Which ones do is random, and they
    update nothing. So steps run until the upcoming `batches`, or all batches in turn if none are
    given, have made updates; then parameters are loaded again. No further steps run: after a step
    as large as the parameters, nothing is finite at any scale. Raises ValueError if no scale is
    found.
    """
    benchmark, work = steps.benchmark, steps.work
    benchmark.load_parameters(arrays())
    if not work.scenario.updates or not PRECISIONS[work.case.precision].scales_loss:
        return
    batches = batches or range(steps.batches)
    in_turn, before = 0, 0
    for step in range(MOST_SKIPPED + len(batches)):
        steps.run(batches[step % len(batches)])
        steps.synchronize()
        now = skipped(benchmark)
        in_turn = in_turn + 1 if now == before else 0
        before = now
        if in_turn == len(batches):
            benchmark.load_parameters(arrays())
            return
    raise ValueError(f"{before} of {step + 1} steps were skipped: scaled gradients overflowed")


def skipped(benchmark: Benchmark) -> int:
    """Steps without an update since parameters were loaded; 0 if they are not counted."""
    count = getattr(benchmark, "skipped_steps", None)
    return int(count()) if count else 0


def check_type(name: str, array: np.ndarray) -> None:
    """Raises ValueError unless `array` has a type that the contract allows: float32 or float64."""
    if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.float64):
        what = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"{name} is {what}, but must be float32 or float64")


def observe(steps: Steps, request: Observe, *, rank: int = 0) -> Observation:
    """Run `request.steps` steps from the canonical parameters and report each.

    If steps update: the loss, and for every tensor the sketch of its change since the start.
    Otherwise: the sketches of the outputs. Raises ValueError for anything that is not finite.
    """
    initial = dict(steps.work.workload.parameters(seed=request.seed))
    for name, value in request.filled.items():
        initial[name].fill(value)
    for _ in range(MOST_REPEATS):
        observation = once(steps, initial, request, rank=rank)
        if not skipped(steps.benchmark):
            return observation
    raise ValueError(f"scaled gradients overflowed in a step in each of {MOST_REPEATS} attempts")


def once(
    steps: Steps,
    initial: Mapping[str, np.ndarray],
    request: Observe,
    *,
    rank: int,
) -> Observation:
    """A single observation from these parameters; steps may have been skipped in it."""
    benchmark, work = steps.benchmark, steps.work
    first = rank // request.apart if request.apart else request.batch
    batches = [(first + at * request.in_turn) % steps.batches for at in range(request.steps)]
    load(steps, initial.items, batches=batches)
    held = dict(benchmark.parameters()) if request.masked else {}
    shapes: dict[str, list[int]] = {}
    found = []
    for batch in batches:
        steps.run(batch)
        steps.synchronize()
        left = observed(steps)
        changes, moved = {}, {}
        if work.scenario.updates:
            for name, array in benchmark.parameters():
                check_type(name, array)
                shapes[name] = list(array.shape)
                if name in initial and array.shape == initial[name].shape:
                    changes[name] = sketch(name, array, start=initial[name])
                    if name in request.masked:
                        moved[name] = where_moved(array, held[name])
        outputs = {name: sketch(name, array) for name, array in left.outputs.items()}
        found.append(StepEvidence(loss=left.loss, outputs=outputs, parameters=changes, moved=moved))
    if not shapes:
        shapes = {name: list(array.shape) for name, array in benchmark.parameters()}
    return Observation(
        trainable_parameters=benchmark.trainable_parameters(),
        counted_flops=counted_flops(benchmark, work),
        shapes=shapes,
        steps=found,
        integers={name: digest(*held) for name, held in benchmark.integers()}
        if PRECISIONS[work.case.precision].quantized
        else {},
    )


def observed(steps: Steps) -> Evidence:
    """What the last step left; raises ValueError if it violates the contract."""
    found = steps.work.scenario.observe(steps)
    if found.loss is not None and not math.isfinite(found.loss):
        raise ValueError("the loss is not finite")
    for name, array in found.outputs.items():
        check_type(name, array)
    return found


def counted_flops(benchmark: Benchmark, work: Work) -> float | None:
    """FLOPs of one sample's inference, by the framework's own counter; None for a step in which
    other processes would have to take part, and for work that such counters do not see.
    """
    if work.scenario.training or work.scenario.exchanges or not work.workload.countable():
        return None
    counted = benchmark.counted_flops()
    if counted is None or work.scenario.separable:
        return counted
    return counted / work.case.batch_size


def where_moved(array: np.ndarray, start: np.ndarray) -> str:
    """See wire.StepEvidence."""
    changed = array != start
    if changed.ndim > 1:
        changed = changed.any(axis=tuple(axis for axis in range(changed.ndim) if axis != 1))
    return "".join("1" if one else "0" for one in changed)


def look(
    cycler: BatchCycler,
    request: Look,
    *,
    initial: Callable[[Tensor], np.ndarray] | None = None,
) -> Seen:
    """What the last step left; see wire.Seen. Parameters started at `initial`, or by default at
    their canonical values. Raises ValueError for anything that is not finite.
    """
    steps = cycler.prepared
    benchmark, work = steps.benchmark, steps.work
    initial = initial or partial(work.workload.initial, seed=work.case.seed)
    left = observed(steps)
    outputs = sketched(left, work, along=request.along)
    changes: dict[str, list[float]] = {}
    statistics: dict[str, list[float]] = {}
    if request.changes:
        tensors = {tensor.name: tensor for tensor in work.workload.tensors()}
        kind = PRECISIONS[work.case.precision].parameters
        for name, array in benchmark.parameters():
            check_type(name, array)
            tensor = tensors[name]
            group = changes if tensor.trainable else statistics
            if kind in HALVES:
                group[name] = sketch(name, array, start=rounded(initial(tensor), kind))
                continue
            if name not in cycler.began:  # a copy, so that the rest of the tensor is not held
                cycler.began[name] = thinned(initial(tensor)).copy()
            group[name] = sketch(name, thinned(array), start=cycler.began[name])
    return Seen(
        step=cycler.steps,
        batch=cycler.number(),
        skipped=skipped(benchmark),
        loss=left.loss,
        outputs=outputs,
        changes=changes,
        statistics=statistics,
        read_bytes=sum(array.nbytes for array in left.outputs.values()),
        earlier=[before(cycler, back) for back in request.back],
    )


def sketched(left: Evidence, work: Work, *, along: bool = False) -> dict[str, list[float]]:
    """Sketches of the outputs in `left`, by name."""
    found = {}
    for name, array in left.outputs.items():
        if along:
            array = array @ signs_of(name, array.shape[-1]).astype(array.dtype)
        found[name] = sketch(name, thinned(array))
    return gathered(found) if work.scenario.proof == GRADIENTS else found


def before(cycler: BatchCycler, back: int) -> SeenBefore:
    """What a step left, `back` steps before the last one; raises ValueError if it left nothing."""
    steps = cycler.prepared
    try:
        steps.benchmark.recall_result(back)
    except IndexError:
        raise ValueError(
            f"step {cycler.steps - back} of {cycler.steps} left no result: "
            f"the adapter skips steps, or does not keep their results"
        ) from None
    left = observed(steps)
    steps.benchmark.recall_result(0)
    outputs = sketched(left, steps.work)
    return SeenBefore(back=back, batch=cycler.number(back), loss=left.loss, outputs=outputs)


def keep(cycler: BatchCycler, request: Keep) -> Kept:
    """See wire.Keep. In some frameworks, a step's results overwrite those of the step before."""
    steps, work = cycler.prepared, cycler.prepared.work
    benchmark = steps.benchmark
    benchmark.keep_results(2)
    steps.run(0)
    steps.synchronize()
    left = observed(steps)
    steps.run(1 % steps.batches)
    steps.synchronize()
    size = sum(array.nbytes for array in left.outputs.values())
    count = min(MOST_KEPT, KEPT_BYTES // max(size, 1))
    try:
        benchmark.recall_result(1)
        count = count if count > 1 and same(left, observed(steps)) else 1
    except Exception:  # from any framework: that is an answer too
        count = 1
    benchmark.keep_results(count)
    batch = work.workload.batch(work.case.batch_size, seed=work.case.seed)
    return Kept(results=count, batch_bytes=sum(array.nbytes for array in batch.values()))


def same(one: Evidence, other: Evidence) -> bool:
    arrays = ((array, other.outputs[name]) for name, array in one.outputs.items())
    return one.loss == other.loss and all(np.array_equal(*pair) for pair in arrays)


def gathered(outputs: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """Sketches of the loss, and of all gradients as one: a single gradient may be mere rounding."""
    loss, gradients = {}, []
    for name, found in outputs.items():
        if name == "loss":
            loss[name] = found
        else:
            gradients.append(found)
    if not gradients:
        return loss
    whole = np.array(gradients)
    norm = float(np.linalg.norm(whole[:, 0]))
    return {**loss, "gradients": [norm, *(float(p) for p in whole[:, 1:].sum(axis=0))]}


def rounded(array: np.ndarray, kind: str) -> np.ndarray:
    """`array` rounded to the type `kind` of parameters: loading must not count as a change."""
    if kind == "float16":
        return array.astype(np.float16)
    if kind == "bfloat16":  # the upper half of a float32; to nearest, ties to even
        bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
        bits = bits + (0x7FFF + (bits >> 16 & 1))
        return (bits & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return array
