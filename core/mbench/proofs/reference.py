"""A workload's correct answers, in a reference file: small, but enough to bound all errors."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.sketch import sketch
from mbench.contract.workload import Workload
from mbench.errors import MbenchError
from mbench.files import opened, write_whole
from mbench.proofs.tolerances import EXACT, UPDATE_FLOOR
from mbench.scenarios.find import scenario_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.case import Case
    from mbench.contract.wire import Observation

    Outputs = Mapping[int, Mapping[str, np.ndarray]]

__all__ = ["DRAWN", "KEPT", "MOST_ROUNDED", "PLAIN_RATE", "SEEDS", "STEPS", "Computed", "Reference",
           "Trajectory", "batch_of", "find", "folder_of", "how_to_write", "load", "rounding",
           "save"]  # fmt: skip

STEPS = 3
PLAIN_RATE = 2.0**10
"""Learning rate of the plain descent whose change is the gradient. One step is linear in it, so it
can be large: a parameter near 1 that changes by 4e-8, as GPT-2's norms do at 2**-10, is rounded by
3e-9 of that in float64. float32 represents it exactly: judging by the size of the errors, XLA on
CUDA rounds a rate to float32 in some convolutions' gradients. With 1e-3, the error is 4.75e-8 (seen
on an H100: for layer4.0.conv2.weight of ResNet-50, by its sketch 3.2734e-8, as expected).
"""
SEEDS = (0, 1)
"""Seeds of parameters. The second shows that outputs follow the parameters and are not cached."""
DRAWN = range(20)
"""Seeds of parameters for frameworks without float64: rounding differs from set to set, an error
does not."""
KEPT = {"plain": 1, "own": STEPS}
"""Number of steps of each trajectory."""
SCHEMA = 3
LARGEST_BYTES = 2**26
"""Limit of a reference file; mbench's own have half a MiB at most."""
MOST_ROUNDED = EXACT / 20
"""Largest relative error of a change due to the rounding of the parameter that it is added to: as
small beside the tolerance as the differences between frameworks."""


@dataclass(frozen=True)
class Trajectory:
    """The result of k training steps.

    losses (k,). tensors (T, 6): the sketch of each canonical tensor's change after the last step; a
    plain pass has one step, whose change is the gradient. whole (k, 5): after each step, one sketch
    of all changes together, each tensor's divided by its scale.
    """

    losses: np.ndarray
    tensors: np.ndarray
    whole: np.ndarray


@dataclass(frozen=True)
class Reference:
    """`outputs[seed][name]` are sketches (6,) of evaluation outputs, for the seeds of DRAWN, or for
    SEEDS alone; `made` says how the file was written.
    """

    outputs: Mapping[int, Mapping[str, np.ndarray]]
    plain: Trajectory
    own: Trajectory
    made: dict[str, object]
    modes: Mapping[str, Outputs] = field(default_factory=dict)
    """Outputs of modes that return parts of a whole sequence's outputs, from that sequence."""


@dataclass(frozen=True)
class Computed:
    """The correct answers of a workload that can compute them, in place of a reference file.

    The outputs are for a seed's parameters and its batch. There are no losses.
    """

    workload: Workload
    seeds: Sequence[int]

    @cached_property
    def outputs(self) -> Mapping[int, Mapping[str, np.ndarray]]:
        return {seed: self.sketches(seed) for seed in self.seeds}

    def sketches(self, seed: int) -> dict[str, np.ndarray]:
        found = self.workload.answers(seed=seed, batch=batch_of(seed))
        assert found is not None
        return {name: np.array(sketch(name, array)) for name, array in found.items()}


def scales(tensors: np.ndarray, workload: Workload) -> np.ndarray:
    """(T,): what each tensor's error is divided by, from its reference sketch and its size.

    Parameters are compared with parameters, and running statistics with each other, since these
    change by other laws and far more.
    """
    norms, scale = tensors[:, 0], np.empty(len(tensors))
    sizes = np.array([tensor.size for tensor in workload.tensors()], dtype=np.float64)
    trainable = np.array([tensor.trainable for tensor in workload.tensors()])
    for group in (trainable, ~trainable):
        if group.any():
            typical = np.sqrt(np.sum(norms[group] ** 2) / np.sum(sizes[group]))
            floor = UPDATE_FLOOR * typical * np.sqrt(sizes[group])
            scale[group] = np.maximum(norms[group], floor)
    return scale


def rounding(tensors: np.ndarray, workload: Workload) -> np.ndarray:
    """(T,): the effect of float64's rounding of each tensor on its change, scaled like errors by
    `scales`.

    `tensors` (T, 6) are sketches of changes. Each step rounds a number by at most 2**-53 of it;
    over three steps two frameworks differ by that in the root mean square.
    """
    held = np.array([tensor.initial_norm for tensor in workload.tensors()])
    shares: np.ndarray = 2.0**-53 * held / scales(tensors, workload)
    return shares


def trajectory(
    observation: Observation, workload: Workload, *, scale: np.ndarray | None = None
) -> Trajectory:
    """The trajectory of an observation that has all tensors.

    `scale` is the reference's, when an observation is compared with one.
    """
    names = [tensor.name for tensor in workload.tensors()]
    sketches = np.array([[step.parameters[name] for name in names] for step in observation.steps])
    if scale is None:
        scale = scales(sketches[-1], workload)
    return Trajectory(
        losses=np.array([step.loss for step in observation.steps]),
        tensors=sketches[-1],
        whole=(sketches[:, :, 1:] / scale[None, :, None]).sum(axis=1),
    )


def folder_of(workload_reference: str) -> Path:
    """The folder with the reference files of the module that defines a workload.

    This is `references` in the module's package. A module without a package has
    `<module>_references` beside it, since others share its folder.
    """
    import importlib

    name = workload_reference.partition(":")[0]
    module = importlib.import_module(name)
    assert module.__file__ is not None
    return Path(module.__file__).parent / ("references" if "." in name else f"{name}_references")


def save(path: Path, reference: Reference) -> None:
    """Write a reference file: plain arrays, no pickle."""
    arrays = arrays_of(reference.outputs)
    for mode, outputs in reference.modes.items():
        arrays.update((f"{mode}/{name}", array) for name, array in arrays_of(outputs).items())
    for name in ("plain", "own"):
        found: Trajectory = getattr(reference, name)
        for part in ("losses", "tensors", "whole"):
            arrays[f"{name}/{part}"] = getattr(found, part)
    how = {
        "schema": SCHEMA,
        "modes": list(reference.modes),
        "plain_rate": PLAIN_RATE,
        **reference.made,
    }
    made = json.dumps(how, sort_keys=True).encode()
    arrays["made"] = np.frombuffer(made, dtype=np.uint8)
    path.parent.mkdir(exist_ok=True)
    whole = io.BytesIO()
    np.savez(whole, **arrays)  # type: ignore[arg-type]
    write_whole(path, whole.getvalue())


def arrays_of(outputs: Outputs) -> dict[str, np.ndarray]:
    """Outputs as a file holds them: the seeds of SEEDS one by one, all others in one array."""
    arrays = {
        f"outputs/{seed}/{name}": sketch for seed in SEEDS for name, sketch in outputs[seed].items()
    }
    if more := [seed for seed in outputs if seed not in SEEDS]:
        for name in outputs[more[0]]:
            arrays[f"drawn/{name}"] = np.stack([outputs[seed][name] for seed in more])
    return arrays


def batch_of(seed: int) -> int:
    """The number of the batch for a set of parameters, where answers are computed. It differs, so
    that even a workload without parameters shows that it caches no results.
    """
    return min(seed, 1)  # there are at least two batches


def find(case: Case, workload: Workload, *, drawn: bool) -> Reference | Computed:
    """The reference of the proof's case and workload, for the seeds of DRAWN if `drawn`, as far as
    it has outputs for them.

    Raises MbenchError if its reference file is missing or damaged, or lacks outputs of the mode.
    """
    if type(workload).answers is not Workload.answers:
        return Computed(workload, DRAWN if drawn else SEEDS)
    found = load(folder_of(case.workload) / f"{workload.name}.npz", workload)
    if not scenario_of(case, workload).caches:
        return found
    if case.mode not in found.modes:
        raise MbenchError(
            f"the reference file of {workload.name} has no outputs of {case.mode}; write it again "
            f"with: {how_to_write(workload)}"
        )
    return replace(found, outputs=found.modes[case.mode])


def load(path: Path, workload: Workload) -> Reference:
    """Read a reference file; raises MbenchError unless it is complete and of this workload."""
    hint = f"write it with: {how_to_write(workload)}"
    if not path.exists():
        raise MbenchError(f"{workload.name} has no reference file {path}; {hint}")
    try:
        with opened(path, most=LARGEST_BYTES) as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        made = json.loads(arrays.pop("made").tobytes())
        reference = Reference(
            outputs=read_outputs(arrays),
            modes={mode: read_outputs(arrays, f"{mode}/") for mode in made.get("modes", ())},
            plain=read_trajectory(arrays, "plain", workload),
            own=read_trajectory(arrays, "own", workload),
            made=made,
        )
        if made["schema"] != SCHEMA:
            raise ValueError(f"schema {made['schema']} is not {SCHEMA}")
        if made["plain_rate"] != PLAIN_RATE:
            raise ValueError(f"its plain descent has the rate {made['plain_rate']}")
        if made["model"] != workload.name or made["proof"] != workload.proof:
            raise ValueError(f"it is for {made['model']} at {made['proof']}")
        if not all(all(one.values()) for one in (reference.outputs, *reference.modes.values())):
            raise ValueError("it holds no outputs")
    except Exception as error:  # damaged archives raise all kinds of zipfile, zlib, NumPy errors
        said = " ".join(str(error).split())
        raise MbenchError(
            f"{path} is not a reference file of {workload.name} ({said}); {hint}"
        ) from None
    return reference


def how_to_write(workload: Workload) -> str:
    """The command that writes the reference file of `workload`."""
    which = "" if workload.model_files else " --framework FRAMEWORK"
    return f"mbench new reference {workload.name}{which}"


def read_outputs(
    arrays: Mapping[str, np.ndarray], beginning: str = ""
) -> dict[int, dict[str, np.ndarray]]:
    """The outputs whose names in the file have this prefix."""
    own = {
        name[len(beginning) :]: array
        for name, array in arrays.items()
        if name.startswith(beginning)
    }
    first = {
        seed: {
            name.split("/", 2)[2]: shaped(array, (6,))
            for name, array in own.items()
            if name.startswith(f"outputs/{seed}/")
        }
        for seed in SEEDS
    }
    return first | read_drawn(own)


def read_drawn(arrays: Mapping[str, np.ndarray]) -> dict[int, dict[str, np.ndarray]]:
    """The outputs of the seeds beyond SEEDS; none where the reference file has none."""
    more = [seed for seed in DRAWN if seed not in SEEDS]
    found = {
        name.partition("/")[2]: shaped(array, (len(more), 6))
        for name, array in arrays.items()
        if name.startswith("drawn/")
    }
    sets = enumerate(more) if found else ()
    return {seed: {name: array[at] for name, array in found.items()} for at, seed in sets}


def read_trajectory(arrays: Mapping[str, np.ndarray], name: str, workload: Workload) -> Trajectory:
    count, steps = len(workload.tensors()), KEPT[name]
    return Trajectory(
        losses=shaped(arrays[f"{name}/losses"], (steps,)),
        tensors=shaped(arrays[f"{name}/tensors"], (count, 6)),
        whole=shaped(arrays[f"{name}/whole"], (steps, 5)),
    )


def shaped(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """`array`, if it is finite float64 of that shape; else raises ValueError."""
    if array.shape != tuple(shape) or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"an array of {array.dtype} {array.shape} should be {tuple(shape)}")
    return array
