"""Keeps how far identical processes lie apart on this machine, case by case."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.contract.axes import AXES
from mbench.contract.reading import Malformed, read_fields
from mbench.errors import MbenchError
from mbench.results.runfile import small_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.case import Case
    from mbench.machine.records import System

__all__ = ["Calibration", "keep", "key", "recall"]

MACHINE = ("hostname", "cpu", "physical_cores", "logical_cores", "memory_bytes", "gpus",
           "variables")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A framework against itself."""

    run: str
    """The run that measured it."""
    started: str
    """When that began: ISO 8601, UTC."""
    ratios: list[float]
    """Ratio of each pair of fresh, identical processes."""
    disturbances: list[str]
    """What disturbed it."""

    def __post_init__(self) -> None:
        """Raises Malformed for ratios that no two processes alike can have."""
        if not self.ratios or not all(1e-6 < ratio < 1e6 for ratio in self.ratios):
            raise Malformed(f"no ratios of identical processes: {self.ratios!r:.60}")


def folder() -> Path:
    """`calibrations` among the user's data, or what MBENCH_CALIBRATIONS names."""
    import platformdirs

    chosen = os.environ.get("MBENCH_CALIBRATIONS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_data_path("mbench", appauthor=False) / "calibrations"


def key(system: System, framework: str, version: str, case: Case) -> dict[str, Any]:
    """What a calibration holds for: machine, framework with its version, and case."""
    return {
        "machine": {name: getattr(system, name) for name in MACHINE},
        "framework": framework,
        "version": version,
        "case": {axis.name: axis.value(case) for axis in AXES} | {"workload": case.workload},
    }


def file(key: Mapping[str, Any]) -> Path:
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return folder() / f"{digest[:24]}.json"


def keep(key: Mapping[str, Any], calibration: Calibration) -> None:
    """Replace what was kept for `key`; raises MbenchError where it cannot be written."""
    path = file(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        text = json.dumps({"holds_for": dict(key), "calibration": asdict(calibration)}, indent=2)
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise MbenchError(
            f"cannot keep the calibration in {path.parent}: {error.strerror}; "
            "name another folder in MBENCH_CALIBRATIONS"
        ) from None


def recall(key: Mapping[str, Any]) -> Calibration | None:
    """What was kept for `key`; None where there is nothing, or nothing that can be read."""
    try:
        kept = json.loads(small_text(file(key)))["calibration"]
        found: Calibration = read_fields(Calibration, kept, where="calibration")
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return found
