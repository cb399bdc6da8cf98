"""Numbers with a unit, as annotations that are checked on reading."""

from __future__ import annotations

from typing import Annotated

from mbench.contract.reading import Quantity

__all__ = ["Bytes", "Count", "Flops", "Instant", "Megahertz", "Nanoseconds", "Number", "Real",
           "Seconds", "Share", "Sketch", "Steps"]  # fmt: skip

Number = Annotated[int, Quantity("")]
"""Of things that are numbered from 0, or of which there may be none."""
Count = Annotated[int, Quantity("", least=1)]
Steps = Annotated[int, Quantity("steps", least=1)]
Nanoseconds = Annotated[int, Quantity("ns", least=1)]
Instant = Annotated[int, Quantity("ns")]
"""On the machine's monotonic clock."""
Seconds = Annotated[float, Quantity("s")]
Bytes = Annotated[int, Quantity("bytes")]
Flops = Annotated[float, Quantity("FLOP")]
Megahertz = Annotated[float, Quantity("MHz")]
Real = Annotated[float, Quantity("", least=-(2**63))]
Share = Annotated[float, Quantity("share")]
Sketch = tuple[Real, Real, Real, Real, Real, Real]
"""Of a tensor: its norm and five signed sums, see contract/sketch.py."""
