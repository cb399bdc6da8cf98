"""Sequences of masked tokens for BERT's pre-training, drawn from a text that is one row of tokens.

As in the original (Devlin et al. 2019; google-research/bert, create_pretraining_data.py), there are
two segments, [CLS] A [SEP] B [SEP]. Half of the time B follows A in the text; otherwise it comes
from another place. Of the tokens to predict, 8 in 10 become [MASK], 1 in 10 a random token, and
1 in 10 stays. Unlike in the original, segments end where a sequence is full, not where a sentence
ends, so no sequence is padded. Shapes: B batch, L sequence, P predictions, W tokens of both
segments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import generator

if TYPE_CHECKING:
    Batch = dict[str, np.ndarray]

__all__ = ["FIRST_PIECE", "MARKS", "SPECIAL", "masked_batch"]

SPECIAL = ("[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Tokens at the beginning of a vocabulary, by number."""
FIRST_PIECE = len(SPECIAL)
UNKNOWN, BEGIN, END, MASK = range(FIRST_PIECE)
MARKS = 3
"""How many tokens of a sequence mark its segments. They are never masked."""
SHORTEST = 4
"""Each segment has at least 1 / SHORTEST of the tokens of both: a quarter."""


def masked_batch(
    windows: np.ndarray, others: np.ndarray, *, predictions: int, pieces: int, key: str
) -> Batch:
    """All int64: input_ids, token_type_ids (B, L); masked_positions, masked_labels (B, P);
    next_sentence_labels (B,), 0 where B follows A, as in the original.

    `windows` are tokens (B, W) of consecutive text, W = L - MARKS. `others` are tokens (B, W) from
    other places in it, which become the second segment where it does not follow A. The vocabulary
    has `pieces` tokens.
    """
    count, width = windows.shape
    places = np.arange(width)
    least = width // SHORTEST
    split = least + generator.integers(f"{key}/split", (count,), below=width - 2 * least + 1)
    other = generator.integers(f"{key}/next", (count,), below=2)
    second = places >= split[:, None]
    tokens = np.where(second & (other == 1)[:, None], others, windows).astype(np.int64)

    order = generator.permutations(f"{key}/positions", count, width)
    chosen = np.sort(order[:, :predictions], axis=1)
    labels = np.take_along_axis(tokens, chosen, axis=1)
    fate = generator.integers(f"{key}/fate", chosen.shape, below=10)
    drawn = FIRST_PIECE + generator.integers(
        f"{key}/drawn", chosen.shape, below=pieces - FIRST_PIECE
    )
    shown = np.where(fate < 8, MASK, np.where(fate == 8, drawn, labels))
    np.put_along_axis(tokens, chosen, shown, axis=1)

    found = np.full((count, width + MARKS), END, dtype=np.int64)
    found[:, 0] = BEGIN
    rows = np.arange(count)[:, None]
    found[rows, 1 + places + second] = tokens
    return {
        "input_ids": found,
        "token_type_ids": (np.arange(width + MARKS) >= split[:, None] + 2).astype(np.int64),
        "masked_positions": chosen + 1 + np.take_along_axis(second, chosen, axis=1),
        "masked_labels": labels,
        "next_sentence_labels": other,
    }
