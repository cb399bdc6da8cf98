"""Numbers with a unit, as fields of a summary have them; docs/results-schema.md shows the units."""

from __future__ import annotations

from typing import Annotated

from mbench.contract.reading import Quantity

__all__ = ["BytesPerSecond", "Celsius", "Cores", "FlopsPerSecond", "Joules", "Milliseconds",
           "PerSecond", "Relative", "SamplesPerSecond", "TimeShare", "Watts"]  # fmt: skip

SamplesPerSecond = Annotated[float, Quantity("samples/s")]
PerSecond = Annotated[float, Quantity("1/s")]
BytesPerSecond = Annotated[float, Quantity("bytes/s")]
FlopsPerSecond = Annotated[float, Quantity("FLOP/s")]
Milliseconds = Annotated[float, Quantity("ms")]
Joules = Annotated[float, Quantity("J")]
Watts = Annotated[float, Quantity("W")]
Celsius = Annotated[int, Quantity("°C")]
Cores = Annotated[float, Quantity("cores")]
Relative = Annotated[float, Quantity("relative")]
TimeShare = Annotated[float, Quantity("of the time")]
