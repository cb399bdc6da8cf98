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
    """What a reader should know about how this precision is computed."""
    if precision.mixed:
        return [
            "mixed precision casts parameters and inputs of each layer, as Flax's dtype does; "
            "statistics, softmax and loss are in float32"
        ]
    if precision.half:
        return ["running statistics and optimizer state are half precision too"]
    return []


def set_flags(precision: Precision, compiler: Eager) -> None:
    """Set process-wide options; raises Unsupported if the device lacks the precision."""
    jax.config.update("jax_enable_x64", precision.parameters == "float64")
    if compiler.device == "cuda":
        own = jax.local_devices()[0]
        check_capability(precision, tuple(map(int, own.compute_capability.split("."))))
        # By default, float32 products use TensorFloat-32 there.
        product = "tensorfloat32" if precision.tf32 else "highest"
        jax.config.update("jax_default_matmul_precision", product)


def wide(tree: Any) -> Any:
    """All half-precision arrays in float32; others unchanged."""
    return jax.tree.map(
        lambda x: x.astype(jnp.float32) if getattr(x, "dtype", None) in HALVES else x, tree
    )
