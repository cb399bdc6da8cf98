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

    A scenario asks for one of the capabilities once, `train_step` and so on: it compiles what a
    step takes, and gives what a step calls with its batch, which enqueues the work. Each raises
    Unsupported where the adapter lacks it. What a proof of equal work observes is a benchmark like
    any other: there is no second step.
    """

    batches: int
    """How many batches lie on the device; steps take them in turn."""
    call: Call
    """What a step does with its batch, which is as the framework takes it; the scenario sets it.
    The result of the last one is kept."""
    at: int
    """The number of the last step's batch."""

    @property
    def differences(self) -> Sequence[str]:
        """What this framework does its own way and a reader should know (layout, fused kernels)."""

    @property
    def placed_batches(self) -> Sequence[Tensor]:
        """The batches: the framework's tensors by name, or as its calls take them."""

    def infer_step(self) -> Call:
        """A forward pass in evaluation mode, which gives outputs."""

    def prefill_step(self) -> Call:
        """Prompts read whole into a new cache of keys and values, which gives the logits of their
        last positions (B, 1, V).
        """

    def decode_step(self) -> Call:
        """Given tokens, one by one, behind prompts that a cache of keys and values holds since
        parameters were loaded. It gives the logits of each token (B, V).
        """

    def train_step(self) -> Call:
        """An optimizer step, which gives the loss."""

    def phase_step(self, *, backward: bool) -> Call:
        """A forward pass in training, which gives the "loss"; if `backward`, a backward pass
        besides, which gives the gradients by all trainable parameters, by their names.
        """

    def gradient_step(self) -> Call:
        """Outputs, and gradients along the directions that a batch holds."""

    def update_step(self) -> Call:
        """An update by given gradients. From here on a batch holds these, by parameter."""

    def copy_step(self, *, to_device: bool) -> Call:
        """Copies of a batch's arrays between NumPy's memory and the device."""

    def step(self, at: int) -> None:
        """Enqueue one step on the batch of that number: `call`."""

    def files(self, source: Source) -> Pipeline:
        """The framework's own input pipeline for images from files, opened; see contract/feed.py.
        Raises Unsupported where the adapter has none.
        """

    def step_on(self, batch: Tensors) -> None:
        """Enqueue one step on a batch that such a pipeline has given."""

    def pixels(self, batch: Tensors) -> np.ndarray:
        """The images of such a batch, float32 or 64 (B, 3, H, W)."""

    def renew(self, seeds: Mapping[int, int]) -> None:
        """Give batches other contents, each drawn by its seed; numbers may go on after the last
        one that there is. With no seeds, all are as they were at first.
        """

    def feed(self, at: int, batch: Mapping[str, np.ndarray]) -> None:
        """Give one batch these contents, by name, of its shapes. Labels may be shares of classes
        (B, K), float32, instead of numbers: then all batches that follow have them so.
        """

    def set_learning_rate(self, rate: float) -> None:
        """Of the updates from now on. Raises Unsupported where the adapter cannot."""

    def keep_results(self, count: int) -> None:
        """Keep the results of the last `count` steps, by reference."""

    def recall_result(self, back: int) -> None:
        """Let `loss` and `outputs` give the result of `back` steps before the last one, if it is
        kept; raises IndexError where it is not.
        """

    def synchronize(self) -> None:
        """Wait until everything enqueued is done."""

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        """Set every parameter and running statistic, and the optimizer back to its start.

        Names and layouts are the workload's canonical ones. Raises ValueError for a name that
        the model lacks, a wrong shape, or a tensor of the model that `arrays` left out.
        """

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        """All parameters and running statistics, canonical names and layouts, float32 or 64."""

    def integers(self) -> Iterable[tuple[str, tuple[np.ndarray, np.ndarray]]]:
        """In int8, of each weight of a linear layer what the framework multiplies by: int8 (out,
        in), and float32 scales (out,).
        """

    def trainable_parameters(self) -> int:
        """How many scalars the framework itself counts as trainable in this model."""

    def counted_flops(self) -> float | None:
        """FLOPs of one sample's forward pass by the framework's own counter.

        None where it has no counter, or one that miscounts this model, as a loop's body once.
        """

    def loss(self) -> float:
        """The loss of the last training step."""

    def outputs(self) -> Mapping[str, np.ndarray]:
        """The outputs of the last step by canonical name, float32 or 64, if it has any."""

    def to_numpy(self, tensor: Tensor) -> np.ndarray:
        """A copy of one of its tensors, float32 or 64."""

    def peak_memory_bytes(self) -> int | None:
        """Most memory in use so far: on CPU resident memory of this process.

        On a device it is by the framework's own allocator; None where that does not tell.
        """

    def begin_peak(self) -> bool:
        """Restart the peak, and return whether that is supported. Optional."""

    def skipped_steps(self) -> int:
        """How many steps since parameters were loaded made no update, as scaled gradients
        overflowed. It may be left out where no loss is scaled.
        """
