"""Which framework runs this model faster here, by how much, and how sure are we?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbench.api import compare, load, read, run, verify
    from mbench.errors import MbenchError, UsageError
    from mbench.result import Interrupted, Proof, Proofs, Result, Verdict

__all__ = [
    "Interrupted",
    "MbenchError",
    "Proof",
    "Proofs",
    "Result",
    "UsageError",
    "Verdict",
    "compare",
    "load",
    "read",
    "run",
    "verify",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """What is public is imported when it is first asked for, so that `import mbench` is quick."""
    if name not in __all__:
        raise AttributeError(f"module 'mbench' has no attribute {name!r}")
    return getattr(import_module("mbench.api"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
