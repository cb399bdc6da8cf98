"""Where runs lie, and in which schema they are written."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["EVENTS_FILE", "SCHEMA", "default_folder"]

EVENTS_FILE = "run.jsonl"
SCHEMA = 1


def default_folder() -> Path:
    """`mbench-results` in the current folder, or what MBENCH_RESULTS names."""
    return Path(os.environ.get("MBENCH_RESULTS") or "mbench-results")
