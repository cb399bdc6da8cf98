"""What a runtime refuses, and which of its framework's errors it takes for a lack of memory."""

from __future__ import annotations

import mbench_tiny
import numpy as np
import pytest
from cases import make_case

from mbench.contract.adapter import Unsupported
from mbench.scenarios.find import work_of


def test_fp32_is_told_by_a_product(monkeypatch):
    runtime = mbench_tiny.Runtime(device="cpu", threads=1)
    monkeypatch.setattr(runtime, "device", "cuda")
    monkeypatch.setattr(mbench_tiny, "GPU", "PATH")  # tiny has a GPU now: it computes as on the CPU
    case = make_case(model="tiny-model", device="cuda")
    runtime.prepare(work_of(case))
    monkeypatch.setattr("mbench_tiny_operators.forward", rounded)
    with pytest.raises(Unsupported, match="not IEEE single precision; unset variables"):
        runtime.prepare(work_of(case))


def rounded(model, batch):
    """A product of inputs that have lost half their digits."""
    lost = batch["x.0"].astype(np.float16).astype(np.float32)
    return {"output.0": lost @ model["calls.0.weight"]}


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
    runtime = mbench_tiny.Runtime(device="cpu", threads=1)
    runtime.out_of_memory = ("no room", "exhaustederror")
    assert runtime.is_out_of_memory(error) is found
