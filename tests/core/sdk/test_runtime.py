"""What a runtime refuses before its framework is asked, and what it takes for want of memory."""

from __future__ import annotations

import mbench_tiny
import pytest

from mbench.contract.adapter import Unsupported
from mbench.sdk.plugin import Lack


class Adapter(mbench_tiny.Tiny):
    lacks = (Lack("fp64 is the imaginary's", precisions=("fp64",), compilers=("eager",)),)


class Runtime(mbench_tiny.Runtime):
    adapter = Adapter()


@pytest.mark.parametrize("probe", ["matmul", "accumulate"])
def test_a_probe_is_refused_where_its_compiler_lacks_the_precision(probe):
    runtime = Runtime(device="cpu", threads=1)
    with pytest.raises(Unsupported, match="fp64 is the imaginary's"):
        getattr(runtime, probe)(4, "fp64")
    getattr(runtime, probe)(4, "fp32").step()


class ExhaustedError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (RuntimeError("Tried to fit 3 GiB: NO ROOM"), True),
        (ExhaustedError(), True),
        (RuntimeError("no luck"), False),
    ],
)
def test_want_of_memory_is_known_by_the_frameworks_own_words(error, found):
    runtime = Runtime(device="cpu", threads=1)
    runtime.out_of_memory = ("no room", "exhaustederror")
    assert runtime.is_out_of_memory(error) is found
