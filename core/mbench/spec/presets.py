"""The protocols by name, both as they are now and as runs stored them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.reading import Malformed, read_fields
from mbench.errors import UsageError
from mbench.spec.adaptive import Adaptive
from mbench.spec.fixed_steps import Counted
from mbench.spec.learning import Learning

if TYPE_CHECKING:
    from mbench.spec.protocol import Protocol

__all__ = ["PRESETS", "written_down"]

PRESETS: dict[str, Protocol] = {
    preset.name: preset
    for preset in (
        Adaptive(),
        # For mbench explain, which measures many small cases in the same processes.
        Adaptive(name="explain", processes=8, rounds=5, block_seconds=0.1, budget_seconds=1800.0),
        # DLPerf's README: 20 steps ignored, the next 100 timed, the median of 7 repetitions.
        Counted(name="dlperf", processes=7, warmup_steps=20, steps=100),
        # SuperBench's num_warmup and num_steps; every step is synchronised and timed.
        Counted(
            name="superbench", warmup_steps=64, steps=2048, step_by_step=("train", "inference")
        ),
        # NVIDIA DeepLearningExamples' MXNet benchmark.py, as used for its tables: -i 500 -e 3 -w 1.
        Counted(
            name="nvidia",
            steps=500,
            epochs=3,
            warmup_epochs=1,
            step_by_step=("inference",),
            percentiles_by_epoch=True,
        ),
    )
}
STORED: dict[str, type[Protocol]] = {
    **{name: type(preset) for name, preset in PRESETS.items()},
    Learning.name: Learning,
}
"""The protocols that runs may have: training has a command of its own."""


def written_down(constants: object) -> Protocol:
    """The protocol that a run was measured by, from its constants; raises Malformed."""
    known = constants if isinstance(constants, dict) else {}
    name = known.get("name")
    if not isinstance(name, str) or name not in STORED:
        raise Malformed(f"no protocol is called {name!r:.60}")
    try:
        return read_fields(STORED[name], known, where=name, lenient=True)
    except UsageError as error:  # constants that contradict each other
        raise Malformed(f"{name}: {error}") from None
