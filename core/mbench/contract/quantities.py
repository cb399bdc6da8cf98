"""Numbers with a unit, as annotations that are checked when data is read."""

from __future__ import annotations

from mbench.contract.compat import Annotated
from mbench.contract.reading import Quantity

__all__ = ["CAUSAL", "CONVENTIONS", "WHOLE", "Bytes", "BytesPerSecond", "Celsius", "Cores",
           "Count", "Flops", "FlopsPerSecond", "Instant", "Joules", "Megahertz", "Milliseconds",
           "Nanoseconds", "Number", "PerSecond", "Real", "Relative", "SamplesPerSecond", "Seconds",
           "Share", "Steps", "TimeShare", "Watts"]  # fmt: skip

WHOLE, CAUSAL = CONVENTIONS = ("whole", "causal")
"""How FLOPs of causal attention are counted: as if there were no mask, or without what it discards.
"""

Number = Annotated[int, Quantity("")]
"""A number that counts from 0."""
Count = Annotated[int, Quantity("", least=1)]
Steps = Annotated[int, Quantity("steps", least=1)]
Nanoseconds = Annotated[int, Quantity("ns", least=1)]
Instant = Annotated[int, Quantity("ns")]
"""On the machine's monotonic clock."""
Seconds = Annotated[float, Quantity("s")]
Bytes = Annotated[int, Quantity("bytes")]
Flops = Annotated[float, Quantity("FLOP")]
Megahertz = Annotated[float, Quantity("MHz")]
Celsius = Annotated[int, Quantity("°C")]
Watts = Annotated[float, Quantity("W")]
Joules = Annotated[float, Quantity("J")]
Real = Annotated[float, Quantity("", least=-(2**63))]
Share = Annotated[float, Quantity("share")]
SamplesPerSecond = Annotated[float, Quantity("samples/s")]
PerSecond = Annotated[float, Quantity("1/s")]
BytesPerSecond = Annotated[float, Quantity("bytes/s")]
FlopsPerSecond = Annotated[float, Quantity("FLOP/s")]
Milliseconds = Annotated[float, Quantity("ms")]
Cores = Annotated[float, Quantity("cores")]
Relative = Annotated[float, Quantity("relative")]
TimeShare = Annotated[float, Quantity("of the time")]
