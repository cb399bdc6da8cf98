"""The interpreter in which a framework runs, and the packages installed in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mbench.environments.managed import Use

__all__ = ["MANAGED_VARIABLES", "Environment"]

# Packages in the user's account or on PYTHONPATH would shadow those of a managed environment; an
# empty PYTHONPATH is as good as none.
MANAGED_VARIABLES = {"PYTHONNOUSERSITE": "1", "PYTHONPATH": ""}


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The environment in which a worker of `label` starts.

    `digest` identifies requirements, Python and every resolved package of a managed environment;
    None for the user's own. `packages` maps normalized distribution names to versions, `digests` to
    digests of their lists of files.
    """

    label: str
    python: Path
    python_version: str
    managed: bool
    digest: str | None
    packages: Mapping[str, str]
    digests: Mapping[str, str] = field(default_factory=dict)
    use: Use | None = field(default=None, repr=False, compare=False)
    """Keeps a managed environment from being removed while in use."""

    def variables(self) -> dict[str, str]:
        """Environment variables that every process in this environment needs."""
        return dict(MANAGED_VARIABLES) if self.managed else {}

    def hint(self) -> str:
        """What to do if the environment is damaged; empty for the user's own."""
        if not self.managed:
            return ""
        return f"if its environment is damaged, {self.remedy}"

    @property
    def remedy(self) -> str:
        """How to rebuild a managed environment."""
        return f"run mbench env remove {self.python.parent.parent.name} to have it rebuilt"
