"""How log ratios of process pairs scatter: normally, or as measured with identical workers.

Of 100 such pairs, half lay within 1.6 %, and 4 lay 10 to 31 % off (docs/measured/two-cores.md).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

SIGMA = 0.0237  # half of them within 1.6 %
FAR = [math.log(ratio) for ratio in (0.69, 0.82, 1.11, 1.17)]


def normal(chance: random.Random) -> float:
    return chance.gauss(0, SIGMA)


def measured(chance: random.Random) -> float:
    if chance.random() < 0.04:
        return chance.choice(FAR) * chance.choice((-1, 1))
    return normal(chance)
