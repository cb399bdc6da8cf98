"""Makes a vocabulary of word pieces from a text, and tokenizes the text with it.

As in BERT, words are lowercased and stripped of accents, and punctuation marks are tokens of their
own. Each word is split from the left into the longest pieces in the vocabulary; all but the first
begin with "##". The vocabulary grows by the most frequent pair of adjacent pieces (byte-pair
encoding, Sennrich et al. 2016, arXiv:1508.07909), with ties broken by name. BERT's own program was
not published. The same text has the same vocabulary everywhere.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mbench.workloads.masked import SPECIAL, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["numbered", "tokens_of", "vocabulary_of", "words_of"]

INNER = "##"
LETTERS = 1000
"""The most different characters in a vocabulary, as in BERT's; rarer ones are unknown."""
LONGEST = 100
"""Most characters in a word; a longer word is unknown, as in BERT's tokenizer."""
FEWEST = 2
"""How often a pair must occur to become a piece."""
WORDS = re.compile(r"\w+|[^\w\s]|_")


def words_of(text: str) -> Iterator[str]:
    """Words in lower case, without accents; underscores and punctuation stand alone."""
    for line in text.splitlines():
        plain = unicodedata.normalize("NFD", line.lower())
        bare = "".join(sign for sign in plain if unicodedata.category(sign) != "Mn")
        for word in WORDS.findall(bare):
            if "_" in word and word != "_":
                yield from (part for part in re.split("(_)", word) if part)
            else:
                yield word


def vocabulary_of(counts: Mapping[str, int], size: int) -> list[str]:
    """Usually `size` pieces: those of SPECIAL, then single characters, then merged pairs in order.

    `counts` says how often each word occurs in the text. There are fewer pieces if no more pairs
    occur twice, and more than `size` if single characters alone exceed it.
    """
    signs: Counter[str] = Counter()
    for word, count in counts.items():
        for sign in word:
            signs[sign] += count
    kept = {sign for sign, _ in sorted(signs.items(), key=lambda one: (-one[1], one[0]))[:LETTERS]}
    words = [
        ([word[0], *(INNER + sign for sign in word[1:])], count)
        for word, count in sorted(counts.items())
        if len(word) <= LONGEST and kept.issuperset(word)
    ]
    found = sorted({piece for parts, _ in words for piece in parts})
    return [*SPECIAL, *found, *merged(words, size - len(SPECIAL) - len(found), set(found))]


def merged(words: Sequence[tuple[list[str], int]], most: int, known: set[str]) -> list[str]:
    """Up to `most` new pieces; changes the parts of `words`."""
    pairs: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], set[int]] = defaultdict(set)
    for at, (parts, count) in enumerate(words):
        for pair in pairwise(parts):
            pairs[pair] += count
            places[pair].add(at)
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    found: list[str] = []
    while heap and len(found) < most:
        negative, pair = heapq.heappop(heap)
        count = pairs[pair]
        if count != -negative:  # changed since it was pushed
            if count >= FEWEST:
                heapq.heappush(heap, (-count, pair))
            continue
        if count < FEWEST:
            break
        piece = pair[0] + pair[1].removeprefix(INNER)
        if piece not in known:  # two pairs may make the same piece
            known.add(piece)
            found.append(piece)
        changed = set()
        for at in places.pop(pair, ()):
            parts, times = words[at]
            for old in pairwise(parts):
                pairs[old] -= times
            parts[:] = joined(parts, pair, piece)
            for new in pairwise(parts):
                pairs[new] += times
                places[new].add(at)
                changed.add(new)
        for new in changed:
            heapq.heappush(heap, (-pairs[new], new))
    return found


def joined(parts: Sequence[str], pair: tuple[str, str], piece: str) -> list[str]:
    """`parts` with each occurrence of `pair` replaced by `piece`."""
    found, at = [], 0
    while at < len(parts):
        if tuple(parts[at : at + 2]) == pair:
            found.append(piece)
            at += 2
        else:
            found.append(parts[at])
            at += 1
    return found


def numbered(words: Iterable[str]) -> tuple[np.ndarray, list[str]]:
    """The number of each word, in order, and the words by their numbers."""
    table: dict[str, int] = {}
    order = np.fromiter((table.setdefault(word, len(table)) for word in words), np.int32)
    return order, list(table)


def tokens_of(order: np.ndarray, words: Sequence[str], vocabulary: Sequence[str]) -> np.ndarray:
    """The piece numbers of words given by number, in the smallest type that holds them."""
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    made = [pieces_of(word, numbers) for word in words]
    flat = np.array([one for each in made for one in each], np.min_scalar_type(len(vocabulary)))
    lengths = np.array([len(each) for each in made], np.int64)
    begins = np.cumsum(lengths) - lengths
    sizes = lengths[order]
    ends = np.cumsum(sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
    found: np.ndarray = flat[np.repeat(begins[order], sizes) + within]
    return found


def pieces_of(word: str, numbers: dict[str, int]) -> list[int]:
    """The longest pieces from the left; the unknown token if some part matches none."""
    found, first = [], 0
    while first < len(word) and len(word) <= LONGEST:
        for end in range(len(word), first, -1):
            piece = (INNER if first else "") + word[first:end]
            if piece in numbers:
                found.append(numbers[piece])
                first = end
                break
        else:
            return [UNKNOWN]
    return found or [UNKNOWN]
