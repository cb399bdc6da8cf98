"""An operation as the smallest model: each call in a step has its own operands.

In inference, a step computes the outputs of its calls. In training, it also computes the gradients
of all operands for given directions, and nothing is updated. A batch is a number of calls, so two
batch sizes separate the cost of a call from the other costs of a step.
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, ClassVar

from mbench.contract.compat import prod, zipped
from mbench.contract.workload import NO_OPTIMIZER, Size, Tensor, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np

    Arrays = Mapping[str, np.ndarray]

__all__ = ["PREFIX", "Kind", "Operand", "Operator", "of_text"]

PREFIX = "op:"
"""Prefix of operators' names, among models."""
PROOF_CALLS = 2
OF_CASE = ("calls", "gradients", "ranks")
"""Fields of a kind that are not sizes: the case sets them."""
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Operand:
    """An input: float32 of unit variance, or integers from 0 to less than `below`."""

    name: str
    shape: tuple[int, ...]
    below: int = 0


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What is computed: a class for each operation, whose fields are its sizes.

    In an operator's name, `dims` come first, as in 64x128x32, and other sizes follow their
    `letters`: -k3-s2. `proof_sizes` limits some of them in proofs.
    """

    kind: ClassVar[str]
    dims: ClassVar[tuple[str, ...]]
    letters: ClassVar[Mapping[str, str]] = {}
    says: ClassVar[str]
    proof_sizes: ClassVar[Mapping[str, int]] = {}

    calls: int = 1
    """Calls in a step."""
    gradients: bool = False
    """Whether gradients are computed."""

    def without_dropout(self) -> Kind:
        return self

    def check(self) -> None:
        """Raises ValueError for sizes that are inconsistent."""

    def inputs(self) -> Sequence[Operand]:
        """What a call takes from the batch."""
        raise NotImplementedError(f"{type(self).__name__} must define its inputs")

    def weights(self) -> Sequence[Tensor]:
        """What a call owns, as a layer owns its weights."""
        return ()

    def outputs(self) -> tuple[int, ...]:
        """The shape of a call's output."""
        raise NotImplementedError(f"{type(self).__name__} must define its output shape")

    def macs(self) -> int:
        """Multiply-adds of a call's matrix products."""
        return 0

    def besides(self) -> int:
        """Elementwise operations of a call, which a framework may count as FLOPs too; 0 if they are
        few compared with the products.
        """
        return 0

    def untouched(self) -> int:
        """How many numbers of its weights a call need not read."""
        return 0

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        """The output by definition, float64; `x` has inputs and weights by name."""
        raise NotImplementedError(f"{type(self).__name__} must define its forward pass")

    def along(self, x: Arrays, vector: np.ndarray) -> np.ndarray:
        """The output times a vector along its last axis; some kinds have a cheaper way."""
        return self.forward(x, training=False) @ vector

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        """The gradients of sum(output * direction), by operand, float64."""
        raise NotImplementedError(f"{type(self).__name__} must define its gradients")

    @classmethod
    def usage(cls) -> str:
        """How it is typed: op:conv2d/NxCxHxW-oFILTERS-kKERNEL[-sSTRIDE]."""
        usual = {field.name for field in dataclasses.fields(cls) if field.default != MISSING}
        typed = f"{PREFIX}{cls.kind}/" + "x".join(dim.upper() for dim in cls.dims)
        for letter, name in cls.letters.items():
            part = f"-{letter}{name.upper()}"
            typed += f"[{part}]" if name in usual else part
        return typed


@dataclass(frozen=True, kw_only=True)
class Operator(Workload):
    """One kind of operation at some sizes."""

    config: Kind

    def tensors(self) -> list[Tensor]:
        return [
            dataclasses.replace(tensor, name=f"calls.{call}.{tensor.name}")
            for call in range(self.config.calls)
            for tensor in self.config.weights()
        ]

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """Each input of each call, "x.0"; if gradients are computed, also "direction.0".

        The batch covers all calls, whatever `size` is: the model always takes a whole batch.
        """
        import numpy as np

        from mbench.contract import generator

        found = {}
        wanted = list(self.config.inputs())
        if self.config.gradients:
            wanted.append(Operand("direction", self.config.outputs()))
        for call in range(self.config.calls):
            for one in wanted:
                name = f"{one.name}.{call}"
                key = f"data/{seed}/{name}"
                if one.below:
                    found[name] = generator.tokens(key, one.shape, below=one.below)
                else:
                    drawn = self.drawn(key, one.shape)
                    found[name] = np.asarray(drawn * np.float32(math.sqrt(3)))
        return found

    def drawn(self, key: str, shape: Sequence[int]) -> np.ndarray:
        from mbench.contract import generator

        return generator.repeated(key, shape)

    def forward_flops(self) -> float:
        return 2.0 * self.config.macs()

    def uncounted_flops(self) -> float:
        return float(self.config.besides())

    def moved_bytes(self, *, training: bool, number_bytes: int = FLOAT_BYTES) -> int | None:
        """The least a call must read and write: its operands and output. In training also the
        direction and the gradients, for which it reads the operands again.
        """
        config = self.config
        operands = sum(prod(one.shape) for one in config.inputs())
        operands += sum(tensor.size for tensor in config.weights() if tensor.trainable)
        once = operands - config.untouched() + prod(config.outputs())
        return number_bytes * (2 * once + operands if training else once)

    def answers(self, *, seed: int, batch: int) -> dict[str, np.ndarray]:
        """The outputs of a step, and its gradients, by their definitions: float64.

        `seed` is the parameters' seed, `batch` the inputs'.
        """
        import numpy as np

        found = {}
        trained = {tensor.name for tensor in self.config.weights() if tensor.trainable}
        differentiable = {one.name for one in self.config.inputs() if not one.below}
        for call, (x, inputs) in enumerate(self.operands(seed=seed, batch=batch)):
            found[f"output.{call}"] = self.config.forward(x, training=self.config.gradients)
            if self.config.gradients:
                direction = inputs[f"direction.{call}"].astype(np.float64)
                for name, gradient in self.config.backward(x, direction).items():
                    if name in differentiable:
                        found[f"gradient.{name}.{call}"] = gradient
                    elif name in trained:
                        found[f"gradient.calls.{call}.{name}"] = gradient
        return found

    def answers_along(
        self, vector: Callable[[str, int], np.ndarray], *, seed: int, batch: int
    ) -> dict[str, np.ndarray]:
        """The outputs of an inference step, each times the vector of its name and width."""
        return {
            name: self.config.along(x, vector(name, self.config.outputs()[-1]))
            for call, (x, _) in enumerate(self.operands(seed=seed, batch=batch))
            for name in [f"output.{call}"]
        }

    def operands(self, *, seed: int, batch: int) -> Iterator[tuple[Arrays, Arrays]]:
        """Each call's operands in float64, by their names in the definition, and the batch."""
        import numpy as np

        inputs = self.batch(self.config.calls, seed=batch)
        weights = dict(self.parameters(seed=seed))
        for call in range(self.config.calls):
            x = {
                one.name: array if one.below else array.astype(np.float64)
                for one in self.config.inputs()
                for array in [inputs[f"{one.name}.{call}"]]
            }
            for tensor in self.config.weights():
                x[tensor.name] = weights[f"calls.{call}.{tensor.name}"].astype(np.float64)
            yield x, inputs


def of_text(name: str, kinds: Mapping[str, type[Kind]]) -> Operator:
    """The operator of that name, such as op:matmul/64x128x32. Raises ValueError with a reason."""
    kind, _, sizes = name[len(PREFIX) :].partition("/")
    if kind not in kinds:
        raise ValueError(f"there is no operator {kind!r}; available: {', '.join(kinds)}")
    made = kinds[kind]
    fields = read_sizes(sizes, made)
    if fields is None:
        raise ValueError(f"{name!r} should be like {made.usage()}, each a whole number")
    config: Kind = made(**fields)  # type: ignore[arg-type]
    config.check()
    whole = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.name not in OF_CASE
    }
    return Operator(
        name=name,
        title=f"{made.says} {sizes}",
        family="operators",
        samples="calls",
        batch_sizes={"cpu": 4, "cuda": 16},
        config=config,
        optimizer=NO_OPTIMIZER,
        proof={"batch_size": PROOF_CALLS, "sizes": small_sizes(config, whole)},
        sizes={field: Size(standard=value, least=0) for field, value in whole.items()},
    )


def small_sizes(config: Kind, whole: Mapping[str, int]) -> dict[str, int]:
    """Sizes of proofs; empty, so the full sizes, if small ones are inconsistent with the others."""
    most = config.proof_sizes
    small = {field: min(value, most[field]) for field, value in whole.items() if field in most}
    try:
        dataclasses.replace(config, **small).check()  # type: ignore[arg-type]
    except ValueError:
        return {}
    return small


def read_sizes(text: str, kind: type[Kind]) -> dict[str, int] | None:
    """Fields by name; None for text that does not fit."""
    shape, *others = text.split("-")
    numbers = shape.split("x")
    whole = all(re.fullmatch("[1-9][0-9]{0,9}", number) for number in numbers)
    if len(numbers) != len(kind.dims) or not whole:
        return None
    found = {name: int(number) for name, number in zipped(kind.dims, numbers)}
    for other in others:
        letter, number = other[:1], other[1:]
        if letter not in kind.letters or not re.fullmatch("[0-9]{1,9}", number):
            return None
        if kind.letters[letter] in found:
            return None
        found[kind.letters[letter]] = int(number)
    needed = [field.name for field in dataclasses.fields(kind) if field.default == MISSING]
    return None if any(name not in found for name in needed) else found
