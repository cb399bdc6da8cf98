"""What makes a case unsupported: a device or build that lacks it, a toggle without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.adapter import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.precision import Precision

__all__ = ["check_capability", "check_effect", "require"]


def require(found: object, otherwise: str) -> None:
    """Raises Unsupported with the reason unless something was found."""
    if not found:
        raise Unsupported(otherwise)


def check_capability(precision: Precision, capability: tuple[int, ...]) -> None:
    """Raises Unsupported where a GPU of this compute capability has no such arithmetic."""
    if capability < (8, 0):
        require(not precision.tf32, "TensorFloat-32 needs compute capability 8.0 or newer")
        other = precision.products != "bfloat16"
        require(other, "this GPU only emulates bfloat16: use fp16 or amp-fp16")


def check_effect(precision: Precision, found: Mapping[str, object], expected: object) -> None:
    """Raises Unsupported unless the types that were found, by what has them, are as expected."""
    for name, dtype in found.items():
        require(dtype == expected, f"{precision.name} has no effect here: {name} is {dtype}")
