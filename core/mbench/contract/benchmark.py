"""What an adapter's runtime prepares: a model on its device, and what steps can do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np

    from mbench.contract.feed import Pipeline, Source
    from mbench.contract.tensors import Tensor, Tensors

    Call = Callable[[Tensor], object]

__all__ = ["Benchmark"]


class Benchmark(Protocol):
    """A prepared case: model, data and optimizer, on the device.

    A scenario asks for one capability, such as `train_step`, once. That compiles what a step needs
    and returns a function that a step calls with its batch, which enqueues the work. Each raises
    Unsupported if the adapter does not have it. A proof of equal work observes a benchmark like any
    other: there is no separate step for proofs.
    """

    batches: int
    """How many batches are on the device; steps take them in turn."""
    call: Call
    """What a step does with its batch, in the framework's own form; the scenario sets it. The
    result of the last call is kept."""
    at: int
    """The number of the last step's batch."""

    @property
    def differences(self) -> Sequence[str]:
        """What this framework does differently and readers should know (layout, fused kernels)."""

    @property
    def placed_batches(self) -> Sequence[Tensor]:
        """The batches on the device: the framework's tensors by name, or as its calls take them."""

    def infer_step(self) -> Call:
        """A forward pass in evaluation mode, which returns outputs."""

    def prefill_step(self) -> Call:
        """Reads whole prompts into a new cache of keys and values, and returns the logits of their
        last positions (B, 1, V).
        """

    def decode_step(self) -> Call:
        """Processes given tokens one by one after prompts, which have been in a cache of keys and
        values since parameters were loaded. It returns the logits of each token (B, V).
        """

    def train_step(self) -> Call:
        """An optimizer step, which returns the loss."""

    def phase_step(self, *, backward: bool) -> Call:
        """A forward pass in training, which returns the "loss"; if `backward`, also a backward
        pass, which returns the gradients of all trainable parameters by name.
        """

    def gradient_step(self) -> Call:
        """Returns outputs, and gradients along the directions that a batch holds."""

    def update_step(self) -> Call:
        """An update by given gradients. From now on, batches hold gradients, by parameter name."""

    def copy_step(self, *, to_device: bool) -> Call:
        """Copies of a batch's arrays between NumPy's memory and the device."""

    def step(self, at: int) -> None:
        """Enqueue one step, that is `call`, on the batch with that number."""

    def files(self, source: Source) -> Pipeline:
        """The framework's own input pipeline for images from files, opened; see contract/feed.py.
        Raises Unsupported if the adapter has none.
        """

    def step_on(self, batch: Tensors) -> None:
        """Enqueue one step on a batch from such a pipeline."""

    def pixels(self, batch: Tensors) -> np.ndarray:
        """The images of such a batch, float32 or float64 (B, 3, H, W)."""

    def renew(self, seeds: Mapping[int, int]) -> None:
        """Give batches new contents, each drawn from its seed; batch numbers may continue past the
        last existing one. Without seeds, all batches are restored to their first contents.
        """

    def feed(self, at: int, batch: Mapping[str, np.ndarray]) -> None:
        """Give one batch these contents, by name, in the same shapes. Labels may be shares of
        classes (B, K), float32, instead of numbers: then they are in all later batches too.
        """

    def set_learning_rate(self, rate: float) -> None:
        """Set the learning rate of all later updates. Raises Unsupported if the adapter cannot."""

    def keep_results(self, count: int) -> None:
        """Keep the results of the last `count` steps, by reference."""

    def recall_result(self, back: int) -> None:
        """Let `loss` and `outputs` return the result of `back` steps before the last one; raises
        IndexError if it was not kept.
        """

    def synchronize(self) -> None:
        """Wait until all enqueued work is done."""

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        """Set every parameter and running statistic, and reset the optimizer.

        Names and layouts are the workload's canonical ones. Raises ValueError for a name that the
        model does not have, a wrong shape, or a tensor of the model that `arrays` left out.
        """

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        """All parameters and running statistics, in canonical names and layouts, float32 or 64."""

    def integers(self) -> Iterable[tuple[str, tuple[np.ndarray, np.ndarray]]]:
        """With precision int8, what the framework multiplies by, by the name of each weight of a
        linear layer: int8 integers (out, in), and float32 scales (out,).
        """

    def trainable_parameters(self) -> int:
        """How many scalars the framework itself counts as trainable in this model."""

    def counted_flops(self) -> float | None:
        """FLOPs of one sample's forward pass by the framework's own counter.

        None if it has no counter, or one that miscounts this model, such as a loop's body once.
        """

    def loss(self) -> float:
        """The loss of the last training step."""

    def outputs(self) -> Mapping[str, np.ndarray]:
        """The outputs of the last step by canonical name, float32 or float64, if it has any."""

    def to_numpy(self, tensor: Tensor) -> np.ndarray:
        """A copy of one of the framework's tensors, float32 or float64."""

    def peak_memory_bytes(self) -> int | None:
        """Peak memory use so far: on CPU, the resident memory of this process.

        On a device, it is what the framework's own allocator reports; None if it reports nothing.
        """

    def begin_peak(self) -> bool:
        """Restart the peak, and return whether that is supported. Optional."""

    def skipped_steps(self) -> int:
        """How many steps since parameters were loaded made no update because scaled gradients
        overflowed. Optional if no loss is scaled.
        """
