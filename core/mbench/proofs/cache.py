"""Remembers proofs, each under everything that could change its outcome."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from functools import cache as once
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mbench import workloads
from mbench.contract.reading import read_fields
from mbench.contract.tier import tier_of
from mbench.engine.isolation import inherited_variables, thread_variables, worker_variables
from mbench.environments.locate import available
from mbench.environments.look import identity
from mbench.errors import MbenchError
from mbench.files import read_json, write_whole
from mbench.machine.cores import default_threads
from mbench.machine.devices import accelerator, usual
from mbench.machine.system import cpu_model
from mbench.plugins.launcher import package_files
from mbench.proofs import cache
from mbench.proofs.proof_case import proof_case, proof_work
from mbench.results.proof import RememberedProof
from mbench.scenarios.find import resolve
from mbench.spec.arm import Arm
from mbench.spec.experiment import Experiment, Launch, Sweep
from mbench.spec.planning import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case, ProofWork
    from mbench.environments.environment import Environment
    from mbench.plugins.manager import Plugins
    from mbench.proofs.judge import Proof
    from mbench.results.proof import ProofRecord
    from mbench.spec.planning import Entry

__all__ = ["NOT_YET", "UNSUPPORTED", "ProofStatus", "folder", "key", "proof_statuses", "recall",
           "remember", "remembered"]  # fmt: skip


PROVING = ("contract", "proofs", "scenarios", "sdk", "worker", "workloads")
"""The packages of mbench on which a proof's outcome depends."""
NOT_YET, UNSUPPORTED = "not proven yet", "unsupported"


def folder() -> Path:
    """`proofs` in the user's cache, or what MBENCH_PROOFS names."""
    import platformdirs

    chosen = os.environ.get("MBENCH_PROOFS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_cache_path("mbench", appauthor=False) / "proofs"


def key(adapter: Adapter, environment: Environment, case: Case, work: ProofWork) -> str:
    """The name of the proof of `case`: a digest of code, installed files, interpreter, libraries,
    variables, device and reference.

    The code itself is digested rather than a version, so a changed adapter is proven anew.
    """
    tier = tier_of(adapter, case.tier)  # by its settings: tiers with the same settings share proofs
    whole = [
        asdict(replace(case, tier="")),
        asdict(work),
        tier and (dict(tier.variables), dict(tier.settings)),
        adapter.name,
        str(environment.python),
        sorted(environment.packages.items()),
        identity(environment, variables_of(adapter, environment, case)),
        inherited_variables([adapter]),
        cpu_model(),
        device_and_driver(case.device),
        code_digest(adapter, (case.workload, case.scenario), case.model, resolve(case).family),
    ]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:24]


def variables_of(adapter: Adapter, environment: Environment, case: Case) -> dict[str, str]:
    """The environment variables of a worker of `case`, except those for its threads."""
    given = {
        **worker_variables(adapter, case),
        **environment.variables(),
        **case.variables,
    }
    return {name: value for name, value in given.items() if name not in thread_variables(1)}


def device_and_driver(device: str) -> str:
    """The device that workers will use, and its driver: kernels depend on both."""
    found = accelerator(device)
    return "" if found is None else f"{found.name}, {found.driver}"


def code_digest(adapter: Adapter, references: Sequence[str], model: str, family: str) -> str:
    """A digest of what can change the outcome: the model's reference file, and the Python files of
    the adapter's package, of the packages of workload and scenario (the `references`), and of the
    parts of mbench that make proofs.

    Other models' reference files do not count, nor does an adapter's code for other families.
    """
    digest = hashlib.sha256()
    named = filter(None, (adapter.runtime, *references))
    tops = {reference.partition(":")[0].partition(".")[0] for reference in named}
    models = tuple(adapter.models.split("."))
    for top in sorted({"mbench", *tops}):
        for path, name in files(top):
            if path.suffix == ".npz" and path.stem != model:
                continue
            if in_package(path, models) and path.stem != family and is_family(path.stem):
                continue
            digest.update(name)
            digest.update(content(path))
    return digest.hexdigest()


@functools.cache
def files(top: str) -> list[tuple[Path, bytes]]:
    """Python files and reference files of a top-level package, or beside a module that is in no
    package, each with its relative path.
    """
    file = Path(package_files([top])[top])
    folder = file.parent
    if top == "mbench":
        found = [path for part in PROVING for path in (folder / part).rglob("*")]
    elif file.name == "__init__.py":
        found = list(folder.rglob("*"))
    else:
        found = [file, *(folder / f"{top}_references").glob("*")]
    kept = sorted(path for path in found if path.suffix in (".py", ".npz"))
    return [(path, f"{path.relative_to(folder)}\0".encode()) for path in kept]


def in_package(path: Path, package: tuple[str, ...]) -> bool:
    """Whether a file is a module of the package that has these names, from the top down."""
    return package != ("",) and path.parent.parts[-len(package) :] == package


@functools.cache
def is_family(name: str) -> bool:
    found = Path(workloads.__path__[0], name)
    operators = found.with_name("operators") / f"{name}.py"
    return found.is_dir() or found.with_suffix(".py").exists() or operators.exists()


@functools.cache
def content(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def recall(name: str) -> ProofRecord | None:
    """An earlier proof; None if no proof can be read and trusted.

    It must have the right key, contain checks, and belong to this user.
    """
    try:
        kept = read_json(folder() / f"{name}.json", ours=True)
        found: RememberedProof = read_fields(RememberedProof, kept, where="proof")
    except (MbenchError, ValueError):
        return None
    proof = found.proof
    checked = bool(proof.findings) and all(finding.passed for finding in proof.findings)
    return proof if found.key == name and proof.proven and checked else None


def remember(name: str, proof: Proof) -> None:
    """Store a proof that succeeded. Failures are not stored, since they are meant to be fixed."""
    if proof.proven:
        with contextlib.suppress(OSError):  # then the proof is made again
            folder().mkdir(parents=True, exist_ok=True)
            path = folder() / f"{name}.json"
            kept = RememberedProof(key=name, proof=proof.record())
            # It would not be trusted if others could write it.
            write_whole(path, json.dumps(asdict(kept)).encode(), mode=0o644)


@dataclass(frozen=True)
class ProofStatus:
    """`word` is "proven", "shown in fp32", NOT_YET or UNSUPPORTED; for the last, `reason`
    says why.
    """

    word: str
    reason: str = ""


def proof_statuses(plugins: Plugins, models: Sequence[str]) -> dict[tuple[str, str], ProofStatus]:
    """By model and framework: whether `mbench verify`, with its defaults, has a stored proof.

    Only environments that exist are considered.
    """
    adapters = plugins.adapters.unique()
    if not adapters or not models:
        return {}
    experiment = Experiment(
        arms=tuple(map(Arm, adapters)),
        sweeps=(Sweep(axes={"model": tuple(models)}),),
        launch=Launch(device=usual(), threads=default_threads().count),
    )
    environments = {name: once(partial(available, adapter)) for name, adapter in adapters.items()}
    return {
        (entry.case.model, entry.spec.name): proof_status(entry, environments[entry.spec.name])
        for comparison in plan(experiment, plugins)
        for entry in comparison.entries
    }


def proof_status(entry: Entry, environments: Callable[[], Sequence[Environment]]) -> ProofStatus:
    if not entry.support.supported:
        return ProofStatus(UNSUPPORTED, entry.support.reason)
    for environment in environments():
        if known := remembered(entry, environment):
            return ProofStatus(known.grade)
    return ProofStatus(NOT_YET)


def remembered(entry: Entry, environment: Environment) -> ProofRecord | None:
    """The proof of an entry in an environment, on one device; None if it has not been made yet."""
    case, work = proof_case(entry.case), proof_work(entry.case)
    return cache.recall(cache.key(entry.adapter, environment, case, work))
