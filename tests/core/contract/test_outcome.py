"""Which error messages mean a lack of memory, and which only sound like it."""

from __future__ import annotations

import pytest

from mbench.contract.outcome import speaks_of_memory


@pytest.mark.parametrize(
    "said",
    [
        "OSError: [Errno 12] Cannot allocate memory",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "Check failed: e == CUDNN_STATUS_SUCCESS (2 vs. 0): CUDNN_STATUS_ALLOC_FAILED",
        "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        "failed to allocate: CUDA_ERROR_OUT_OF_MEMORY",
    ],
)
def test_want_of_memory(said):
    assert speaks_of_memory(said)


@pytest.mark.parametrize(
    "said",
    [
        "CUBLAS_STATUS_NOT_INITIALIZED",
        "CUDNN_STATUS_EXECUTION_FAILED",
        "CUDA error: an illegal memory access was encountered",
        "cudaErrorInvalidResourceHandle",
        "the launch failed",
    ],
)
def test_other_failures(said):
    assert not speaks_of_memory(said)
