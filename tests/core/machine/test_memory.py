"""How much memory there is, as far as control groups grant it."""

from __future__ import annotations

import psutil
import pytest

from mbench.machine import memory


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"memory.max": "1000", "memory.current": "700", "memory.stat": "inactive_file 50"}, 350),
        ({"memory.max": "max", "memory.current": "700"}, None),
        (
            {"memory.limit_in_bytes": "900", "memory.usage_in_bytes": "100",
             "memory.stat": "cache 1\ntotal_inactive_file 7"},
            807,
        ),
        ({"memory.max": "10", "memory.current": "700"}, 0),
        ({}, None),
    ],
)  # fmt: skip
def test_the_limit_of_a_control_group_counts(tmp_path, monkeypatch, files, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(memory, "folders", lambda controller: [tmp_path])
    free = psutil.virtual_memory().available
    found = memory.available_bytes()
    assert found == expected if expected is not None else abs(found - free) < 2**31
