"""What is kept and written down of a proof of equal work."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.reading import Malformed

__all__ = ["EQUAL", "PROVEN", "SHOWN", "FindingRecord", "ProofRecord", "RememberedProof"]

PROVEN = "proven"
"""The grade of a proof that is made in float64."""
SHOWN = "shown in fp32"
"""The weaker one, of a framework that has no float64."""
EQUAL = (PROVEN, SHOWN)


@dataclass(frozen=True, kw_only=True)
class FindingRecord:
    """One check."""

    check: str
    """Name of the check."""
    error: float | None
    """Largest relative error; None where it has no size, or where the check could not be made."""
    gate: float
    """Largest relative error that passes."""
    where: str
    """What has that error."""
    note: str
    """What the pattern of errors suggests, or why there is no error."""
    passed: bool
    """The error is within the gate."""


@dataclass(frozen=True, kw_only=True)
class ProofRecord:
    """All findings on one case."""

    proven: bool
    """Every check passed, for what its grade is worth."""
    worst: float | None
    """Largest relative error of what is timed."""
    failures: list[str]
    """One line for each check that failed."""
    findings: list[FindingRecord]
    """All checks, in the order in which they were made."""
    notes: list[str]
    """What was proven by other means than usual."""
    version: str
    """Version of the framework that was proven, as its worker told it."""
    grade: str = PROVEN
    """How much it says where it holds: `proven` in float64, or `shown in fp32`."""
    remembered: bool = False
    """The proof was made before, and was remembered."""

    def __post_init__(self) -> None:
        if self.proven is bool(self.failures):
            raise Malformed("a proof either holds or has failures")


@dataclass(frozen=True, kw_only=True)
class RememberedProof:
    """What a file of the cache holds."""

    key: str
    """Of what it was made under, which is the file's name too."""
    proof: ProofRecord
