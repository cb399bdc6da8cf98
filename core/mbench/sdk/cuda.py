"""The CUDA device that a process uses, as the driver itself reports it: frameworks say less."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["CudaDevice", "cuda_device"]

MAJOR, MINOR = 75, 76
"""CUdevice_attribute in cuda.h: COMPUTE_CAPABILITY_MAJOR and _MINOR."""
TEXT = 128


@dataclass(frozen=True)
class CudaDevice:
    """The first device that this process may see, which is the one that frameworks use."""

    name: str
    address: str
    """Address on the bus: "0000:3b:00.0"."""
    capability: tuple[int, int]
    memory_bytes: int
    driver: str
    """The newest CUDA version that the driver supports: "13.0"."""


@lru_cache(maxsize=1)
def cuda_device() -> CudaDevice | None:
    """Asks the driver's own library; None if it is missing or finds no device."""
    try:
        return ask(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        return None


def ask(driver: ctypes.CDLL) -> CudaDevice | None:
    """`driver` has the functions of cuda.h, each of which returns 0 on success."""
    device, version = ctypes.c_int(), ctypes.c_int()
    major, minor = ctypes.c_int(), ctypes.c_int()
    name, address = ctypes.create_string_buffer(TEXT), ctypes.create_string_buffer(TEXT)
    memory = ctypes.c_size_t()
    steps = (
        (driver.cuInit, (0,)),
        (driver.cuDeviceGet, (ctypes.byref(device), 0)),
        (driver.cuDriverGetVersion, (ctypes.byref(version),)),
        (driver.cuDeviceGetName, (name, TEXT, device)),
        (driver.cuDeviceGetPCIBusId, (address, TEXT, device)),
        (driver.cuDeviceTotalMem_v2, (ctypes.byref(memory), device)),
        (driver.cuDeviceGetAttribute, (ctypes.byref(major), MAJOR, device)),
        (driver.cuDeviceGetAttribute, (ctypes.byref(minor), MINOR, device)),
    )
    if any(function(*arguments) for function, arguments in steps):
        return None
    return CudaDevice(
        name=name.value.decode(),
        address=address.value.decode().lower(),
        capability=(major.value, minor.value),
        memory_bytes=memory.value,
        driver=f"{version.value // 1000}.{version.value % 1000 // 10}",
    )
