"""Writes the fingerprints anew from the reference implementation in float64.

Usage: python -m mbench.proofs.regenerate FRAMEWORK[@PYTHON] [MODEL ...]

The reference implementations are those that workloads name; whichever framework runs them, all
others must agree with the result to 1e-9, so a wrong fingerprint cannot pass unnoticed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.environments.locate import find
from mbench.errors import MbenchError
from mbench.machine.cores import default_threads
from mbench.plugins.manager import Plugins
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
from mbench.spec.framework import parse
from mbench.spec.selection import load_workload, reference_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.workload import Workload
    from mbench.plugins.launcher import Worker

__all__ = ["main"]


def main(framework: str, *models: str, workload: str | None = None) -> None:
    """Write the fingerprint of each model, of all and their longer forms if none is named.

    `workload`, "module:attribute", is that of a model which no plugin has registered.
    """
    plugins = Plugins()
    spec = parse(framework)
    adapter = plugins.adapter(spec.name)
    environment = find(spec, adapter, accelerator="cpu", provision=True, report=print)
    for model in models or everything(plugins):
        case = proof_case(
            Case(
                model=model,
                workload=workload or reference_of(model, plugins.workloads),
                mode="inference",
                batch_size=1,
                precision="fp64",
                compiler=next(iter(adapter.compilers)),
                device="cpu",
                threads=default_threads().count,
            )
        )
        if not adapter.supports(case).supported:
            print(f"{model}: not provided by {adapter.title}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            worker, info = launch(adapter, environment, case, log=log, timeout=3600)
            try:
                path = folder_of(case.workload) / f"{model}.npz"
                made = {"framework": spec.name, "version": info.version}
                save(path, fingerprint(worker, case, made))
            finally:
                worker.close()
        print(f"{path}: {path.stat().st_size / 1024:.1f} KiB")


def everything(plugins: Plugins) -> Iterator[str]:
    for model, reference in plugins.workloads.unique().items():
        yield model
        yield from (form.name for form in load_workload(reference, model).lengthened().values())


def fingerprint(worker: Worker, case: Case, made: dict[str, str]) -> Reference:
    """All passes of one model. Raises MbenchError where rounding could show in them."""
    work = proof_work(case)
    workload = resolve(case, work)

    def observe(seed: int, steps: int) -> wire.Observation:
        request = wire.Observe(seed=seed, steps=steps)
        seen: wire.Observation = worker.ask(request, wire.Observation)
        return seen

    import numpy as np

    worker.prepare(case, load=False, work=work)
    outputs = {
        seed: {name: np.array(sketch) for name, sketch in observe(seed, 1).steps[0].outputs.items()}
        for seed in DRAWN
    }
    trajectories = {}
    for name, steps in KEPT.items():
        own = work.plain(PLAIN_RATE) if name == "plain" else work
        worker.prepare(in_mode(case, "train"), load=False, work=own)
        trajectories[name] = trajectory(observe(0, steps), workload)
    found = Reference(
        outputs=outputs,
        **trajectories,
        made={**made, "model": workload.name, "proof": workload.proof},
    )
    check_rounding(found, workload)
    return found


def check_rounding(found: Reference, workload: Workload) -> None:
    """Raises MbenchError where changes are so small beside parameters that rounding shows."""
    for made in (found.plain, found.own):
        shares = rounding(made.tensors, workload)
        if shares.max() > MOST_ROUNDED:
            tensor = workload.tensors()[int(shares.argmax())]
            raise MbenchError(
                f"{workload.name}: float64 rounds the change of {tensor.name} by"
                f" {shares.max():.1g} of it, and at most {MOST_ROUNDED:.0e} may be;"
                f" its proof needs a larger learning rate"
            )


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    try:
        main(*sys.argv[1:])
    except (MbenchError, CaseEnded) as error:
        sys.exit(f"mbench: {error}")
