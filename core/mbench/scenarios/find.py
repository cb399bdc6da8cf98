"""Finds the scenario of a case, and what the case asks for, from its references alone."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mbench.contract.feed import RESIDENT, WARM, feed_of
from mbench.contract.precision import PRECISIONS
from mbench.contract.quantized import FAMILIES
from mbench.contract.scenario import UPDATES
from mbench.scenarios.collective import COLLECTIVE
from mbench.scenarios.copy import COPIES
from mbench.scenarios.decode import DECODE
from mbench.scenarios.inference import INFERENCE
from mbench.scenarios.load import LOAD
from mbench.scenarios.operator import CALLS, GRADIENTS
from mbench.scenarios.phase import BACKWARD, FORWARD
from mbench.scenarios.prefill import PREFILL
from mbench.scenarios.train import TRAIN
from mbench.scenarios.update import UPDATE
from mbench.workloads.find import find_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.adapter import Runtime
    from mbench.contract.case import Case, ProofWork
    from mbench.contract.scenario import Scenario, Steps, Work
    from mbench.contract.workload import Workload

__all__ = ["OURS", "SCENARIOS", "UnknownMode", "exchanges", "find_scenarios",
           "for_operators", "in_mode", "plain_step", "prepared", "resident",
           "resolve", "scenario_of", "takes", "updates",
           "work_of"]  # fmt: skip

OURS = "mbench.scenarios.find:SCENARIOS"
SCENARIOS: Mapping[str, Sequence[Scenario]] = {
    "train": (TRAIN, UPDATE, GRADIENTS),
    "inference": (INFERENCE, COPIES, COLLECTIVE, CALLS),
    "forward": (FORWARD,),
    "backward": (BACKWARD,),
    "load": (LOAD,),
    "prefill": (PREFILL,),
    "decode": (DECODE,),
}
"""Scenarios by mode. If there are several, the first that suits the workload is used."""


class UnknownMode(ValueError):
    """There is no such mode."""


def find_scenarios(mode: str, reference: str = "") -> Sequence[Scenario]:
    """The scenarios that a mode may mean. `reference`, as "module:attribute", names a scenario,
    several, or a mapping from modes to either; without one, they are mbench's own. Raises
    UnknownMode.
    """
    found: object = SCENARIOS
    if reference and reference != OURS:
        module, _, attribute = reference.partition(":")
        found = getattr(importlib.import_module(module), attribute)
    if isinstance(found, Mapping):
        if mode not in found:
            raise UnknownMode(f"there is no mode {mode}; available: {', '.join(found)}")
        found = found[mode]
    return found if isinstance(found, (tuple, list)) else (found,)


def scenario_of(case: Case, workload: Workload | None = None) -> Scenario:
    """The scenario that the case's mode means for its workload; raises UnknownMode.

    If none suits the workload, this is the last one, whose `suits` says why.
    """
    candidates = find_scenarios(case.mode, case.scenario)
    if len(candidates) == 1:
        return candidates[0]
    workload = workload or find_workload(case.workload, case.model)
    return next((one for one in candidates if not one.suits(workload)), candidates[-1])


def takes(mode: str, size: str, scenarios: Mapping[str, Sequence[Scenario]] = SCENARIOS) -> bool:
    """Whether a mode uses a size of a model: some sizes belong only to certain modes, by their
    `scenarios`.
    """
    of_modes = {name: {taken for one in found for taken in one.takes}
                for name, found in scenarios.items()}  # fmt: skip
    if of_modes[mode]:
        return size in of_modes[mode]
    return not any(size in sizes for sizes in of_modes.values())


def in_mode(case: Case, mode: str) -> Case:
    """`case` in one of mbench's own modes; except in `train`, without what only `train` has."""
    found = dataclasses.replace(case, mode=mode, scenario="")
    return found if mode == "train" else plain_step(found)


def for_operators(case: Case) -> Case:
    """`case` in the mode in which the operators of its steps run: operators have no caches."""
    return in_mode(case, "inference") if scenario_of(case).caches else case


def plain_step(case: Case) -> Case:
    """`case` on resident batches, without gradient accumulation or activation checkpointing."""
    return dataclasses.replace(resident(case), accumulate=1, checkpoint=False)


def resident(case: Case) -> Case:
    """`case` on resident batches."""
    return dataclasses.replace(case, data=RESIDENT, loaders=0, storage=WARM)


def check_training(case: Case, workload: Workload, scenario: Scenario) -> None:
    """Raises ValueError if a case has no gradients to accumulate, no activations that a backward
    pass could recompute, or a batch that cannot be divided.
    """
    parts, trains = case.accumulate, scenario.proof == UPDATES
    if case.checkpoint and not trains:
        raise ValueError(
            f"--checkpoint applies to training: {workload.name} {case.mode} has no update"
        )
    if parts == 1:
        return
    if not trains:
        raise ValueError(
            f"--accumulate applies to training: {workload.name} {case.mode} has no update"
        )
    if case.devices > 1:
        raise ValueError("--accumulate works on one device only: use --scale 1x1")
    if not all(tensor.trainable for tensor in workload.tensors()):
        raise ValueError(
            f"{workload.name} has batch norm, so micro-batches do not compute the same as the "
            "whole batch: use --accumulate with models without batch norm"
        )
    if case.batch_size % parts:
        raise ValueError(
            f"a batch of {case.batch_size} cannot be divided into {parts} micro-batches: "
            f"use a --batch-size that is a multiple of {parts}"
        )


def check_feed(case: Case, workload: Workload, scenario: Scenario) -> None:
    """Raises ValueError if a case cannot use images from files, or needs them and has none."""
    if feed_of(case.data) == RESIDENT:
        if scenario.needs_files and case.mode == scenario.name:
            raise ValueError(
                f"--mode {case.mode} reads images from files: give a folder with --data"
            )
        return
    what = f"{workload.name} {case.mode}"
    if not scenario.feeds:
        raise ValueError(f"--data applies to training and inference, not to {what}")
    if "image_size" not in workload.sizes:
        raise ValueError(f"--data reads images from a folder, but {what} does not use images")
    if case.devices > 1:
        raise ValueError("--data works on one device only: use --scale 1x1")


def check_integers(case: Case, workload: Workload, scenario: Scenario) -> None:
    """Raises ValueError if a case asks for a quantized precision that its model or mode cannot
    have.
    """
    precision = PRECISIONS.get(case.precision)
    if precision is None or not precision.quantized:
        return
    if workload.family not in FAMILIES:
        families = f"{', '.join(FAMILIES[:-1])} and {FAMILIES[-1]}"
        raise ValueError(
            f"{workload.name} has no {case.precision}, which applies only to linear layers in "
            f"models of the families {families}"
        )
    if scenario.training:
        raise ValueError(f"{case.precision} applies to inference: use --mode inference")


def updates(case: Case) -> bool:
    """Whether the case's steps change parameters and are judged by them, not by their outputs."""
    return scenario_of(case).updates


def exchanges(case: Case) -> bool:
    """Whether the case's processes wait for each other in each step."""
    return case.devices > 1 and scenario_of(case).exchanges


def resolve(case: Case, proof: ProofWork | None = None) -> Workload:
    """The workload at this case's sizes, with its toggles applied, as its steps need it; `proof`
    says how a proof changes the workload.

    Raises ValueError if the workload does not allow these (an image size for a text model).
    """
    workload = find_workload(case.workload, case.model)
    scenario = scenario_of(case, workload)
    check_training(case, workload, scenario)
    check_integers(case, workload, scenario)
    check_feed(case, workload, scenario)
    workload = workload.resized(**case.sizes)
    optimizer = (proof and proof.optimizer) or workload.optimizer
    if not case.clip:
        optimizer = dataclasses.replace(optimizer, clip_norm=None)
    config = workload.config if case.dropout else workload.config.without_dropout()
    if proof and proof.layers is not None:
        config = dataclasses.replace(config, layers=proof.layers)  # type: ignore[type-var]
    return scenario.fitted(workload.replace(optimizer=optimizer, config=config), case)


def work_of(
    case: Case, workload: Workload | None = None, *, proof: ProofWork | None = None
) -> Work:
    """What `case` asks of a framework, for an already resolved `workload` or its own.

    Raises ValueError as `resolve` does.
    """
    workload = workload or resolve(case, proof)
    work = scenario_of(case, workload).work(workload, case)
    return dataclasses.replace(work, parts=proof.parts) if proof else work


def prepared(runtime: Runtime, work: Work) -> Steps:
    """The steps of a case, as a worker times them; raises Unsupported."""
    return work.scenario.prepare(runtime.prepare(work), work)
