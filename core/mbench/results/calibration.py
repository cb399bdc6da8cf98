"""Stores how much identical processes differ on this machine, case by case."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract.reading import Malformed, read_fields
from mbench.errors import MbenchError
from mbench.files import read_json, write_whole
from mbench.results.identity import CALIBRATED

if TYPE_CHECKING:
    from mbench.results.identity import CaseIdentity

__all__ = ["MOST_DAYS", "Calibration", "keep", "recall"]

MOST_DAYS = 30
"""Days for which a calibration counts. Machines change, but by at most a third from day to day."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A framework measured against itself."""

    run: str
    """The run that measured it."""
    started: str
    """When that run began: ISO 8601, UTC."""
    ratios: list[float]
    """Ratio of each pair of fresh, identical processes."""
    disturbances: list[str]
    """What disturbed that run."""

    def __post_init__(self) -> None:
        """Raises Malformed for ratios that two identical processes cannot have."""
        if not self.ratios or not all(1e-6 < ratio < 1e6 for ratio in self.ratios):
            raise Malformed(f"not ratios of identical processes: {self.ratios!r:.60}")


def folder() -> Path:
    """The folder `calibrations` in the user's data folder, or the one that MBENCH_CALIBRATIONS
    names.
    """
    import platformdirs

    chosen = os.environ.get("MBENCH_CALIBRATIONS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_data_path("mbench", appauthor=False) / "calibrations"


def file(identity: CaseIdentity) -> Path:
    digest = hashlib.sha256(identity.key(CALIBRATED).encode()).hexdigest()
    return folder() / f"{digest[:24]}.json"


def keep(identity: CaseIdentity, calibration: Calibration) -> None:
    """Replace the stored calibration of a case; raises MbenchError if it cannot be written."""
    path = file(identity)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        holds_for = identity.values(CALIBRATED)
        text = json.dumps({"holds_for": holds_for, "calibration": asdict(calibration)}, indent=2)
        write_whole(path, f"{text}\n".encode())
    except OSError as error:
        raise MbenchError(
            f"cannot store the calibration in {path.parent}: {error.strerror}; "
            "set MBENCH_CALIBRATIONS to another folder"
        ) from None


def recall(identity: CaseIdentity) -> Calibration | None:
    """The stored calibration of a case; None if there is none, if it cannot be read, or if it is
    older than MOST_DAYS.
    """
    try:
        kept = read_json(file(identity))["calibration"]
        found: Calibration = read_fields(Calibration, kept, where="calibration")
        age = datetime.now(timezone.utc) - datetime.fromisoformat(found.started)
    except (MbenchError, ValueError, LookupError, TypeError, OverflowError):
        return None
    return found if abs(age) <= timedelta(days=MOST_DAYS) else None
