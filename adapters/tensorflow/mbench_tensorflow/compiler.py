"""The ways in which TensorFlow runs a step: eagerly, as a graph, or compiled by XLA."""

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
    """Whether it can run cuDNN's kernels for whole sequences, which Keras' LSTM uses on CUDA."""

    packs = False
    """Whether a process packs all its gradients into one piece before they are exchanged."""
    parted: Sequence[str] = ()
    """What a reader should know about a step that contains an exchange."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.placement = "GPU:0" if device == "cuda" else "CPU:0"

    def among_others(self, backward: Backward, averaged: Averaged, update: Update) -> Function:
        """A compiled step for one of several processes; it returns the loss. `averaged` turns
        `backward` into one whose gradients are the means over all processes.
        """
        return self.compile(in_turn(averaged(backward), update))

    def synchronize(self) -> None:
        # Like tf.test.experimental.sync_devices, which also launches an operation on every other
        # device, and waits for asynchronous execution, which is off.
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
    takes_cudnn_rnn = False  # not in any precision
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
    """Like `backward`, but for a whole batch, one micro-batch after the other: at once, the
    activations of all would be kept. `backward` returns a micro-batch's share of loss and
    gradients.
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
