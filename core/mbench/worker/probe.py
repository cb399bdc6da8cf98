"""Reports what an interpreter has, without importing it, as one line of JSON on stdout."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
from typing import TYPE_CHECKING

from mbench.contract.installed import distributions, files_of, missing
from mbench.worker import state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.installed import Distribution

__all__ = ["probe"]


def probe(imports: Sequence[str]) -> None:
    """Print an answer with the state of this process, in which no framework was imported; `missing`
    lists those `imports` that are not installed, `files` is a digest of all installed files.
    """
    answer = {
        "python": platform.python_version(),
        "missing": missing(imports),
        "path": state.PATH,
        "files": stamps(distributions()),
        "state": dataclasses.asdict(state.look()),
    }
    print(json.dumps(answer), flush=True)


def stamps(found: dict[str, Distribution]) -> str:
    """A digest of the sizes and modification times of all distributions' files; it also changes
    when a file is edited.
    """
    digest = hashlib.sha256()
    for name, one in found.items():
        digest.update(f"{name}\0{one.version}\0{one.digest}\0".encode())
        for path, _, _ in files_of(one):
            try:
                about = os.stat(path)
            except OSError:
                digest.update(b"gone\0")
            else:
                digest.update(f"{about.st_size} {about.st_mtime_ns}\0".encode())
    return digest.hexdigest()
