"""The words for how a case ends; those that a worker may use are sent over the wire."""

from __future__ import annotations

__all__ = ["FAILURES", "OUTCOMES", "speaks_of_memory"]

OUTCOMES = {
    "ok": "measured",
    "unsupported": "the framework, its build or the device cannot do it",
    "oom": "out of memory",
    "timeout": "no answer within the time limit, or no round within the budget",
    "crashed": "the worker's process ended unexpectedly",
    "failed": "the framework or its environment raised an error",
    "not-equal": "the work is not that of the reference, so it was not compared",
    "not-measured": "the run was interrupted before its first round",
}
FAILURES = ("unsupported", "oom", "failed")
"""The outcomes that a worker reports itself; the parent detects the others."""

MEMORY = (
    "cannot allocate memory", "bad_alloc", "memory allocation still failed",
    "cuda_error_out_of_memory", "status_alloc_failed", "_allocation_failed",
)  # fmt: skip
"""How the system, C++ and the library beneath NumPy say that memory has run out; and CUDA's
driver and its libraries (CUBLAS_STATUS_ALLOC_FAILED, CUDNN_STATUS_ALLOC_FAILED and, since cuDNN 9,
CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)."""


def speaks_of_memory(text: str) -> bool:
    return any(words in text.lower() for words in MEMORY)
