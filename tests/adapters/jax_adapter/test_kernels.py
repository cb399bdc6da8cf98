"""JAX's profiler writes one step twice: as Chrome's events, and as XLA's planes."""

from __future__ import annotations

from collections import Counter

import pytest
from kernels import told_by_profiler

from mbench.sdk import traces, xplane
from mbench_jax.plugin import Jax

pytest.importorskip("jax", reason="JAX is not installed here")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiled")
    return folder, told_by_profiler(Jax(), folder=folder, mode="inference", compiler="jit")


def test_its_profiler_tells_what_the_host_computes(told):
    _, names = told
    assert any(name.startswith("PjitFunction(") for name in names)
    assert sum(times for name, times in names.items() if "fusion" in name) > 10, "XLA's own"
    assert not any(name.startswith("$") for name in names), "Python's calls are left out"


def test_both_formats_tell_the_same(told):
    folder, names = told
    (plane,) = folder.rglob("*.xplane.pb")
    (trace,) = folder.rglob("*.trace.json.gz")
    by_plane, by_json = xplane.events(str(plane)), list(traces.of_json(str(trace)))
    assert lasting(by_plane) == lasting(by_json)
    assert sum(lasting(by_json).values()) == sum(names.values())


def lasting(events):
    return Counter((one["name"], round(one["dur"], 3)) for one in events if one.get("ph") == "X")
