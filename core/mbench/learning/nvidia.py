"""Training tables as in the READMEs of NVIDIA's DeepLearningExamples: accuracy and time to train,
and the stability of accuracy over seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.learning.task import ACCURACY
from mbench.reports.grid import Grid, speedup

if TYPE_CHECKING:
    from mbench.learning.analyse import ArmSummary, LearningSummary, Spread
    from mbench.reports.grid import Cell

__all__ = ["tables"]

DECIMALS, HOUR = 4, 3600


def tables(found: LearningSummary) -> list[Grid]:
    """Accuracy in percent, a loss as it is; times in hours, as NVIDIA's, or in seconds if short."""
    return [accuracy(found), stability(found)]


def accuracy(found: LearningSummary) -> Grid:
    """The mean of all seeds, the mean time to train, and its speed-up over the first framework."""
    what, base = named(found), found.arms[0]
    first = base.time_to_train.mean
    unit, size = ("h", HOUR) if first is None or first >= HOUR / 10 else ("s", 1)
    precision = base.how.partition(",")[0]
    grid = Grid(
        f"Training accuracy: {found.task}, {found.steps} steps, {found.machine}",
        ("Framework", "Devices", "Batch size / device", f"{what} - {precision}",
         f"Time to train ({unit}) - {precision}",
         f"Time to train speedup ({base.label} to framework)"),
    )  # fmt: skip
    for arm in found.arms:
        time = arm.time_to_train.mean
        grid.rows.append([
            arm.label, 1, found.batch_size, level(figures(arm, found).mean, found),
            None if time is None else round(time / size, DECIMALS), speedup(first, time),
        ])  # fmt: skip
        if arm.ended:
            grid.note(f"{arm.label}: {arm.ended}")
    return grid


def stability(found: LearningSummary) -> Grid:
    what = named(found)
    grid = Grid(
        f"Training stability: {counted(found.seeds, 'seed')}, {what.lower()} after "
        f"{found.steps} steps",
        ("Framework", "Seeds", "Average", "Standard deviation", "Minimum", "Maximum"),
    )  # fmt: skip
    for arm in found.arms:
        known = figures(arm, found)
        spread: list[Cell] = [level(one, found) for one in
                              (known.mean, known.deviation, known.least, known.most)]  # fmt: skip
        grid.rows.append([arm.label, known.count, *spread])
    return grid


def named(found: LearningSummary) -> str:
    return "Accuracy (%)" if found.metric == ACCURACY else "Loss"


def figures(arm: ArmSummary, found: LearningSummary) -> Spread:
    return arm.accuracy if found.metric == ACCURACY else arm.loss


def level(value: float | None, found: LearningSummary) -> float | None:
    if value is None:
        return None
    return round(100 * value if found.metric == ACCURACY else value, DECIMALS)
