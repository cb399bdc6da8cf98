"""Random numbers with the same bits on every machine, each array keyed by its name.

NumPy promises stable bits for the raw output of Philox (Salmon et al. 2011, "Parallel random
numbers: as easy as 1, 2, 3"), but not for its distributions, so bits are turned into numbers here.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.compat import prod

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["integers", "permutations", "quick", "repeated", "signs", "tokens", "uniform"]

MOST_DRAWN = 4194301
"""Numbers drawn for an array that repeats them: a prime, so that no two rows of a matrix match."""
QUICK = 131071
"""The most numbers drawn for an array of a batch between blocks: repeating them is only a copy."""
_most: list[int] = []


def bits(key: str, count: int) -> np.ndarray:
    """`count` little-endian 64-bit words that belong to `key`."""
    digest = hashlib.sha256(key.encode()).digest()[:16]
    philox = np.random.Philox(key=np.frombuffer(digest, dtype="<u8"))
    words: np.ndarray = philox.random_raw(count).astype("<u8", copy=False)
    return words


@contextmanager
def quick() -> Iterator[None]:
    """Inside this context, at most QUICK numbers of any `uniform` array are drawn, and repeated."""
    _most.append(QUICK)
    try:
        yield
    finally:
        _most.pop()


def uniform(key: str, shape: Sequence[int]) -> np.ndarray:
    """float32 in [-1, 1), on a grid of 2**-23, so exact in every wider type."""
    count = prod(shape)
    if _most and count > _most[-1]:
        return np.resize(uniform(key, (_most[-1],)), tuple(shape))
    words = bits(key, (count + 1) // 2).view("<u4")[:count]
    drawn: np.ndarray = (words >> np.uint32(8)).astype(np.float32)
    drawn *= np.float32(2**-23)
    drawn -= np.float32(1)
    return drawn.reshape(tuple(shape))


def repeated(key: str, shape: Sequence[int]) -> np.ndarray:
    """`uniform`, but at most MOST_DRAWN numbers are drawn, and then repeated: to draw more would
    take longer than what is measured on them.
    """
    return np.resize(uniform(key, (min(prod(shape), MOST_DRAWN),)), tuple(shape))


def integers(key: str, shape: Sequence[int], *, below: int) -> np.ndarray:
    """int64 in [0, below). The bias of the modulus is under below / 2**64."""
    drawn: np.ndarray = bits(key, prod(shape)) % np.uint64(below)
    return drawn.astype(np.int64).reshape(tuple(shape))


def tokens(key: str, shape: Sequence[int], *, below: int) -> np.ndarray:
    """`integers` whose first four are the first and the last token, twice. This covers the ends of
    tables, where mistakes happen, and rows that learn from more than one place.
    """
    drawn = integers(key, shape, below=below)
    drawn.reshape(-1)[:4] = (0, below - 1, 0, below - 1)[: drawn.size]
    return drawn


def permutations(key: str, rows: int, length: int) -> np.ndarray:
    """`rows` independent orders of range(length), int64 (rows, length)."""
    return np.argsort(bits(key, rows * length).reshape(rows, length), axis=1, kind="stable")


def signs(key: str, count: int) -> np.ndarray:
    """`count` numbers that are -1 or 1, int8."""
    packed = bits(key, (count + 63) // 64).view(np.uint8)
    drawn: np.ndarray = np.unpackbits(packed)[:count].astype(np.int8)
    drawn *= np.int8(2)
    drawn -= np.int8(1)
    return drawn
