"""The summary itself, as strict JSON."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["render"]


def render(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
