"""Writes the reference file of a model from its reference implementation in float64.

Workloads name their reference implementations. Whichever framework runs them, all others must agree
with the result to 1e-9, so a wrong reference file cannot go unnoticed.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.environments.locate import find
from mbench.errors import MbenchError, UsageError, why
from mbench.machine.cores import default_threads
from mbench.proofs.proof_case import proof_case, proof_work
from mbench.proofs.reference import (
    DRAWN,
    KEPT,
    MOST_ROUNDED,
    PLAIN_RATE,
    Reference,
    folder_of,
    rounding,
    save,
    trajectory,
)
from mbench.scenarios.find import in_mode, resolve
from mbench.spec.arm import named, parse
from mbench.spec.selection import load_workload, reference_of
from mbench.workloads.decoder import Decoder

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from mbench.contract.workload import Workload
    from mbench.plugins.launcher import Worker
    from mbench.plugins.manager import Plugins

__all__ = ["write_reference"]

CACHED = ("prefill", "decode")
"""Modes whose outputs are parts of a whole sequence's outputs."""


def write_reference(
    model: str,
    framework: str | None,
    plugins: Plugins,
    *,
    workload: str | None = None,
    report: Callable[[str], None],
) -> Path:
    """Write the reference file of `model`, or of one of its longer forms, computed by `framework`.

    Without `framework`, it is the first framework for which the model comes with an implementation.
    `workload`, "module:attribute", is given for a model that no plugin has registered. `report` is
    called when an environment is built. Raises MbenchError.
    """
    workload = workload or reference_of(model, plugins.workloads)
    framework = framework or next(iter(load_workload(workload, model).model_files), None)
    if framework is None:
        raise UsageError(
            f"{model} comes with no implementation of its own: give --framework", option="framework"
        )
    spec = parse(framework)
    adapter = plugins.adapter(spec.name)
    spec = named(spec, adapter.name)
    case = proof_case(
        Case(
            model=model,
            workload=workload,
            mode="inference",
            batch_size=1,
            precision="fp64",
            compiler=next(iter(adapter.compilers)),
            device="cpu",
            threads=default_threads().count,
        )
    )
    if not (answer := adapter.supports(case)).supported:
        raise UsageError(f"{model} in {adapter.title}: {answer.reason}")
    environment = find(spec, adapter, accelerator="cpu", provision=True, report=report)
    path = folder_of(case.workload) / f"{model}.npz"
    with tempfile.TemporaryDirectory() as folder:
        try:
            log = Path(folder, "log")
            worker, info = launch(adapter, environment, case, log=log, timeout=3600)
            try:
                made = {"framework": adapter.name, "version": info.version}
                save(path, computed(worker, case, made))
            finally:
                worker.close()
        except CaseEnded as error:
            raise MbenchError(f"{model} in {adapter.title}: {error}") from None
        except OSError as error:
            raise MbenchError(f"cannot write {path}: {why(error)}") from None
    return path


def computed(worker: Worker, case: Case, made: dict[str, str]) -> Reference:
    """All passes of one model. Raises MbenchError if rounding could be visible in them."""
    work = proof_work(case)
    workload = resolve(case, work)

    def observe(seed: int, steps: int) -> wire.Observation:
        request = wire.Observe(seed=seed, steps=steps)
        seen: wire.Observation = worker.ask(request, wire.Observation)
        return seen

    import numpy as np

    def outputs_of(one: Case) -> dict[int, dict[str, np.ndarray]]:
        worker.prepare(one, load=False, work=work)
        return {
            seed: {
                name: np.array(sketch) for name, sketch in observe(seed, 1).steps[0].outputs.items()
            }
            for seed in DRAWN
        }

    outputs = outputs_of(case)
    modes = {mode: outputs_of(whole) for mode, whole in wholes(case, workload).items()}
    trajectories = {}
    for name, steps in KEPT.items():
        own = work.plain(PLAIN_RATE) if name == "plain" else work
        worker.prepare(in_mode(case, "train"), load=False, work=own)
        trajectories[name] = trajectory(observe(0, steps), workload)
    found = Reference(
        outputs=outputs,
        **trajectories,
        modes=modes,
        made={**made, "model": workload.name, "proof": workload.proof},
    )
    check_rounding(found, workload)
    return found


def wholes(case: Case, workload: Workload) -> dict[str, Case]:
    """For each mode that uses a cache, the forward pass over the whole sequence that gives the same
    outputs without a cache.
    """
    found = {}
    for mode in CACHED if isinstance(workload, Decoder) else ():
        config = cast("Decoder", resolve(in_mode(case, mode))).config
        own = {name: getattr(config, name) for name in ("sequence_length", "logits_to_keep")}
        found[mode] = replace(case, sizes={**case.sizes, **own})
    return found


def check_rounding(found: Reference, workload: Workload) -> None:
    """Raises MbenchError if changes are so small compared with parameters that rounding shows."""
    for made in (found.plain, found.own):
        shares = rounding(made.tensors, workload)
        if shares.max() > MOST_ROUNDED:
            tensor = workload.tensors()[int(shares.argmax())]
            raise MbenchError(
                f"{workload.name}: float64 rounds the change of {tensor.name} by"
                f" {shares.max():.1g} of its size, but at most {MOST_ROUNDED:.0e} is allowed;"
                f" its proof needs a larger learning rate"
            )
