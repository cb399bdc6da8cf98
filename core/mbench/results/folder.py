"""Where runs lie."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["EVENTS_FILE", "default_folder"]

EVENTS_FILE = "run.jsonl"


def default_folder() -> Path:
    """`mbench-results` in the current folder, or what MBENCH_RESULTS names."""
    return Path(os.environ.get("MBENCH_RESULTS") or "mbench-results")
