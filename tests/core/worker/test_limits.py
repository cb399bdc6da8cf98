"""The bound on memory, each time in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA is Linux's")

MIB = 2**20


def run(code: str) -> str:
    script = f"import mmap, resource\nfrom mbench.worker.session import *\nMIB = 2**20\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("wanted", "said"), [(64, "fits"), (1024, "MemoryError")])
def test_allocations_beyond_the_limit_fail_and_others_do_not(wanted, said):
    code = f"""
limit_memory(512 * MIB)
try:
    block = bytearray({wanted} * MIB)
    print("fits")
except MemoryError:
    print("MemoryError")
"""
    assert run(code) == said


def test_memory_that_is_merely_reserved_stays_free():
    code = """
limit_memory(512 * MIB)
reserved = mmap.mmap(-1, 8192 * MIB, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
print(len(reserved) // MIB)
"""
    assert run(code) == "8192"


def test_a_lower_hard_limit_stays():
    code = """
resource.setrlimit(resource.RLIMIT_DATA, (300 * MIB, 400 * MIB))
limit_memory(4096 * MIB)
print([limit // MIB for limit in resource.getrlimit(resource.RLIMIT_DATA)])
"""
    assert run(code) == "[400, 400]"
