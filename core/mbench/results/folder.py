"""Where runs lie, and in which schema they are written."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["EVENTS_FILE", "SCHEMA", "default_folder", "ensure_home", "find_runs"]

EVENTS_FILE = "run.jsonl"
SCHEMA = 1


def find_runs(folder: Path) -> list[Path]:
    """The folders of all runs, oldest first."""
    return sorted(path.parent for path in folder.glob(f"*/{EVENTS_FILE}") if os.path.isfile(path))


def default_folder() -> Path:
    """`mbench-results` in the current folder, or what MBENCH_RESULTS names."""
    return Path(os.environ.get("MBENCH_RESULTS") or "mbench-results")


def ensure_home() -> None:
    """A user whom the system does not know has no home folder, as in some containers: then it is
    the root, in which nothing can be kept, and nothing has to be.
    """
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/"
