"""Remembers proofs, each under everything that could change its outcome."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mbench import workloads
from mbench.contract.reading import read_fields
from mbench.contract.tier import tier_of
from mbench.engine.isolation import inherited_variables
from mbench.machine.devices import accelerator
from mbench.machine.system import cpu_model
from mbench.plugins.launcher import package_files
from mbench.results.proof import RememberedProof
from mbench.results.runfile import small_text

if TYPE_CHECKING:
    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.proofs.judge import Proof
    from mbench.results.proof import ProofRecord

__all__ = ["folder", "key", "recall", "remember"]

PROVING = ("contract", "proofs", "sdk", "worker", "workloads")
"""The parts of mbench on which a proof's outcome depends."""


def folder() -> Path:
    """`proofs` in the user's cache, or what MBENCH_PROOFS names."""
    import platformdirs

    chosen = os.environ.get("MBENCH_PROOFS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_cache_path("mbench", appauthor=False) / "proofs"


def key(adapter: Adapter, environment: Environment, case: Case) -> str:
    """A name for the proof of `case`: of code, packages, toggles, device and fingerprint alike.

    The code itself is digested rather than a version, so that a changed adapter is proven anew.
    """
    tier = tier_of(adapter, case.tier)  # by what it sets: tiers that set the same share proofs
    whole = [
        asdict(replace(case, tier="")),
        tier and (dict(tier.variables), dict(tier.settings)),
        adapter.name,
        str(environment.python),
        sorted(environment.packages.items()),
        inherited_variables([adapter]),
        cpu_model(),
        device_and_driver(case.device),
        code_digest(adapter, case.workload, case.model, case.resolve().family),
    ]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:24]


def device_and_driver(device: str) -> str:
    """Of the one that workers will use: another has other kernels, and so has another driver."""
    found = accelerator(device)
    return "" if found is None else f"{found.name}, {found.driver}"


def code_digest(adapter: Adapter, workload: str, model: str, family: str) -> str:
    """Of what can change the outcome: the Python files of the adapter's and the workload's package
    and of the parts of mbench that make proofs, and the model's fingerprint.

    Other models' fingerprints do not count, nor does what an adapter has for other families.
    """
    digest = hashlib.sha256()
    tops = {module.partition(":")[0].partition(".")[0] for module in (adapter.runtime, workload)}
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
    """Python files and fingerprints of a top-level package, or beside a module of none, each with
    its place there.
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
    """A proof made before; None where there is none that can be read and believed.

    It has to say which key it was made under, to hold findings, and to be nobody else's work.
    """
    try:
        kept = json.loads(small_text(folder() / f"{name}.json", ours=True))
        found: RememberedProof = read_fields(RememberedProof, kept, where="proof")
    except (OSError, ValueError, RecursionError):
        return None
    proof = found.proof
    checked = bool(proof.findings) and all(finding.passed for finding in proof.findings)
    return proof if found.key == name and proof.proven and checked else None


def remember(name: str, proof: Proof) -> None:
    """Keep a proof that succeeded; a failure is made anew each time, since it is being mended."""
    if proof.proven:
        with contextlib.suppress(OSError):  # then it is made anew, that is all
            folder().mkdir(parents=True, exist_ok=True)
            path = folder() / f"{name}.json"
            kept = RememberedProof(key=name, proof=proof.record())
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_text(json.dumps(asdict(kept)), encoding="utf-8")
            fresh.chmod(0o644)  # others who might write it are not believed
            fresh.replace(path)
