"""Watches the very step that is timed, and sketches what it leaves, as evidence of equal work."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.precision import PRECISIONS
from mbench.contract.sketch import signs_of, sketch, thinned
from mbench.contract.wire import Observation, Seen, StepEvidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mbench.contract.adapter import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.wire import Look, Observe
    from mbench.worker.batch_cycler import BatchCycler
    from mbench.workloads.workload import Tensor, Workload

__all__ = ["load", "look", "observe"]

MOST_SKIPPED = 40
"""Steps in which a loss scale is found: it is halved each time, from 2**16 in most frameworks, and
below 2**-24 nothing would be left of it."""
MOST_REPEATS = 5
"""A step that is skipped halves the scale, so the next try skips fewer."""


def finite_loss(benchmark: Benchmark) -> float:
    """The loss of the last training step; raises ValueError where it is not finite."""
    loss = benchmark.loss()
    if not math.isfinite(loss):
        raise ValueError("the loss is not finite")
    return loss


def load(
    benchmark: Benchmark,
    arrays: Callable[[], Iterable[tuple[str, np.ndarray]]],
    case: Case,
    *,
    steps: Sequence[int] = (),
) -> None:
    """Load parameters, and where the loss is scaled, find a scale at which no step is skipped.

    A scale begins so large that the first steps may overflow. Which ones do is chance, and they
    update nothing. So steps are made until those that follow, by their batches, or else all batches
    in turn have updated, and parameters are loaded once more. No more are made than that: after a
    step as large as the parameters nothing is finite, at any scale. Raises ValueError where it does
    not come about.
    """
    benchmark.load_parameters(arrays())
    if not case.updates or not PRECISIONS[case.precision].scales_loss:
        return
    steps = steps or range(benchmark.batches)
    in_turn, before = 0, 0
    for step in range(MOST_SKIPPED + len(steps)):
        benchmark.step(steps[step % len(steps)])
        benchmark.synchronize()
        now = skipped(benchmark)
        in_turn = in_turn + 1 if now == before else 0
        before = now
        if in_turn == len(steps):
            benchmark.load_parameters(arrays())
            return
    raise ValueError(f"{before} of {step + 1} steps were skipped: scaled gradients overflow")


def skipped(benchmark: Benchmark) -> int:
    """Steps without an update since parameters were loaded; 0 where nobody counts them."""
    count = getattr(benchmark, "skipped_steps", None)
    return int(count()) if count else 0


def check_type(name: str, array: np.ndarray) -> None:
    """Raises ValueError unless `array` holds what the contract says it does."""
    if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.float64):
        what = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"{name} is {what}, where float32 or float64 is due")


def observe(
    benchmark: Benchmark, workload: Workload, case: Case, request: Observe, *, rank: int = 0
) -> Observation:
    """Run `request.steps` steps from the canonical parameters and report each.

    Training: the loss, and of every tensor the sketch of its change since the start. Inference:
    the sketches of the outputs. Raises ValueError for anything that is not finite.
    """
    initial = dict(workload.parameters(seed=request.seed))
    for name, value in request.filled.items():
        initial[name].fill(value)
    for _ in range(MOST_REPEATS):
        observation = once(benchmark, initial, case, request, rank=rank)
        if not skipped(benchmark):
            return observation
    raise ValueError(f"in each of {MOST_REPEATS} tries, scaled gradients overflow in a step")


def once(
    benchmark: Benchmark,
    initial: Mapping[str, np.ndarray],
    case: Case,
    request: Observe,
    *,
    rank: int,
) -> Observation:
    """The observation from these parameters, in which steps may have been skipped."""
    first = rank // request.apart if request.apart else request.batch
    batches = [(first + at * request.in_turn) % benchmark.batches for at in range(request.steps)]
    load(benchmark, initial.items, case, steps=batches)
    held = dict(benchmark.parameters()) if request.masked else {}
    shapes: dict[str, list[int]] = {}
    steps = []
    for batch in batches:
        benchmark.step(batch)
        benchmark.synchronize()
        if request.training:
            loss = finite_loss(benchmark)
            found, moved = {}, {}
            for name, array in benchmark.parameters():
                check_type(name, array)
                shapes[name] = list(array.shape)
                if name in initial and array.shape == initial[name].shape:
                    found[name] = sketch(name, array, start=initial[name])
                    if name in request.masked:
                        moved[name] = where_moved(array, held[name])
            steps.append(StepEvidence(loss=loss, outputs={}, parameters=found, moved=moved))
        else:
            outputs = {}
            for name, array in benchmark.outputs().items():
                check_type(name, array)
                outputs[name] = sketch(name, array)
            steps.append(StepEvidence(loss=None, outputs=outputs, parameters={}))
    if not shapes:
        shapes = {name: list(array.shape) for name, array in benchmark.parameters()}
    return Observation(
        trainable_parameters=benchmark.trainable_parameters(),
        counted_flops=counted_flops(benchmark, case),
        shapes=shapes,
        steps=steps,
    )


def counted_flops(benchmark: Benchmark, case: Case) -> float | None:
    """Of one sample of inference, by the framework's own counter; None of a step in which others
    would have to take part.
    """
    workload = case.resolve()
    if case.mode == "train" or workload.exchanges:
        return None
    counted = benchmark.counted_flops()
    if counted is None or workload.separable:
        return counted
    return counted / case.batch_size


def where_moved(array: np.ndarray, start: np.ndarray) -> str:
    """See wire.StepEvidence."""
    changed = array != start
    if changed.ndim > 1:
        changed = changed.any(axis=tuple(axis for axis in range(changed.ndim) if axis != 1))
    return "".join("1" if one else "0" for one in changed)


def look(
    rotation: BatchCycler,
    workload: Workload,
    case: Case,
    request: Look,
    *,
    initial: Callable[[Tensor], np.ndarray] | None = None,
) -> Seen:
    """What the last step left; see wire.Seen. Parameters began as `initial` says, or else as is
    canonical. Raises ValueError for what is not finite.
    """
    initial = initial or partial(workload.initial, seed=case.seed)
    benchmark, training = rotation.benchmark, workload.updates and case.mode == "train"
    outputs = {}
    if not training:
        for name, array in benchmark.outputs().items():
            check_type(name, array)
            if request.along:
                array = array @ signs_of(name, array.shape[-1]).astype(array.dtype)
            outputs[name] = sketch(name, thinned(array))
    if case.phase:
        outputs = gathered(outputs)
    changes: dict[str, list[float]] = {}
    statistics: dict[str, list[float]] = {}
    if request.changes:
        tensors = {tensor.name: tensor for tensor in workload.tensors()}
        kind = PRECISIONS[case.precision].parameters
        for name, array in benchmark.parameters():
            check_type(name, array)
            tensor = tensors[name]
            group = changes if tensor.trainable else statistics
            start = rounded(initial(tensor), kind)
            group[name] = sketch(name, array, start=start)
    return Seen(
        step=rotation.steps,
        batch=rotation.batch,
        skipped=skipped(benchmark),
        loss=finite_loss(benchmark) if training else None,
        outputs=outputs,
        changes=changes,
        statistics=statistics,
    )


def gathered(outputs: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """All gradients of a phase as one beside the loss: of a single one, rounding may be all."""
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
    """What is left of `array` in parameters of that type: loading them is no change."""
    if kind == "float16":
        return array.astype(np.float16)
    if kind == "bfloat16":  # the upper half of a float32; to nearest, ties to even
        bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
        bits = bits + (0x7FFF + (bits >> 16 & 1))
        return (bits & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return array
