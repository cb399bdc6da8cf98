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
"""Prefixes of the names of gradients among outputs, and of directions in a batch."""
IMAGE_AXES = 4
BATCHES_BYTES = 2**30
"""How much all batches of a case may take together, unless the fewest batches need more."""


class Prepared(Inputs, Decoding, Learning):
    """A Benchmark whose author implements only what is specific to the framework.

    `family` is the model file, with `build(config)`, `forward` and optionally `loss`. A scenario
    asks for one capability, such as `train_step`, once: that runs `prepare_training`, and each step
    then runs `train`. An adapter does not support what it does not implement.
    """

    differentiates = False
    """Whether outputs are differentiated with respect to a batch, see `prepare_gradients`."""
    channels_last = False
    """Whether images and their activations have their channels last here."""

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
        """This process's place among those that work on the case."""
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
    """The class of `update`, which is created before `prepare_training`."""

    @staticmethod
    def precision_differences(precision: Precision) -> list[str]:
        """What a reader should know about how this precision is implemented."""
        return []

    def build(self) -> Any:
        """The model on its device, in the case's mode and precision; the framework is seeded."""
        return self.family.build(self.workload.config)

    def place(self, array: np.ndarray) -> Tensor:
        """Put an input on the device, in the framework's layout, floats in the precision's type."""
        return array

    def check(self) -> None:
        """Raise Unsupported if the precision has no effect on this model and batch."""

    def prepare_training(self) -> None:
        """Compile what `train` calls: all of `optimize`, unless the adapter overrides this."""
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
        """Compile what `run_phase` calls: the same way as `train`, as far as the phase goes."""
        raise Unsupported("the adapter does not support phases of a training step")

    def prepare_inference(self) -> None:
        """Compile what `infer` calls: the forward pass."""
        self.inferred = self.compiler.compile(partial(self.family.forward, self.model))

    # Running: the framework's own.

    def train(self, batch: Tensors) -> Tensor:
        """Enqueue one optimizer step; returns the loss."""
        return self.optimized(batch)

    def optimize(self, batch: Tensors) -> Tensor:
        """Forward pass, loss, gradients and `update`, to be compiled; returns the loss."""
        raise NotImplementedError(f"{type(self).__name__} must train")

    def loss_of(self, outputs: Tensors, batch: Tensors) -> Tensor:
        """The loss of a training step: the model file's own, or the family's `cross_entropy`."""
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
        """Enqueue one forward pass; returns the outputs."""
        found: Tensors = self.inferred(batch)
        return found

    def differentiate(self, batch: Tensors) -> Tensors:
        """Enqueue a forward pass in training, and the gradients of its outputs along the batch's
        directions: "direction.0" is that of "output.0". Returns the outputs, and the gradients of
        all other floats of the batch and of all trainable parameters: "gradient.x.0".
        """
        raise NotImplementedError(f"{type(self).__name__} must differentiate")

    def run_phase(self, batch: Tensors) -> Tensors:
        """Enqueue a phase of a training step. Returns the "loss" and, if prepared with `backward`,
        the gradients of all trainable parameters by name.
        """
        raise NotImplementedError(f"{type(self).__name__} must make phases")

    def natives(self) -> Mapping[str, Native]:
        """All parameters and running statistics by canonical name: those of `state`, in the
        canonical layout, unless the adapter overrides this.
        """
        return tensors.natives(self.state(), to_numpy=self.to_numpy, assign=self.assign)

    def state(self) -> Tensors:
        """The model's own tensors by canonical name: the model itself if it is a dictionary."""
        found: Tensors = self.model if isinstance(self.model, dict) else self.model.state_dict()
        return found

    assign: Callable[[Tensor, np.ndarray], None] = staticmethod(tensors.assign)
    """Copies an array into one of the model's tensors, or one of its optimizer's."""

    def renewed(self) -> None:
        """Called when `placed_batches` have new contents, to update anything derived from them."""

    def loaded(self) -> None:
        """Called after parameters are loaded, and before the optimizer is reset."""

    to_numpy: Callable[[Tensor], np.ndarray] = staticmethod(tensors.to_numpy)
    """Returns a copy in float32, or in float64 if that is the tensor's type."""

    def counted_flops(self) -> float | None:
        return None

    # What follows is the same everywhere.

    call: Call
    """What a step does with its batch: the scenario sets it."""
    at: int
    """The number of the last step's batch."""
    placed_batches: list[Tensor]
    _result: Tensor
    """The last step's result."""

    def train_step(self) -> Call:
        """A function that makes an optimizer step on a batch, and returns its loss."""
        self.prepare_training()
        self.differences += self.update.differences
        return self.train

    def update_step(self) -> Call:
        """A function that makes an update by the gradients that a batch holds."""
        names = list(self.update.parameters)
        self.placed_batches = [
            {name: batch[gradient_of(name)] for name in names} for batch in self.placed_batches
        ]
        self.prepare_update()
        self.differences += self.update.differences
        return self.apply

    def phase_step(self, *, backward: bool) -> Call:
        """A function that makes a forward pass in training, or also a backward pass."""
        self.prepare_phase(backward=backward)
        return self.run_phase

    def gradient_step(self) -> Call:
        """A function that returns outputs, and gradients along a batch's directions."""
        self.prepare_gradients()
        return self.differentiate

    def infer_step(self) -> Call:
        """A function that makes a forward pass in evaluation mode, and returns its outputs."""
        self.prepare_inference()
        return self.infer

    def copy_step(self, *, to_device: bool) -> Call:
        """A function that copies the arrays of a batch."""
        raise Unsupported("a model has nothing to copy")

    @property
    def seed(self) -> int:
        """The seed of what the framework draws itself: ranks have different dropout."""
        return self.case.seed + self.among.rank

    def place_batches(self) -> None:
        """Place all batches on the device; `batch` is the first. Every framework has the same ones,
        and each rank has different ones.
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
        """Give batches unpredictable contents of the same size. They are never constants in
        compiled code, so nothing is recompiled. Without seeds, restore the first contents.
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
        """What outputs are differentiated with respect to, besides parameters: all floats."""
        return [name for name in self.floats if not name.startswith(DIRECTION)]

    def sample(self) -> Tensors:
        """The first sample of the first batch; the whole batch if it cannot be split."""
        if not self.work.scenario.separable:
            return self.batch
        return {name: tensor[:1] for name, tensor in self.batch.items()}

    @property
    def times_sample(self) -> int:
        """How many times a batch is as large as what `sample` returns."""
        return self.case.batch_size if self.work.scenario.separable else 1

    def step(self, at: int) -> None:
        """The batch is always passed as an argument, so it is never a constant of compiled code."""
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
        """An output; a list of K tokens' (B, V) is stacked to (B, K, V)."""
        if isinstance(output, list):
            return np.stack([self.to_numpy(one) for one in output], axis=1)
        return self.to_numpy(output)

    def canonical(self, array: np.ndarray, native: Native | None) -> np.ndarray:
        """An output in the canonical layout; a parameter's gradient has the parameter's axes."""
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
        """Counts skipped steps by how often the loss scale was halved since the last call."""
        if not self.precision.scales_loss or not self.updates:
            return 0
        before, self._scale = self._scale, self.update.loss_scale()
        self._skipped += max(0, round(math.log2(before / self._scale)))
        return self._skipped


def gradient_by(output: str) -> str:
    """What an output is the gradient with respect to; any other output's own name."""
    return output[len(GRADIENT) :] if output.startswith(GRADIENT) else output


def direction_of(output: str) -> str:
    """The name in the batch of the direction along which an output is differentiated."""
    return output.replace("output", DIRECTION)


def batch_count(bytes_each: int) -> int:
    """How many batches of a case are kept on the device: fewer if they are large."""
    return max(FEWEST_BATCHES, min(MOST_BATCHES, BATCHES_BYTES // max(bytes_each, 1)))
