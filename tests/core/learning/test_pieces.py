"""A vocabulary of word pieces, made from a text, and the text as tokens."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mbench.learning.pieces import numbered, tokens_of, vocabulary_of, words_of
from mbench.workloads.masked import SPECIAL, UNKNOWN


def back(tokens, vocabulary):
    return " ".join(vocabulary[at] for at in tokens).replace(" ##", "")


def test_words_are_in_lower_case_without_accents_and_punctuation_stands_alone():
    assert list(words_of("Où est-il? It's 3.5_a\nÅr")) == [
        "ou", "est", "-", "il", "?", "it", "'", "s", "3", ".", "5", "_", "a", "ar",
    ]  # fmt: skip


def test_pieces_grow_by_the_pair_that_is_most_frequent():
    counts = Counter({"low": 5, "lower": 2, "newest": 6, "widest": 3})
    signs = sorted({"l", "##o", "##w", "##e", "##r", "n", "##s", "##t", "w", "##i", "##d"})
    found = vocabulary_of(counts, len(SPECIAL) + len(signs) + 4)
    assert found[: len(SPECIAL)] == list(SPECIAL)
    assert found[len(SPECIAL) : -4] == signs
    # ##e ##s occurs 9 times, as does ##s ##t; of equally frequent pairs, the first by name wins.
    assert found[-4:] == ["##es", "##est", "##ow", "low"]


def test_a_text_comes_back_from_its_tokens_and_rare_pairs_are_no_pieces():
    text = "the old river follows the older engine , which follows the river"
    order, words = numbered(words_of(text))
    vocabulary = vocabulary_of(dict(zip(words, np.bincount(order).tolist(), strict=True)), 1000)
    assert "river" in vocabulary
    assert "engine" not in vocabulary, "it stands there once"
    assert len(set(vocabulary)) == len(vocabulary)
    tokens = tokens_of(order, words, vocabulary)
    assert back(tokens, vocabulary) == text
    assert tokens.dtype == np.uint8


def test_what_has_signs_that_are_not_in_the_vocabulary_is_unknown():
    vocabulary = vocabulary_of(Counter("ab" * 9), 50)
    order, words = numbered(["a", "b", "axb", "a" * 200])
    assert tokens_of(order, words, vocabulary).tolist()[2:] == [UNKNOWN, UNKNOWN]


def test_the_order_of_words_does_not_count():
    words = {f"w{at}x{at % 7}": 1 + at % 5 for at in range(500)}
    turned = dict(reversed(words.items()))
    assert vocabulary_of(words, 300) == vocabulary_of(turned, 300)
