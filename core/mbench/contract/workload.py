"""What every workload states about itself, whatever framework runs it.

NumPy is imported where arrays are made: commands that only list workloads start without it.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mbench.contract.compat import Protocol, prod
from mbench.contract.forms import OF, PARTLY, longer_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np

    ProofFields = Mapping[str, Any]  # of a case by name, and of its ProofWork

__all__ = ["MOST_BATCHES", "NO_OPTIMIZER", "Config", "Optimizer", "Size", "Tensor", "Workload",
           "rank_seed"]  # fmt: skip

MOST_BATCHES = 8
"""The most batches of a case on the device, and so the distance between two cases' seeds."""


def rank_seed(rank: int) -> int:
    """The offset of a rank's batch seeds from those of rank 0; no two ranks share a seed."""
    return rank * 2**32


@dataclass(frozen=True)
class Tensor:
    """One canonical tensor, which starts as `center + scale * uniform(-1, 1)`.

    Names and layouts are those of the PyTorch reference implementation: convolution weights are
    (out, in, height, width), linear weights (out, in). `trainable` is False for running
    statistics. `decay` says whether weight decay applies.
    """

    name: str
    shape: tuple[int, ...]
    scale: float
    center: float = 0.0
    trainable: bool = True
    decay: bool = True

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def initial_norm(self) -> float:
        """The norm of its canonical values, as expected from their distribution."""
        return math.sqrt(self.size * (self.scale**2 / 3 + self.center**2))


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """An update rule with its constants, and the clipping of gradients before it.

    "sgd": v = momentum * v + (gradient + weight_decay * w);  w -= learning_rate * v.
    "adamw" (Loshchilov and Hutter 2019): w -= learning_rate * weight_decay * w, then
    w -= learning_rate * m_hat / (sqrt(v_hat) + epsilon), both moments bias-corrected.
    `clip_norm`: gradients are scaled by min(1, clip_norm / (norm + 1e-6)), norm over all of them.

    Learning rates of timed steps are small: an update is some tens of units in the last place of a
    single-precision parameter. That is enough to show, but a process does not memorise its
    synthetic batches, which would end in denormal gradients. Proofs use larger rates, whose updates
    are well above rounding.
    """

    rule: str
    learning_rate: float
    momentum: float = 0.0
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-6
    clip_norm: float | None = None
    decays_vectors: bool = True
    """Whether tensors of one axis, biases and norms, also decay, unless the model exempts them
    anyway."""
    spared: tuple[str, ...] = ()
    """Parts of names: tensors whose name contains one of them do not decay."""

    def carried(self, steps: int) -> float:
        """How far constant gradients move parameters in this many steps, in learning rates.

        Momentum makes updates grow. AdamW divides by the gradients' size, so its steps are equal.
        """
        if self.rule == "adamw" or not self.momentum:
            return float(steps)
        kept = self.momentum
        return (steps - kept * (1 - kept**steps) / (1 - kept)) / (1 - kept)

    def plain_sgd(self, rate: float) -> Optimizer:
        """Plain gradient descent, clipping kept: updates are `rate` times the clipped gradient."""
        return Optimizer(rule="sgd", learning_rate=rate, clip_norm=self.clip_norm)


NO_OPTIMIZER = Optimizer(rule="none", learning_rate=0.0)
"""The optimizer of steps that update nothing."""


class Config(Protocol):
    """A model's dimensions; each family has its own frozen dataclass."""

    def without_dropout(self) -> Config:
        """The same model with every dropout rate 0."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """One size of a model: its standard value, and the range in which it can be changed."""

    standard: int
    least: int = 1
    most: int | None = None

    def check(self, value: int, *, what: str) -> None:
        """Raises ValueError for a value that the model cannot have."""
        if value < self.least or (self.most is not None and value > self.most):
            ends = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"
            raise ValueError(f"{what} must be {ends}, not {value}")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One model with its data and optimizer; each family has its own subclass."""

    name: str
    title: str
    family: str
    """The model file that implements it in every adapter: "resnet" is models/resnet.py."""
    samples: str
    """What one sample is called, in the plural: "images"."""
    batch_sizes: dict[str, int]
    """A batch size for each kind of device, used if none is requested."""
    config: Config
    optimizer: Optimizer
    proof: ProofFields
    """How proofs differ from cases: small `sizes` that keep the architecture whole, and a learning
    rate; `layers` for a model that would not fit whole, and `by_shape` for one whose tensors would
    not: then names and shapes of the whole model are compared too."""
    sizes: Mapping[str, Size] = field(default_factory=dict)
    """The fields of `config` that a case may change: "image_size", "sequence_length"."""
    shrinks_by: str = ""
    """Which of `sizes` to lower if the weights do not fit into memory."""
    mask_sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes at which the gradients of one sample show what dropout drops, see `masks`; if empty,
    the sizes of the proof are used."""
    model_files: Mapping[str, str] = field(default_factory=dict)
    """Modules that implement this model, by framework name, for a model that brings its own;
    otherwise the adapter's file for the family implements it."""

    stages: tuple[str, ...] = ()
    """Stages that have longer forms, see `lengthened`: each has a reference file."""

    def answers(self, *, seed: int, batch: int) -> dict[str, np.ndarray] | None:
        """The outputs of a step by their definition, float64, for the parameters of `seed` and
        batch number `batch`. None if a reference file holds them.
        """
        return None

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """The names of the operators that a step is made of, each as often as it occurs.

        Operators that are left out take little time in comparison, or are noted where the others
        are listed. Empty if none are listed.
        """
        return []

    def lengthened(self) -> Mapping[str, Workload]:
        """The model with one stage twice as long, by the stage's name. The added blocks are like
        those after the first one of the stage; the extra time is what they take.

        Also the model with a few of these blocks, named after the stage and their share of those
        that double it: "layer3.2of4". They must take the same share of the extra time; otherwise
        lengthening does not show what a stage takes. Empty if none are defined.
        """
        return {}

    def forms(
        self,
        stage: str,
        blocks: int,
        dimensions: Callable[[int], Mapping[str, object]],
        *,
        partly: bool = True,
    ) -> dict[str, Workload]:
        """The longer forms of a stage of `blocks` blocks, for `lengthened`: with as many again and,
        if `partly`, with half as many. `dimensions` returns the model's dimensions for a number of
        added blocks.
        """
        half = max(1, blocks // 2)
        found = {stage: self.longer(stage, **dimensions(blocks))}
        if partly and half < blocks:
            name = f"{stage}{PARTLY}{half}{OF}{blocks}"
            found[name] = self.longer(name, **dimensions(half))
        return found

    def longer(self, form: str, **dimensions: object) -> Workload:
        """The same model with other `dimensions`, which make a stage longer as `form` says."""
        config = dataclasses.replace(self.config, **dimensions)  # type: ignore[type-var]
        title = f"{self.title}, {longer_by(form)}"
        return dataclasses.replace(
            self, name=f"{self.name}+{form}", title=title, config=config, stages=()
        )

    def moved_bytes(self, *, training: bool, number_bytes: int) -> int | None:
        """The bytes that a sample's step must at least read and write, if a number takes
        `number_bytes`; None if unknown, as for everything that is made of several operations.
        """
        return None

    def held_numbers(self, *, training: bool) -> int:
        """How many numbers, besides inputs, every framework holds at once in a sample's forward
        pass or, if `training`, before the backward pass: outputs, and what enters each layer. Fewer
        if that is unknown.
        """
        return 0

    def step_numbers(self, batch_size: int, *, training: bool) -> int | None:
        """How many numbers of parameters and gradients a step must at least read and, in training,
        write; None if matrix products take longer than reading them.
        """
        return None

    def usual_batch(self, device: str) -> int:
        """The batch size if none is requested; on a device that is not listed, the largest."""
        return self.batch_sizes.get(device, max(self.batch_sizes.values()))

    def resized(self, **sizes: int) -> Workload:
        """The workload at other sizes; raises ValueError for sizes that it cannot have."""
        for name, value in sizes.items():
            if name not in self.sizes:
                raise ValueError(
                    f"{self.name} has no size {name}; it has {', '.join(self.sizes) or 'none'}"
                )
            self.sizes[name].check(value, what=f"{name} of {self.name}")
        if not sizes:
            return self
        config = dataclasses.replace(self.config, **sizes)  # type: ignore[type-var]
        return dataclasses.replace(self, config=config)

    def samples_per_item(self) -> int:
        """Samples in each item of a batch: the tokens of a sequence, if those are counted."""
        return 1

    def is_standard(self) -> bool:
        """Whether the sizes are the model's standard ones."""
        return all(getattr(self.config, name) == size.standard for name, size in self.sizes.items())

    def tensors(self) -> Sequence[Tensor]:
        """All canonical tensors in the model's own order."""
        raise NotImplementedError(f"{type(self).__name__} must list its tensors")

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """`size` synthetic samples: inputs and labels by name."""
        raise NotImplementedError(f"{type(self).__name__} must make its batch")

    def forward_flops(self) -> float:
        """FLOPs of one sample's forward pass: two per multiply-add of matrix products only."""
        raise NotImplementedError(f"{type(self).__name__} must count its FLOPs")

    def uncounted_flops(self) -> float:
        """What a framework's own counter may count besides `forward_flops`: operations on single
        numbers, if there are many.
        """
        return 0.0

    def countable(self) -> bool:
        """Whether a framework's own counter can see the FLOPs of a forward pass. It cannot if what
        is computed depends on the batch.
        """
        return True

    def masked_flops(self) -> float:
        """The part of `forward_flops` in products that a causal mask discards: half of the
        attention's scores and weighted sums. 0 if there is no such mask.
        """
        return 0.0

    def flops(self, *, training: bool) -> float:
        """FLOPs of one sample's step; a training step counts as three forward passes."""
        return self.forward_flops() * (3 if training else 1)

    def masks(self) -> dict[str, float]:
        """Dropout rates by the tensors that show them: for one sample, the gradient of a bias is
        zero where its output is dropped, and that of a weight (out, in, ...) where its input is.

        Only for layers whose zero inputs do not depend on any other dropout before them.
        """
        return {}

    def parameter_count(self) -> int:
        """Number of trainable scalars."""
        return sum(tensor.size for tensor in self.tensors() if tensor.trainable)

    def parameters(self, *, seed: int) -> Iterator[tuple[str, np.ndarray]]:
        """The canonical starting values, float32, drawn tensor by tensor."""
        for tensor in self.tensors():
            yield tensor.name, self.initial(tensor, seed=seed)

    def initial(self, tensor: Tensor, *, seed: int) -> np.ndarray:
        """The canonical starting value of one tensor, float32."""
        import numpy as np

        drawn = self.drawn(f"{self.name}/{seed}/{tensor.name}", tensor.shape)
        drawn *= np.float32(tensor.scale)
        drawn += np.float32(tensor.center)
        return drawn

    def drawn(self, key: str, shape: Sequence[int]) -> np.ndarray:
        """float32 in [-1, 1), the array that belongs to `key`."""
        from mbench.contract import generator

        return generator.uniform(key, shape)

    def replace(self, **changes: object) -> Workload:
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]
