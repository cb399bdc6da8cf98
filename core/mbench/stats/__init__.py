"""Intervals, ratios, percentiles and verdicts, computed from raw values when they are read."""

from mbench.contract.metric import PERCENTILES, percentile, steps_for
from mbench.stats.contrasts import contrast, processes_for
from mbench.stats.intervals import (
    CONFIDENCE,
    FEWEST,
    STOPPED_CONFIDENCE,
    Interval,
    Scatter,
    geometric_interval,
    known_scatter,
    noise_within,
    stdev,
    sum_interval,
)
from mbench.stats.pairs import (
    Pair,
    Ratio,
    between_builds,
    detectable,
    pair_of,
    pairs_for,
    pairs_of,
    ratio,
)
from mbench.stats.trend import slope, trend
from mbench.stats.verdicts import ALIKE, VERDICTS, together, verdict, verdicts

__all__ = ["ALIKE", "CONFIDENCE", "FEWEST", "PERCENTILES", "STOPPED_CONFIDENCE", "VERDICTS",
           "Interval", "Pair", "Ratio", "Scatter", "between_builds", "contrast", "detectable",
           "geometric_interval", "known_scatter", "noise_within", "pair_of",
           "pairs_for", "pairs_of", "percentile", "processes_for", "ratio", "slope", "stdev",
           "steps_for", "sum_interval", "together", "trend", "verdict", "verdicts"]  # fmt: skip
