"""Remembers proofs, each under everything that could change its outcome."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.engine.local import package_files

if TYPE_CHECKING:
    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.equality.judge import Proof

__all__ = ["folder", "key", "recall", "remember"]


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
    modules = ("mbench", adapter.runtime, case.workload)
    whole = [
        asdict(case),
        adapter.name,
        str(environment.python),
        sorted(environment.packages.items()),
        code_digest(modules),
    ]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:24]


def code_digest(modules: tuple[str, ...]) -> str:
    """Of all Python files and fingerprints of the packages that hold `modules`."""
    digest = hashlib.sha256()
    tops = sorted({module.partition(":")[0].partition(".")[0] for module in modules})
    for top, file in package_files(tops).items():
        at = Path(file)
        package = at.name == "__init__.py"
        files = at.parent.rglob("*") if package else at.parent.glob(f"{top}_references/*")
        for path in [at, *sorted(files)]:
            if path.suffix in (".py", ".npz"):
                digest.update(f"{top}/{path.name}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def recall(name: str) -> dict[str, Any] | None:
    """The document of a proof made before; None where there is none that can be read."""
    try:
        document = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
        return document if isinstance(document["proven"], bool) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(name: str, proof: Proof) -> None:
    """Keep a proof that succeeded; a failure is made anew each time, since it is being mended."""
    if proof.proven:
        with contextlib.suppress(OSError):  # then it is made anew, that is all
            folder().mkdir(parents=True, exist_ok=True)
            path = folder() / f"{name}.json"
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_text(json.dumps(proof.document()), encoding="utf-8")
            fresh.replace(path)
