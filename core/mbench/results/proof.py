"""What is recorded of a proof of equal work, and kept in the cache."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.reading import Malformed

__all__ = ["EQUAL", "PROVEN", "SHOWN", "FindingRecord", "ProofRecord", "RememberedProof"]

PROVEN = "proven"
"""The grade of a proof that is made in float64."""
SHOWN = "shown in fp32"
"""The weaker grade, for a framework that has no float64."""
EQUAL = (PROVEN, SHOWN)


@dataclass(frozen=True, kw_only=True)
class FindingRecord:
    """One check."""

    check: str
    """Name of the check."""
    error: float | None
    """Largest relative error; None if it has no size, or if the check could not be made."""
    gate: float
    """Largest relative error that passes."""
    where: str
    """What has that error."""
    note: str
    """What the pattern of errors suggests, or why there is no error."""
    passed: bool
    """Whether the error is within the gate."""


@dataclass(frozen=True, kw_only=True)
class ProofRecord:
    """All findings on one case."""

    proven: bool
    """Whether every check passed, to the extent that its grade allows."""
    worst: float | None
    """Largest relative error of what is timed."""
    failures: list[str]
    """One line for each check that failed."""
    findings: list[FindingRecord]
    """All checks, in the order in which they were made."""
    notes: list[str]
    """What was proven by other means than usual."""
    version: str
    """Version of the framework that was proven, as reported by its worker."""
    grade: str = PROVEN
    """How strong the proof is if it holds: `proven` in float64, or `shown in fp32`."""
    remembered: bool = False
    """Whether the proof was made earlier, and remembered."""

    def __post_init__(self) -> None:
        if self.proven is bool(self.failures):
            raise Malformed("a proof either holds or has failures")


@dataclass(frozen=True, kw_only=True)
class RememberedProof:
    """What a file in the cache of proofs holds."""

    key: str
    """The key of the conditions under which the proof was made, which is also the file's name."""
    proof: ProofRecord
