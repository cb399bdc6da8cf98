"""Adapters that look like the honest ones to the parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench_pytorch.plugin import PyTorch
from mbench_tensorflow.plugin import TensorFlow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.sdk.plugin import AdapterBase

__all__ = ["mbench_adapters"]


def planted(honest: type[AdapterBase]) -> AdapterBase:
    """The same framework, whose runtime plants what the variable PLANT says."""
    members = {
        "name": f"planted-{honest.name}",
        "title": f"{honest.title}, with additional work",
        "runtime": f"plants.{honest.name}_runtime:Runtime",
    }
    made: AdapterBase = type(f"Planted{honest.__name__}", (honest,), members)()
    return made


@hookimpl
def mbench_adapters() -> Sequence[AdapterBase]:
    return [planted(honest) for honest in (PyTorch, TensorFlow)]
