"""Caches of keys and values: one that each run takes and returns, and one that stays in place.

Shapes: B batch, L sequence, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbench_onnxruntime.layers import Net

__all__ = ["Growing", "Static"]

PAST, PRESENT = "past.", "present."


class Growing:
    """Each run returns keys and values as NumPy arrays, which the next run takes."""

    says = "keys and values are outputs of each run and inputs of the next, longer by a token"

    @staticmethod
    def build(family: Any, net: Net, size: int) -> None:
        family.behind(net, size)

    def __init__(self, session: onnxruntime.InferenceSession, model: Net) -> None:
        self.session = session
        self.outputs = list(model.outputs)
        self.past = [name for name in model.batch if name.startswith(PAST)]
        self.empty = [
            np.zeros([max(0, length) for length in model.batch[name].shape], model.kind)
            for name in self.past
        ]

    def run(self, tokens: np.ndarray, positions: np.ndarray, past: Sequence[Any]) -> list[Any]:
        """Logits (B, 1, V), then keys and values."""
        given = {
            "input_ids": tokens,
            "positions": positions,
            **dict(zip(self.past, past, strict=True)),
        }
        found: list[Any] = self.session.run(self.outputs, given)
        return found

    def reading(self, tokens: np.ndarray) -> Callable[[], Any]:
        """A function that reads prompts (B, L); it returns the last positions' logits (B, 1, V)."""
        positions = np.arange(tokens.shape[1])
        return lambda: self.run(tokens, positions, self.empty)[0]

    def following(self, tokens: np.ndarray, prompt: int) -> Callable[[], list[Any]]:
        """A function that returns the logits (B, 1, V) of each token after the prompts, which are
        read here.
        """
        _, *kept = self.run(tokens[:, :prompt], np.arange(prompt), self.empty)
        steps = [(token, np.array([at])) for at, token in each(tokens, prompt)]

        def follow() -> list[Any]:
            past, found = kept, []
            for token, position in steps:
                logits, *past = self.run(token, position, past)
                found.append(logits)
            return found

        return follow


class Static:
    """Keys and values are bound to the session once, as past and as present: a run writes those of
    its tokens in place.
    """

    says = (
        "GroupQueryAttention also turns queries and keys; its cache is static, bound as past and "
        "as present"
    )

    @staticmethod
    def build(family: Any, net: Net, size: int) -> None:
        family.in_place(net, size)

    def __init__(self, session: onnxruntime.InferenceSession, model: Net) -> None:
        self.session = session
        self.shapes = {
            name[len(PAST) :]: value.shape
            for name, value in model.batch.items()
            if name.startswith(PAST)
        }
        self.kind = model.kind
        self.logits: dict[int, Any] = {}
        """Logits by the position after the tokens; all batches write there."""
        self.shape = model.outputs["logits"].shape
        self.shared = self.room()

    def room(self) -> dict[str, Any]:
        return {name: placed(np.zeros(shape, self.kind)) for name, shape in self.shapes.items()}

    def bound(self, tokens: np.ndarray, first: int, cache: dict[str, Any]) -> Callable[[], Any]:
        """A function that runs tokens (B, L), whose positions begin at `first`."""
        end = first + tokens.shape[1]
        given = {
            "input_ids": tokens,
            "last": np.full(len(tokens), end - 1, np.int32),
            "total": np.array(end, np.int32),
        }
        values = {name: placed(array) for name, array in given.items()}
        if end not in self.logits:
            self.logits[end] = placed(np.zeros(self.shape, self.kind))
        logits, binding = self.logits[end], self.session.io_binding()
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        for name, value in cache.items():
            binding.bind_ortvalue_input(f"{PAST}{name}", value)
            binding.bind_ortvalue_output(f"{PRESENT}{name}", value)
        binding.bind_ortvalue_output("logits", logits)

        def run(kept: object = (values, cache)) -> Any:
            """The default of `kept` keeps the arrays' memory alive."""
            self.session.run_with_iobinding(binding)
            return logits

        return run

    def reading(self, tokens: np.ndarray) -> Callable[[], Any]:
        return self.bound(tokens, 0, self.shared)

    def following(self, tokens: np.ndarray, prompt: int) -> Callable[[], list[Any]]:
        cache = self.room()
        self.bound(tokens[:, :prompt], 0, cache)()
        steps = [self.bound(token, at, cache) for at, token in each(tokens, prompt)]
        return lambda: [step() for step in steps]


def each(tokens: np.ndarray, prompt: int) -> list[tuple[int, np.ndarray]]:
    """The tokens (B, 1) after the prompt, with their positions."""
    return [(at, tokens[:, at : at + 1].copy()) for at in range(prompt, tokens.shape[1])]


def placed(array: np.ndarray) -> Any:
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
