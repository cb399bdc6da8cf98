"""XLA's own trace format, written here field by field according to its definition."""

from __future__ import annotations

import struct

import pytest

from mbench.sdk import traces, xplane

DETAILS = "regs:32 static_shared:0 dynamic_shared:0 grid:8,12,1 block:128,1,1 occ_pct:50"


def varint(value):
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def field(number, value):
    """A field of a message: a whole number, a real one, a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def table(number, names):
    """A map from numbers to messages with these names."""
    return b"".join(
        field(number, field(1, key) + field(2, field(1, key) + field(2, name)))
        for key, name in names.items()
    )


def stat(number, value, *, at):
    return field(4, field(1, number) + field(at, value))


@pytest.fixture
def trace(tmp_path):
    """A file with a device's plane (a kernel, a copy and a derived event) and the host's plane."""
    kernel = stat(1, 3, at=7) + stat(4, 0.5, at=2) + stat(5, 300, at=4)
    copy = stat(2, "kind_src:pinned kind_dst:device size:64 dest:0 async:1", at=5)
    line = field(2, "Stream #13(Compute)") + b"".join(
        field(4, field(1, number) + field(2, 10**9) + field(3, 9_500_000) + stats)
        for number, stats in ((1, kernel), (2, copy), (1, kernel), (300, b""))
    )
    device = (
        field(1, 2) + field(2, "/device:GPU:0") + field(3, line)
        + table(4, {1: "void k<4>(int)", 2: "MemcpyH2D", 300: "fusion.3"})
        + table(5, {1: "kernel_details", 2: "memcpy_details", 3: DETAILS, 4: "occupancy", 5: "id"})
        + varint(9 << 3 | 5) + b"\0\0\0\0"  # a field of four bytes, of a later version
    )  # fmt: skip
    host = field(2, "/host:CPU") + field(3, field(4, field(1, 1))) + table(4, {1: "a step"})
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(field(1, device) + field(1, host) + field(4, "vm"))
    return file


def test_events_have_names_times_and_statistics(trace):
    process, kernel, copy, _, derived, host, step = xplane.events(str(trace))
    assert process["args"]["name"] == "/device:GPU:0"
    assert (kernel["name"], kernel["dur"]) == ("void k<4>(int)", 9.5)
    assert kernel["args"] == {"kernel_details": DETAILS, "occupancy": 0.5, "id": 300}
    assert "size:64" in copy["args"]["memcpy_details"]
    assert (derived["name"], derived["args"]) == ("fusion.3", {})
    assert host["args"]["name"] == "/host:CPU"
    assert (step["name"], step["dur"], step["pid"]) == ("a step", 0.0, 1)


def test_it_is_read_and_json_beside_it_is_not(trace):
    (trace.parent / "vm.trace.json").write_text("[]")
    found = traces.read(str(trace.parent))
    kernel, copy = found.calls
    assert (kernel.name, kernel.count) == ("void k<4>(int)", 2)
    assert kernel.launch == "grid 8x12x1 block 128x1x1"
    assert kernel.milliseconds == pytest.approx(0.019)
    assert (copy.kind, copy.moved_bytes) == ("copy host to device", 64.0)
    assert found.other_events == 2


def test_a_file_that_is_cut_off_or_is_another_says_so(trace):
    data = trace.read_bytes()
    for wrong in (data[:-1], data[: len(data) // 2], b"\x0b\x01", b"\x08\x01\x0a"):
        trace.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"its trace cannot be read: vm.xplane.pb"):
            xplane.events(str(trace))
