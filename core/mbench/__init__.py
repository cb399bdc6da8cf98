"""Which framework runs this model faster here, by how much, and how certain is it?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbench.api.experiment import Experiment
    from mbench.api.fleet import diagnose, fleet_baseline, fleet_summary
    from mbench.api.functions import compare, load, read, run, verify
    from mbench.api.result import Interrupted, Proof, Proofs, Result, Training, Verdict
    from mbench.api.training import train
    from mbench.errors import MbenchError, UsageError
else:

    def __getattr__(name: str) -> object:
        """Import public names on first use, so that `import mbench` stays quick."""
        if name in __all__:
            for place in ("errors", "api.result", "api.experiment", "api.functions", "api.fleet",
                          "api.training"):  # fmt: skip
                module = import_module(f"mbench.{place}")
                if name in module.__all__:
                    return getattr(module, name)
        raise AttributeError(f"module 'mbench' has no attribute {name!r}")


__all__ = [
    "Experiment",
    "Interrupted",
    "MbenchError",
    "Proof",
    "Proofs",
    "Result",
    "Training",
    "UsageError",
    "Verdict",
    "compare",
    "diagnose",
    "fleet_baseline",
    "fleet_summary",
    "load",
    "read",
    "run",
    "train",
    "verify",
]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
