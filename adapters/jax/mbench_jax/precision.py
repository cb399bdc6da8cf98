"""How JAX computes in a precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from mbench.sdk.checks import check_capability

if TYPE_CHECKING:
    from mbench.contract.precision import Precision
    from mbench_jax.compiler import Eager

__all__ = ["differences", "set_flags", "wide"]

HALVES = (jnp.float16, jnp.bfloat16)


def differences(precision: Precision) -> list[str]:
    """What a reader should know of this precision's making."""
    if precision.mixed:
        return [
            "mixed precision casts parameters and inputs of each layer, as Flax's dtype does; "
            "statistics, softmax and loss are in float32"
        ]
    if precision.half:
        return ["running statistics and optimizer state are half precision too"]
    return []


def set_flags(precision: Precision, compiler: Eager) -> None:
    """Set what holds for the process; raises Unsupported where the device lacks the precision."""
    jax.config.update("jax_enable_x64", precision.parameters == "float64")
    if compiler.device == "cuda":
        own = jax.local_devices()[0]
        check_capability(precision, tuple(map(int, own.compute_capability.split("."))))
        # By default float32 products are TensorFloat-32 there.
        product = "tensorfloat32" if precision.tf32 else "highest"
        jax.config.update("jax_default_matmul_precision", product)


def wide(tree: Any) -> Any:
    """All arrays of half precision in float32; others as they are."""
    return jax.tree.map(
        lambda x: x.astype(jnp.float32) if getattr(x, "dtype", None) in HALVES else x, tree
    )
