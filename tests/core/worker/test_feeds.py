"""When a block begins, either all files are in the page cache or none of them is."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from mbench_tiny_images import Files
from support.pipelines import Here

from mbench.contract.adapter import Unsupported
from mbench.contract.feed import COLD, WARM
from mbench.proofs import pixels
from mbench.worker import feeds


def resident(paths):
    """Number of files that are in the page cache, at least in part. Nothing is read: a read that
    must not wait reads ahead all the same, and a fast disk is done before it gives up."""
    mincore = ctypes.CDLL(None, use_errno=True).mincore
    found = 0
    for path in paths:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as view:
            first = ctypes.c_char.from_buffer(view)
            pages = (ctypes.c_ubyte * -(-len(view) // mmap.PAGESIZE))()
            error = mincore(ctypes.byref(first), ctypes.c_size_t(len(view)), pages)
            del first  # a view in use cannot be closed
        assert not error, os.strerror(ctypes.get_errno())
        found += any(page & 1 for page in pages)
    return found


def test_a_cold_block_finds_no_file_in_memory_and_a_warm_one_all(tmp_path):
    class Looks(Files):
        """Counts the files in the page cache before it reads any."""

        def begin(self, plan):
            self.seen = resident(paths)
            super().begin(plan)

    pixels.write_probes(tmp_path, "a")
    paths = sorted(map(str, tmp_path.rglob("*.jpg")))
    here = Here(tmp_path, lambda bench, source: Looks(bench, source, ""))
    given = pixels.Asked(0).epoch("a").message()
    try:
        try:
            here.cycler.begin(replace(given, cold=True))  # the first block is never timed
        except Unsupported:
            pytest.skip("this file system keeps its files in memory")
        for storage, due in ((COLD, 0), (WARM, len(paths)), (COLD, 0)):
            here.cycler.begin(replace(given, cold=storage == COLD))
            here.cycler.drain()
            assert here.cycler.pipeline.seen == due, storage
    finally:
        here.cycler.close()


def test_files_that_stay_in_memory_are_said_to(tmp_path, monkeypatch):
    pixels.write_probes(tmp_path, "a")
    monkeypatch.setattr(feeds, "in_memory", lambda handle: True)
    with pytest.raises(Unsupported, match="no effect on files that are kept in memory, such as"):
        feeds.drop_from_memory(sorted(map(str, tmp_path.rglob("*.jpg"))), check=True)


def test_a_file_that_was_read_ahead_is_no_reason_to_refuse(tmp_path, monkeypatch):
    pixels.write_probes(tmp_path, "a")
    found = iter([True, False] + [True] * feeds.CHECKED)
    monkeypatch.setattr(feeds, "in_memory", lambda handle: next(found))
    feeds.drop_from_memory(sorted(map(str, tmp_path.rglob("*.jpg"))), check=True)


CONFINES = """
import os, subprocess, sys, threading
from mbench.worker.feeds import confine
threading.Thread(target=sys.stdin.read, daemon=True).start()
helper = subprocess.Popen(["sleep", "60"], start_new_session=True)
confine(1)
ours = [int(name) for name in os.listdir("/proc/self/task")]
print([len(os.sched_getaffinity(one)) for one in (*ours, helper.pid)])
helper.kill()
"""


def test_what_a_worker_has_started_is_confined_with_it():
    done = subprocess.run(
        [sys.executable, "-c", CONFINES], input="", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(done.stdout.strip("[]\n").split(", ")) == {"1"}
