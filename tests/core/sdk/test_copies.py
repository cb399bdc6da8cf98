"""Copies between host and device: one that copies nothing is unsupported, with the reason."""

from __future__ import annotations

import mbench_tiny
import numpy as np
import pytest
from cases import make_case

from mbench.contract.adapter import Unsupported
from mbench.contract.tier import DEFAULT, tier_of
from mbench.scenarios.find import work_of


def prepare(runtime, kind, precision="fp64"):
    case = make_case(
        model=f"op:{kind}/5x9", workload="mbench.workloads.operators:OPERATORS", batch_size=2,
        mode="inference", precision=precision,
    )  # fmt: skip
    work = work_of(case)
    return work.scenario.prepare(runtime.made(work, tier_of(runtime.adapter, DEFAULT)), work)


@pytest.fixture
def runtime():
    return mbench_tiny.Runtime(device="cpu", threads=1)


def itself(compiler):
    return lambda array: array


def read_only(compiler):
    """Returns a read-only view, as a framework might."""

    def view(array):
        found = array.view()
        found.flags.writeable = False
        return found

    return view


def kept(compiler):
    """Copies an array once, and returns that copy again and again."""
    known = {}
    return lambda array: known.setdefault(id(array), np.copy(array))


@pytest.mark.parametrize(
    ("kind", "hook", "lie"),
    [
        ("to_device", "uploader", itself),
        ("from_device", "downloader", itself),
        ("from_device", "downloader", read_only),
        ("from_device", "downloader", kept),
    ],
)
def test_what_shares_memory_is_no_copy(runtime, monkeypatch, kind, hook, lie):
    prepare(runtime, kind)
    monkeypatch.setattr(runtime, hook, lie)
    with pytest.raises(Unsupported, match=f"the result of op:{kind}/5x9 shares memory"):
        prepare(runtime, kind)


@pytest.mark.parametrize("precision", ["bf16", "amp-bf16", "tf32"])
def test_numpys_types_alone_are_copied(runtime, precision):
    with pytest.raises(Unsupported, match=f"{precision} has no effect here"):
        prepare(runtime, "to_device", precision)


@pytest.mark.parametrize("kind", ["to_device", "from_device"])
def test_an_adapter_may_have_no_copies(runtime, monkeypatch, kind):
    for hook in ("uploader", "downloader"):
        monkeypatch.delattr(mbench_tiny.Runtime, hook)
    with pytest.raises(Unsupported, match="Tiny's adapter has no copy"):
        prepare(runtime, kind)
