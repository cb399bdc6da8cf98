"""The life of a prepared case: built, checked, loaded, stepped and read, in any framework."""

from __future__ import annotations

import math
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mbench.contract import generator
from mbench.contract.adapter import Unsupported
from mbench.contract.rank import SINGLE
from mbench.contract.workload import MOST_BATCHES, rank_seed
from mbench.sdk import losses, quantized, tensors
from mbench.sdk.decoding import Decoding
from mbench.sdk.inputs import Inputs
from mbench.sdk.learning import Learning
from mbench.sdk.settings import building, described
from mbench.workloads.operators.updates import gradient_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import ModuleType

    from mbench.contract.benchmark import Call
    from mbench.contract.precision import Precision
    from mbench.contract.rank import RankInfo
    from mbench.contract.scenario import Work
    from mbench.contract.tensors import Tensor, Tensors
    from mbench.contract.tier import Tier
    from mbench.sdk.optimizer import UpdateBase
    from mbench.sdk.tensors import Native

__all__ = ["GRADIENT", "Prepared", "batch_count", "direction_of"]

FEWEST_BATCHES = 2
GRADIENT, DIRECTION = "gradient.", "direction"
"""How the names of gradients begin, among outputs, and those of directions in a batch."""
IMAGE_AXES = 4
BATCHES_BYTES = 2**30
"""What all batches of a case may take together, if it is more than the fewest do."""


class Prepared(Inputs, Decoding, Learning):
    """A Benchmark whose author writes down what is the framework's own.

    `family` is the model file, with `build(config)`, `forward` and maybe `loss`. A scenario asks
    once for one of the capabilities, such as `train_step`: it runs `prepare_training`, and each
    step then runs `train`. What an adapter does not write down, it does not support.
    """

    differentiates = False
    """Whether outputs are differentiated by what is in a batch, see `prepare_gradients`."""
    channels_last = False
    """Whether images and what becomes of them have their channels last here."""

    def __init__(
        self,
        work: Work,
        *,
        family: ModuleType,
        compiler: Any,
        precision: Precision,
        tier: Tier,
        place: RankInfo = SINGLE,
    ) -> None:
        self.work = work
        self.case = work.case
        self.workload = work.workload
        self.among = place
        """Where this process stands among those that work on the case."""
        self.family = family
        self.compiler = compiler
        self.precision = precision
        self.settings = tier.settings
        self.training = work.scenario.training
        self.updates = work.scenario.updates
        self.differences = [
            *described(tier, self.case.compiler),
            *self.precision_differences(precision),
            *compiler.differences,
            *getattr(family, "DIFFERENCES", ()),
        ]
        self.keep_results(1)
        with building(self.settings):
            self.model = self.build()
        self.place_batches()
        self.check()
        if self.updates:
            parameters = tensors.trainable(self.natives())
            self.update = self.updater(
                self.workload, parameters, precision, compiler, self.settings,
                to_numpy=self.to_numpy, assign=self.assign,
            )  # fmt: skip

    # Preparing: the framework's own.

    updater: type[UpdateBase]
    """Makes `update`, before `prepare_training`."""

    @staticmethod
    def precision_differences(precision: Precision) -> list[str]:
        """What a reader should know of how this precision is made."""
        return []

    def build(self) -> Any:
        """The model on its device, in the case's mode and precision; the framework is seeded."""
        return self.family.build(self.workload.config)

    def place(self, array: np.ndarray) -> Tensor:
        """One input on the device, in the framework's layout, floats in the precision's type."""
        return array

    def check(self) -> None:
        """Raise Unsupported where the precision has no effect on this model and batch."""

    def prepare_training(self) -> None:
        """Compile what `train` calls: all of `optimize`, unless the adapter says otherwise."""
        self.optimized = self.compiler.compile(self.optimize)

    def prepare_update(self) -> None:
        """Compile what `apply` calls, which is what `train` does after the backward pass. Each of
        `placed_batches` holds the gradients, by the names of the parameters that they update.
        """
        raise Unsupported("the adapter does not support updates by given gradients")

    def prepare_gradients(self) -> None:
        """Compile what `differentiate` calls."""
        raise Unsupported(f"the adapter has no gradients of {self.workload.family}")

    def prepare_phase(self, *, backward: bool) -> None:
        """Compile what `run_phase` calls: by the means of `train`, as far as the phase goes."""
        raise Unsupported("the adapter does not support phases of a training step")

    def prepare_inference(self) -> None:
        """Compile what `infer` calls: the forward pass."""
        self.inferred = self.compiler.compile(partial(self.family.forward, self.model))

    # Running: the framework's own.

    def train(self, batch: Tensors) -> Tensor:
        """Enqueue one optimizer step; gives the loss."""
        return self.optimized(batch)

    def optimize(self, batch: Tensors) -> Tensor:
        """Forward pass, loss, gradients and `update`, as they are compiled; gives the loss."""
        raise NotImplementedError(f"{type(self).__name__} must train")

    def loss_of(self, outputs: Tensors, batch: Tensors) -> Tensor:
        """The loss of a training step: the model file's own, or the family's by `cross_entropy`."""
        own = getattr(self.family, "loss", None)
        if own:
            return own(outputs, batch)
        return losses.loss_of(self.workload.family, self.cross_entropy, outputs, batch)

    @staticmethod
    def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
        """The mean softmax cross entropy of logits (..., K) and labels (...), for `loss_of`."""
        raise NotImplementedError("a model file without a loss needs cross_entropy")

    def apply(self, gradients: Tensors) -> None:
        """Enqueue one update by given gradients of all trainable parameters, by their names."""
        raise NotImplementedError(f"{type(self).__name__} must update by given gradients")

    def infer(self, batch: Tensors) -> Tensors:
        """Enqueue one forward pass; gives the outputs."""
        found: Tensors = self.inferred(batch)
        return found

    def differentiate(self, batch: Tensors) -> Tensors:
        """Enqueue a forward pass in training, and the gradients of its outputs along the batch's
        directions: "direction.0" is that of "output.0". Gives the outputs, and the gradients by all
        other floats of the batch and by all trainable parameters: "gradient.x.0".
        """
        raise NotImplementedError(f"{type(self).__name__} must differentiate")

    def run_phase(self, batch: Tensors) -> Tensors:
        """Enqueue a phase of a training step. Gives the "loss", and if it was prepared to go
        `backward`, the gradients by all trainable parameters, by their names.
        """
        raise NotImplementedError(f"{type(self).__name__} must make phases")

    def natives(self) -> Mapping[str, Native]:
        """All parameters and running statistics by canonical name: those of `state`, in the
        canonical layout, unless the adapter says otherwise.
        """
        return tensors.natives(self.state(), to_numpy=self.to_numpy, assign=self.assign)

    def state(self) -> Tensors:
        """The model's own tensors by canonical name: the model, if that is a dictionary."""
        found: Tensors = self.model if isinstance(self.model, dict) else self.model.state_dict()
        return found

    assign: Callable[[Tensor, np.ndarray], None] = staticmethod(tensors.assign)
    """Copies an array into one of the model's tensors, or of its optimizer's."""

    def renewed(self) -> None:
        """Take over that `placed_batches` have other contents, where more was made of them."""

    def loaded(self) -> None:
        """Take over that parameters were loaded; the optimizer is set back after it."""

    to_numpy: Callable[[Tensor], np.ndarray] = staticmethod(tensors.to_numpy)
    """Gives a copy in float32, or in float64 where the tensor is that."""

    def counted_flops(self) -> float | None:
        return None

    # What follows is the same everywhere.

    call: Call
    """What a step does with its batch: the scenario sets it."""
    at: int
    """The number of the last step's batch."""
    placed_batches: list[Tensor]
    _result: Tensor
    """Of the last step."""

    def train_step(self) -> Call:
        """What makes an optimizer step on a batch, and gives its loss."""
        self.prepare_training()
        self.differences += self.update.differences
        return self.train

    def update_step(self) -> Call:
        """What makes an update by the gradients that a batch holds."""
        names = list(self.update.parameters)
        self.placed_batches = [
            {name: batch[gradient_of(name)] for name in names} for batch in self.placed_batches
        ]
        self.prepare_update()
        self.differences += self.update.differences
        return self.apply

    def phase_step(self, *, backward: bool) -> Call:
        """What makes a forward pass in training, or that and a backward pass."""
        self.prepare_phase(backward=backward)
        return self.run_phase

    def gradient_step(self) -> Call:
        """What gives outputs, and gradients along the directions that a batch holds."""
        self.prepare_gradients()
        return self.differentiate

    def infer_step(self) -> Call:
        """What makes a forward pass in evaluation mode, and gives its outputs."""
        self.prepare_inference()
        return self.infer

    def copy_step(self, *, to_device: bool) -> Call:
        """What copies the arrays of a batch."""
        raise Unsupported("a model has nothing to copy")

    @property
    def seed(self) -> int:
        """Of what the framework draws by itself: each rank drops what it will."""
        return self.case.seed + self.among.rank

    def place_batches(self) -> None:
        """All batches on the device; `batch` is the first. The same ones in every framework, and
        for each rank others.
        """
        first, parts = self.case.seed * MOST_BATCHES, self.work.parts
        step = rank_seed(1) if parts else 1
        if not parts:
            first += rank_seed(self.among.rank)
        batch = self.workload.batch(self.case.batch_size, seed=first)
        self.floats = [name for name, array in batch.items() if array.dtype.kind == "f"]
        each = sum(array.nbytes for array in batch.values()) + self.cache_bytes()
        self.batches = parts or batch_count(each)
        placed = [self.placed(batch)]
        for at in range(1, self.batches):
            batch = self.workload.batch(self.case.batch_size, seed=first + at * step)
            placed.append(self.placed(batch))
        self.placed_batches = placed
        self.batch = placed[0]

    def renew(self, seeds: Mapping[int, int]) -> None:
        """Give batches unforeseeable contents of the same size. None is a constant of what is
        compiled, so nothing is compiled again. With no seeds, all are as they were at first.
        """
        if not seeds:
            self.place_batches()
        with generator.quick():
            for at, seed in sorted(seeds.items()):
                batch = self.workload.batch(
                    self.case.batch_size, seed=seed + rank_seed(self.among.rank)
                )
                self.placed_batches[at : at + 1] = [self.placed(batch)]
        self.batch = self.placed_batches[0]
        self.renewed()

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
        return {name: self.place(array) for name, array in batch.items()}

    @property
    def differentiable(self) -> list[str]:
        """The names of what outputs are differentiated by, beside parameters: all floats."""
        return [name for name in self.floats if not name.startswith(DIRECTION)]

    def sample(self) -> Tensors:
        """The first sample of the first batch; of what has none, all of it."""
        if not self.work.scenario.separable:
            return self.batch
        return {name: tensor[:1] for name, tensor in self.batch.items()}

    @property
    def times_sample(self) -> int:
        """How often what `sample` gives is in a batch."""
        return self.case.batch_size if self.work.scenario.separable else 1

    def step(self, at: int) -> None:
        """What runs takes its batch as an argument: none is ever a constant of what is compiled."""
        self.at = at
        self._result = self.call(self.placed_batches[at])
        self._kept.append(self._result)

    def keep_results(self, count: int) -> None:
        self._kept: deque[Tensor] = deque(maxlen=count)

    def recall_result(self, back: int) -> None:
        self._result = self._kept[-1 - back]

    def synchronize(self) -> None:
        self.compiler.synchronize()

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        tensors.load(self.natives(), arrays)
        self.loaded()
        self.fill_caches()
        if self.updates:
            self.update.reset()
            self._scale, self._skipped = self.update.loss_scale(), 0

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        return tensors.read(self.natives())

    def integers(self) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
        return quantized.held(self.natives())

    def trainable_parameters(self) -> int:
        return tensors.trainable_scalars(self.natives())

    def loss(self) -> float:
        assert self.updates, "what updates nothing has no loss"
        return float(self.to_numpy(self.compiler.finished(self._result)).item())

    def outputs(self) -> dict[str, np.ndarray]:
        assert not self.updates, "training keeps no outputs"
        known = self.natives() if self.training else {}
        return {
            name: self.canonical(self.fetched(output), known.get(gradient_by(name)))
            for name, output in self.compiler.finished(self._result).items()
        }

    def fetched(self, output: Tensor) -> np.ndarray:
        """An output; of several tokens (B, V), one after the other, (B, K, V)."""
        if isinstance(output, list):
            return np.stack([self.to_numpy(one) for one in output], axis=1)
        return self.to_numpy(output)

    def canonical(self, array: np.ndarray, native: Native | None) -> np.ndarray:
        """An output in the canonical layout; the gradient by a parameter has that one's axes."""
        if native is not None:
            return array.transpose(np.argsort(native.axes)) if native.axes else array
        images = self.channels_last and array.ndim == IMAGE_AXES
        return array.transpose(0, 3, 1, 2) if images else array

    def peak_memory_bytes(self) -> int | None:
        found: int | None = self.compiler.peak_memory_bytes()
        return found

    def begin_peak(self) -> bool:
        return bool(self.compiler.begin_peak())

    def skipped_steps(self) -> int:
        """Counted by how often the loss scale was halved since the last call."""
        if not self.precision.scales_loss or not self.updates:
            return 0
        before, self._scale = self._scale, self.update.loss_scale()
        self._skipped += max(0, round(math.log2(before / self._scale)))
        return self._skipped


def gradient_by(output: str) -> str:
    """By what an output is the gradient, if it is one."""
    return output[len(GRADIENT) :] if output.startswith(GRADIENT) else output


def direction_of(output: str) -> str:
    """The name in the batch of the direction along which an output is differentiated."""
    return output.replace("output", DIRECTION)


def batch_count(bytes_each: int) -> int:
    """How many batches of a case lie on the device: fewer where they are large."""
    return max(FEWEST_BATCHES, min(MOST_BATCHES, BATCHES_BYTES // max(bytes_each, 1)))
