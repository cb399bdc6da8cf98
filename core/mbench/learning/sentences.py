"""Writes the text of the task `chars`: sentences of a small grammar, the same on every machine.

It contains what a model learns step by step: letters, words, agreement of subject and verb, nested
clauses, and small sums, which only counting gets right.
"""

from __future__ import annotations

from mbench.contract import generator

__all__ = ["write"]

NOUNS = ("river", "teacher", "engine", "garden", "letter", "window", "captain", "mountain",
         "sailor", "village", "doctor", "winter", "bridge", "painter", "market",
         "lantern")  # fmt: skip
VERBS = ("follow", "remember", "build", "paint", "carry", "watch", "repair", "answer", "open",
         "cross", "visit", "describe")  # fmt: skip
QUALITIES = ("old", "quiet", "bright", "narrow", "heavy", "green", "distant", "careful", "broken",
             "early", "silver", "patient")  # fmt: skip
PLACES = ("in the morning", "near the harbour", "after the rain", "without a word",
          "before the war", "at the end of the road")  # fmt: skip
DRAWN = 4096


class Choices:
    """Random numbers that belong to a key, drawn one after the other."""

    def __init__(self, key: str) -> None:
        self.key, self.block, self.at = key, 0, DRAWN

    def below(self, count: int) -> int:
        if self.at == DRAWN:
            key = f"{self.key}/{self.block}"
            self.numbers = generator.integers(key, (DRAWN,), below=2**53).tolist()
            self.block, self.at = self.block + 1, 0
        self.at += 1
        return int(self.numbers[self.at - 1]) % count

    def of(self, words: tuple[str, ...]) -> str:
        return words[self.below(len(words))]


def write(length: int, *, seed: int) -> str:
    """A text of `length` characters."""
    choices, parts, size = Choices(f"sentences/{seed}"), [], 0
    while size < length:
        parts.append(sentence(choices))
        size += len(parts[-1])
    return "".join(parts)[:length]


def sentence(choices: Choices) -> str:
    if choices.below(6) == 0:
        one, other = choices.below(50), choices.below(50)
        return f"{one} and {other} make {one + other}.\n"
    said = f"{clause(choices, 2)}."
    return said[0].upper() + said[1:] + ("\n" if choices.below(4) == 0 else " ")


def clause(choices: Choices, depth: int) -> str:
    subject, plural = noun(choices, depth)
    verb = choices.of(VERBS) + ("" if plural else "s")
    verb = verb.replace("rys", "ries").replace("tchs", "tches").replace("ss", "sses")
    found = f"{subject} {verb} {noun(choices, depth)[0]}"
    return f"{found} {choices.of(PLACES)}" if choices.below(3) == 0 else found


def noun(choices: Choices, depth: int) -> tuple[str, bool]:
    """A noun phrase, and whether it is plural."""
    plural = choices.below(2) == 1
    name = choices.of(NOUNS) + ("s" if plural else "")
    quality = f"{choices.of(QUALITIES)} " if choices.below(2) else ""
    found = f"the {quality}{name}"
    if depth and choices.below(4) == 0:
        verb = choices.of(VERBS)
        ending = "" if plural else "s"
        verb = (verb + ending).replace("rys", "ries").replace("tchs", "tches").replace("ss", "sses")
        inner, _ = noun(choices, depth - 1)
        found += f", which {verb} {inner},"
    return found, plural
