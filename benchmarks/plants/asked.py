"""What the variable PLANT asks for: "atan-3-40" is forty atan after each block of stage 3."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

__all__ = ["Plant", "asked", "hand_over"]


@dataclass(frozen=True)
class Plant:
    """`kind`: atan, copy, layout (there and back), sync (a hand-over to another thread, which is
    waited for) or sleep; `times`: how often, or how many milliseconds of sleep.
    """

    kind: str
    stage: int
    times: int

    def is_in(self, block: str) -> bool:
        """Whether the plant follows a block of this name: "layer3.0"."""
        stage, dot, number = block.partition(".")
        return bool(dot) and number.isdigit() and stage == f"layer{self.stage}"

    def wait(self) -> None:
        """Do the plant's work on the host: sleep, or hand over."""
        if self.kind == "sleep":
            time.sleep(self.times / 1000)
        else:
            hand_over(self.times)


def asked() -> Plant | None:
    """What is to be planted; None if nothing is."""
    kind, _, where = os.environ.get("PLANT", "").partition("-")
    stage, _, times = where.partition("-")
    return Plant(kind, int(stage), int(times)) if kind else None


OTHER = ThreadPoolExecutor(1)


def hand_over(times: int) -> None:
    for _ in range(times):
        OTHER.submit(int).result()
