"""What the rows on a terminal cost: processor time of their thread, as a share of a core.

Usage: python benchmarks/progress.py [--seconds 10]

The rows of four frameworks are drawn on a simulated terminal of 120 columns: once while nothing is
timed, as during warm-up and proofs; once during repeated timed blocks of a quarter of a second,
with what is drawn in between; and once within one long block. The last figure counts: it is the
most that a timed block can be delayed. Noise does not affect processor time, so a busy machine can
measure it as well.
"""

from __future__ import annotations

import argparse
import io
import os
import time

from mbench.measure.activity import (
    BlockBegan,
    BlockEnded,
    ComparisonBegan,
    MeasuringBegan,
    PhaseBegan,
    ProcessBegan,
    RunPlanned,
)
from mbench.reports.progress.live import LiveProgress

BLOCK_SECONDS = 0.25
LABELS = ("torch", "tf", "mxnet", "paddle")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def opened() -> tuple[LiveProgress, Terminal]:
    """Rows in the middle of a run."""
    os.environ |= {"TERM": "xterm-256color", "COLUMNS": "120"}
    terminal = Terminal()
    progress = LiveProgress(terminal)
    progress.hear(RunPlanned((160.0, 160.0)))
    progress.hear(ComparisonBegan("resnet50 train, batch 8, fp32", LABELS))
    progress.hear(MeasuringBegan(5, 160.0))
    progress.hear(ProcessBegan(1))
    for label in LABELS:
        progress.hear(PhaseBegan(label, "warming up"))
    return progress, terminal


def idle(_: LiveProgress, seconds: float) -> float:
    """Nothing is timed."""
    begin = time.process_time()
    time.sleep(seconds)
    return time.process_time() - begin


def within(progress: LiveProgress, seconds: float) -> float:
    """One long block, after a second in which the thread becomes idle."""
    with progress.quiet():
        time.sleep(1.0)
        return idle(progress, seconds)


def between(progress: LiveProgress, seconds: float) -> float:
    """Blocks in turn, with what is drawn before and after them."""
    begin, end = time.process_time(), time.monotonic() + seconds
    turn = 0
    while time.monotonic() < end:
        label = LABELS[turn % len(LABELS)]
        progress.hear(BlockBegan(label, "round", turn // len(LABELS), 30, BLOCK_SECONDS))
        with progress.quiet():
            time.sleep(BLOCK_SECONDS)
        progress.hear(BlockEnded(label, 5.3))
        turn += 1
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description="what progress costs")
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    for what, measure in (
        ("while nothing is timed", idle),
        ("between blocks that take turns", between),
        ("within a block", within),
    ):
        progress, terminal = opened()
        before, frames = terminal.tell(), progress.frame
        used = measure(progress, seconds)
        drawn, written = progress.frame - frames, terminal.tell() - before
        progress.close()
        print(
            f"{what}: {100 * used / seconds:.4f} % of a core, {drawn / seconds:.1f} draws a second "
            f"of {1e3 * used / max(1, drawn):.1f} ms, {written / seconds:,.0f} bytes a second"
        )


if __name__ == "__main__":
    main()
