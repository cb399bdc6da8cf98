"""What `mbench calibrate` reports of a framework that it compared with itself."""

from __future__ import annotations

from summaries import case

from mbench.cli.calibrate import Calibrated, line
from mbench.results.replication import NextStep


def calibrated(**given):
    usual = {
        "axes": case().axes, "framework": "tiny", "version": "1.2", "ratio": 1.0, "low": None,
        "high": None, "process_pairs": 2, "verdict": "undetermined", "detectable": None,
        "reason": "another set of processes, about 42 s, did not fit into the 60 s",
        "next_step": None, "disturbances": [],
    }  # fmt: skip
    return Calibrated(**{**usual, **given})


def test_a_budget_that_was_too_small_is_followed_by_what_would_do():
    step = NextStep(half_width=None, process_pairs=1, seconds=42.0, options="--resume R")
    said = str(line(calibrated(next_step=step)))
    assert said.endswith(
        "not calibrated, another set of processes, about 42 s, did not fit into the 60 s; 1 more "
        "process pair, about 42 s: the same command with --resume R"
    )
    assert str(line(calibrated())).endswith("did not fit into the 60 s")
