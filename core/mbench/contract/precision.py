"""What each precision is: the types in which numbers are kept and multiplied, by neutral names."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PRECISIONS", "Precision"]

BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
UNITS = {"float64": 0.0, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@dataclass(frozen=True)
class Precision:
    """`parameters` is the type of parameters, statistics and inputs, `products` that of products.

    `quantized`: linear layers multiply 8-bit integers instead; see contract/quantized.py.
    """

    name: str
    says: str
    parameters: str
    products: str
    tf32: bool = False
    quantized: bool = False

    @property
    def parameter_bytes(self) -> int:
        """Size of a number in the type of parameters and inputs."""
        return BYTES[self.parameters]

    @property
    def product_bytes(self) -> int:
        """Size of a number in the type of products."""
        return BYTES[self.products]

    @property
    def half(self) -> bool:
        """Whether products are in a 16-bit type."""
        return BYTES[self.products] == 2

    @property
    def unit(self) -> float:
        """A unit in the last place of what is multiplied, relative to a power of two; 0.0 if it is
        smaller than that of the canonical parameters, which are single-precision numbers.
        """
        if self.quantized:
            return 2.0**-6
        return UNITS["float16" if self.tf32 else self.products]

    @property
    def mixed(self) -> bool:
        """Whether single-precision parameters are kept alongside half-precision arithmetic."""
        return self.parameters != self.products

    @property
    def pure(self) -> str:
        """The name of the precision with the same products, and parameters of that type too."""
        return next(
            name
            for name, other in PRECISIONS.items()
            if (other.parameters, other.products, other.tf32)
            == (self.products, self.products, self.tf32)
        )

    @property
    def scales_loss(self) -> bool:
        """Whether the loss is scaled, so that small float16 gradients are not lost."""
        return self.mixed and self.products == "float16"


PRECISIONS = {
    precision.name: precision
    for precision in (
        Precision("fp32", "IEEE single precision throughout", "float32", "float32"),
        Precision(
            "fp64",
            "IEEE double precision throughout; used for proofs of equal work",
            "float64",
            "float64",
        ),
        Precision(
            "tf32",
            "single precision with TensorFloat-32 matrix products (CUDA)",
            "float32",
            "float32",
            tf32=True,
        ),
        Precision(
            "amp-bf16",
            "mixed precision: bfloat16 where the framework's AMP deems it safe",
            "float32",
            "bfloat16",
        ),
        Precision(
            "amp-fp16", "mixed precision: float16 with loss scaling (CUDA)", "float32", "float16"
        ),
        Precision("bf16", "parameters and activations in bfloat16", "bfloat16", "bfloat16"),
        Precision("fp16", "parameters and activations in float16 (CUDA)", "float16", "float16"),
        Precision(
            "int8",
            "8-bit integers in linear layers: weights as the core gives them, activations rounded "
            "in each step; all else in single precision (inference on CPUs)",
            "float32",
            "float32",
            quantized=True,
        ),
    )
}
