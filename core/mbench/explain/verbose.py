"""Parses the lines in which oneDNN and MKL, of any version, log their calls.

oneDNN's are described in its developer guide under "Verbose Mode", MKL's in its own under "Using
Intel oneMKL Verbose Mode". Computations outside these libraries are not logged.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["VARIABLES", "Kernel", "Parsed", "parse", "versions"]

VARIABLES = dict.fromkeys(("ONEDNN_VERBOSE", "DNNL_VERBOSE", "MKLDNN_VERBOSE", "MKL_VERBOSE"), "1")
"""Environment variables that make the libraries log: each name is used by some versions."""
ONEDNN, MKL = "oneDNN", "MKL"

BYTES = {"f64": 8.0, "s64": 8.0, "f32": 4.0, "s32": 4.0, "bf16": 2.0, "f16": 2.0, "s8": 1.0,
         "u8": 1.0, "f8_e5m2": 1.0, "f8_e4m3": 1.0, "e8m0": 1.0, "s4": 0.5, "u4": 0.5,
         "f4_e2m1": 0.5, "f4_e3m0": 0.5}  # fmt: skip
"""Bytes of an element, by oneDNN's name for its type."""

LINE = re.compile(r"(?:onednn|dnnl|mkldnn)_verbose,(.*)")
VERSION = re.compile(r"(?:onednn|dnnl|mkldnn)_verbose,(?:.*,)?info,\D*v(\d[\w.-]*)")
MKL_VERSION = re.compile(r"MKL_VERBOSE .*?MKL (\d.*?) Product build")
CALL = re.compile(r"MKL_VERBOSE (\w+)\((.*)\) (\d[\d.]*)(ns|us|ms|s)\b")
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
DIMENSIONS = re.compile(r"\d+(?:x\d+)*")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Calls that differ only in their time and the bytes that they move."""

    library: str
    primitive: str
    """convolution, matmul, reorder, ..., or a function of MKL. On a device: kernel, or another kind
    of call, such as "copy host to device"."""
    implementation: str
    """The library's name for it: jit:avx512_core, brgconv:avx2, gemm:blas; or empty. On a device,
    the kernel's full name."""
    propagation: str
    """forward_training, backward_weights, ...; empty if there is none."""
    algorithm: str
    layouts: tuple[str, ...]
    """For each tensor its role, type and format, such as "wei f32 Acdb8a"."""
    shape: str
    """As the library writes it: mb2_ic3oc8_ih8..., 2x10:10x384. On a device how a kernel was
    launched: grid 8x12x1 block 128x1x1."""
    count: int
    milliseconds: float
    """Time of all calls, by the library's own clock while it logs: not a timing of the step."""
    moved_bytes: float | None
    """Bytes moved by all calls: for a reorder, bytes read and written, without padding; on a
    device, as far as the profiler reports them. None for other calls."""


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """The kernels in some lines, in the order of first calls."""

    kernels: list[Kernel]
    unread: int
    """Lines that report a call in an unknown format."""


def parse(text: str) -> Parsed:
    """The kernels in a log, whatever else was written into it."""
    found: list[Kernel] = []
    unread = 0
    for line in text.splitlines():
        try:
            found += calls(line)
        except (ValueError, IndexError):
            unread += 1
    return Parsed(kernels=merged(found), unread=unread)


def versions(text: str) -> dict[str, str]:
    """The libraries that a log names, each with its version."""
    patterns = ((ONEDNN, VERSION), (MKL, MKL_VERSION))
    return {name: found[1] for name, pattern in patterns if (found := pattern.search(text))}


def merged(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Merge kernels that differ only in count, time and bytes."""
    found: dict[Kernel, Kernel] = {}
    for kernel in kernels:
        key = replace(kernel, count=0, milliseconds=0.0, moved_bytes=None)
        before = found.get(key, key)
        moved = [one for one in (before.moved_bytes, kernel.moved_bytes) if one is not None]
        found[key] = replace(
            kernel,
            count=before.count + kernel.count,
            milliseconds=before.milliseconds + kernel.milliseconds,
            moved_bytes=sum(moved) if moved else None,
        )
    return list(found.values())


def calls(line: str) -> Iterator[Kernel]:
    """The call that a line reports, if any; raises ValueError or IndexError."""
    if found := LINE.search(line):
        before, executed, call = f",{found[1]}".partition(",exec,")
        if executed and ",graph" not in before:  # a graph's parts are logged one by one
            yield of_onednn(call.split(","))
    elif found := CALL.search(line):
        function, arguments, amount, unit = found.groups()
        kept = (one for one in arguments.split(",") if not one.startswith("0x"))
        yield Kernel(
            library=MKL, primitive=function, implementation="", propagation="", algorithm="",
            layouts=(), shape=",".join(kept), count=1,
            milliseconds=float(amount) * MILLISECONDS[unit], moved_bytes=None,
        )  # fmt: skip


def of_onednn(fields: list[str]) -> Kernel:
    """Engine, primitive, implementation, propagation, tensors, attributes, algorithm, shape, ms."""
    _, primitive, implementation, propagation, tensors, *_, auxiliary, shape, amount = fields
    layouts = [layout for tensor in tensors.split() if (layout := layout_of(tensor))]
    algorithm = next((w[4:] for w in auxiliary.split() if w.startswith("alg:")), "")
    moved = None
    if primitive == "reorder" and DIMENSIONS.fullmatch(shape):
        elements = math.prod(map(int, shape.split("x")))
        moved = elements * sum(BYTES[kind] for _, kind, _ in layouts)
    return Kernel(
        library=ONEDNN, primitive=primitive, implementation=implementation,
        propagation="" if propagation == "undef" else propagation, algorithm=algorithm,
        layouts=tuple(map(" ".join, layouts)), shape=shape, count=1,
        milliseconds=float(amount), moved_bytes=moved,
    )  # fmt: skip


def layout_of(tensor: str) -> tuple[str, str, str] | None:
    """Role, type and format from "src_f32::blocked:abcd:f0" or, newer, "src:f32::blocked:abcd::f0".

    None for an absent tensor. A format that is not an order of axes is given by its kind.
    """
    role, *rest = tensor.split(":")
    if rest[0] in BYTES or rest[0] == "undef":
        kind, *rest = rest
    else:
        kind = next((kind for kind in (*BYTES, "undef") if role.endswith(f"_{kind}")), "")
        role = role.removesuffix(f"_{kind}")
    if not kind:
        raise ValueError(f"a tensor without a known type: {tensor}")
    _, form, tag, *_ = rest
    return None if kind == "undef" else (role, kind, tag or form)
