"""The ways in which TensorFlow runs a step: as it comes, as a graph, or compiled by XLA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from mbench.sdk.compiler import Compiler
from mbench.sdk.tensors import micro_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.contract.case import Case

    Backward = Callable[[Mapping[str, tf.Tensor]], tuple[tf.Tensor, list[tf.Tensor]]]
    Averaged = Callable[[Backward], Backward]
    Update = Callable[[Sequence[tf.Tensor]], None]

    Function = Callable[..., Any]


__all__ = ["COMPILERS", "Eager", "accumulated", "in_turn"]


class Eager(Compiler):
    """Operations run one by one; on CUDA they are only enqueued. On CPU a call returns when its
    work is done.
    """

    takes_cudnn_rnn = True
    """Whether it can run cuDNN's kernels for whole sequences, in which Keras' LSTM is on CUDA."""

    packs = False
    """Whether gradients of several processes are put together before they are exchanged."""
    parted: Sequence[str] = ()
    """What a reader should know of a step with an exchange in it."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.placement = "GPU:0" if device == "cuda" else "CPU:0"

    def among_others(self, backward: Backward, averaged: Averaged, update: Update) -> Function:
        """What runs in place of a step of one of several processes, which gives the loss;
        `averaged` makes of `backward` one whose gradients are the means over all of them.
        """
        return self.compile(in_turn(averaged(backward), update))

    def synchronize(self) -> None:
        # As tf.test.experimental.sync_devices, which launches an operation on every other device
        # too, and waits for asynchronous execution, which is off.
        with tf.device(self.placement):
            tf.raw_ops.SyncDevice()

    def peak_memory_bytes(self) -> int | None:
        if self.device == "cuda":
            return int(tf.config.experimental.get_memory_info(self.placement)["peak"])
        return super().peak_memory_bytes()

    def begin_peak(self) -> bool:
        if self.device == "cuda":
            tf.config.experimental.reset_memory_stats(self.placement)
            return True
        return super().begin_peak()


class Graph(Eager):
    """tf.function: traced once, optimised by Grappler, run by TensorFlow's executor."""

    differences = ("the whole step is one tf.function, the update included",)
    packs = True

    def compile(self, function: Function) -> Function:
        compiled: Function = tf.function(function, autograph=False)
        return compiled


class Xla(Eager):
    """tf.function compiled whole by XLA."""

    differences = ("the whole step is compiled by XLA, the update included",)
    takes_cudnn_rnn = False  # in no precision
    packs = True
    parted = ("XLA compiles what is before the exchange and what is after it, each by itself",)

    def compile(self, function: Function) -> Function:
        compiled: Function = tf.function(function, autograph=False, jit_compile=True)
        return compiled

    def among_others(self, backward: Backward, averaged: Averaged, update: Update) -> Function:
        """A graph around the compiled part: XLA has no exchange between processes on CPUs."""
        step = in_turn(averaged(self.compile(backward)), self.compile(update))
        compiled: Function = tf.function(step, autograph=False)
        return compiled


def accumulated(backward: Backward, case: Case) -> Backward:
    """The same for a batch, by its micro-batches one after the other: at once, the activations of
    all of them would be kept. `backward` gives their shares of loss and gradients.
    """

    def run(batch: Mapping[str, tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        first, *others = micro_batches(batch, case)
        loss, total = backward(first)
        for part in others:
            with tf.control_dependencies([loss, *total]):
                waited = {name: tf.identity(tensor) for name, tensor in part.items()}
                more, gradients = backward(waited)
                loss += more
                total = [one + other for one, other in zip(total, gradients, strict=True)]
        return loss, total

    return run


def in_turn(backward: Backward, update: Update) -> Function:
    """A step: the loss, its gradients and the update. It returns the loss."""

    def step(batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        loss, gradients = backward(batch)
        update(gradients)
        return loss

    return step


COMPILERS: dict[str, type[Eager]] = {"graph": Graph, "xla": Xla, "eager": Eager}
