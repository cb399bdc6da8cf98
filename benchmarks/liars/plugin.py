"""Adapters that look like the honest ones to the parent, and small models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench_jax.plugin import Jax
from mbench_pytorch.plugin import PyTorch
from mbench_tensorflow.plugin import TensorFlow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.sdk.plugin import AdapterBase

__all__ = ["mbench_adapters", "mbench_workloads"]


def liar(honest: type[AdapterBase]) -> AdapterBase:
    """The same framework, whose runtime is the liar of its name."""
    members = {
        "name": f"liar-{honest.name}",
        "title": f"{honest.title}, lying",
        "runtime": f"liars.{honest.name}_runtime:Runtime",
    }
    made: AdapterBase = type(f"Liar{honest.__name__}", (honest,), members)()
    return made


@hookimpl
def mbench_adapters() -> Sequence[AdapterBase]:
    return [liar(honest) for honest in (PyTorch, TensorFlow, Jax)]


@hookimpl
def mbench_workloads() -> dict[str, str]:
    return {
        "small-bert": "liars.small:BERT",
        "small-gpt2": "liars.small:GPT2",
        "small-lstm": "liars.small:LSTM",
    }
