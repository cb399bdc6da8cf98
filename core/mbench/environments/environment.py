"""The interpreter in which a framework lives, and what is installed beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mbench.environments.lock import Use

__all__ = ["MANAGED_VARIABLES", "Environment"]

# Packages of the user's account or of PYTHONPATH would shadow what a managed environment pins;
# an empty PYTHONPATH counts as none.
MANAGED_VARIABLES = {"PYTHONNOUSERSITE": "1", "PYTHONPATH": ""}


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where a worker of `label` starts.

    `digest` stands for requirements, Python and every resolved package of a managed environment;
    None where the environment is the user's own. `packages` maps normalized distribution names
    to versions.
    """

    label: str
    python: Path
    python_version: str
    managed: bool
    digest: str | None
    packages: Mapping[str, str]
    use: Use | None = field(default=None, repr=False, compare=False)
    """Keeps a managed environment from being removed while it is used."""

    def variables(self) -> dict[str, str]:
        """Environment variables that every process in this environment needs."""
        return dict(MANAGED_VARIABLES) if self.managed else {}

    def mend(self) -> str:
        """What to say to who finds it damaged."""
        if not self.managed:
            return ""
        name = self.python.parent.parent.name
        return f"if its environment is damaged, mbench env remove {name} lets it be built anew"
