"""Peak memory as the system counts it, each time in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux counts it by process")

MIB = 2**20


def run(code: str) -> str:
    script = f"from mbench.sdk.compiler import peak_resident_bytes\nMIB = 2**20\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_peak_memory_is_in_bytes_and_does_not_fall():
    code = """
before = peak_resident_bytes()
block = bytearray(b"x") * (200 * MIB)
during = peak_resident_bytes()
del block
print((during - before) // MIB, (peak_resident_bytes() - before) // MIB)
"""
    for grown in run(code).split():
        assert 190 <= int(grown) <= 410


def test_peak_memory_is_not_the_parents():
    """By getrusage, a child process would begin with its parent's peak."""
    ballast = bytearray(b"x") * (300 * MIB)
    assert int(run("print(peak_resident_bytes() // MIB)")) < 200
    assert len(ballast) == 300 * MIB
