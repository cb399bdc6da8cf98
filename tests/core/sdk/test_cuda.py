"""What CUDA's driver library is asked about its device; here, the library is made up."""

from __future__ import annotations

from types import SimpleNamespace

from mbench.sdk.cuda import MAJOR, CudaDevice, ask


def driver(**broken):
    """The functions of cuda.h, with one GPU; `broken` give an error code in place of an answer."""

    def number(value):
        def give(target, *_):
            target._obj.value = value
            return 0

        return give

    def text(value):
        def give(target, size, _):
            assert size > len(value)
            target.value = value
            return 0

        return give

    def attribute(target, which, _):
        target._obj.value = 9 if which == MAJOR else 0
        return 0

    found = {
        "cuInit": lambda flags: 0,
        "cuDeviceGet": number(0),
        "cuDriverGetVersion": number(12080),
        "cuDeviceGetName": text(b"Made-Up 100"),
        "cuDeviceGetPCIBusId": text(b"0000:3B:00.0"),
        "cuDeviceTotalMem_v2": number(80 * 2**30),
        "cuDeviceGetAttribute": attribute,
    }
    found.update({name: lambda *_, code=code: code for name, code in broken.items()})
    return SimpleNamespace(**found)


def test_the_device_is_named_with_its_place_on_the_bus():
    assert ask(driver()) == CudaDevice("Made-Up 100", "0000:3b:00.0", (9, 0), 80 * 2**30, "12.8")


def test_a_driver_without_a_device_has_none():
    assert ask(driver(cuInit=100)) is None  # CUDA_ERROR_NO_DEVICE
    assert ask(driver(cuDeviceGetPCIBusId=101)) is None
