"""The jobs are SuperBench's, and each round draws its own offsets in the file."""

from __future__ import annotations

import subprocess

from fake_fio import needs_fio

from mbench.machine.disk.jobs import JOBS, options_of


def options(name, **changes):
    given = {"size": 2**20, "seconds": 6.0, "seed": 1, "direct": True, **changes}
    return dict(word[2:].split("=") for word in options_of(JOBS[name], **given))


def test_names_are_those_of_superbench():
    assert list(JOBS) == ["seq_read", "seq_write", "seq_readwrite",
                          "rand_read", "rand_write", "rand_readwrite"]  # fmt: skip


def test_blocks_threads_and_depth_are_those_of_superbench():
    found = options("seq_read")
    assert (found["rw"], found["bs"], found["numjobs"]) == ("read", "131072", "1")
    found = options("rand_readwrite")
    assert (found["rw"], found["bs"], found["numjobs"]) == ("randrw", "4096", "4")
    assert (found["rwmixread"], found["iodepth"], found["direct"]) == ("80", "64", "1")


def test_only_mixed_jobs_have_a_mix():
    assert {name for name in JOBS if "rwmixread" in options(name)} == {
        "seq_readwrite", "rand_readwrite"
    }  # fmt: skip


def test_a_sixth_goes_before_untimed():
    assert (options("seq_read")["ramp_time"], options("seq_read")["runtime"]) == (
        "1000ms",
        "6000ms",
    )


def test_a_round_has_a_seed_and_a_way_through_the_cache():
    found = options("rand_read", seed=7, direct=False)
    assert (found["randseed"], found["direct"]) == ("7", "0")


@needs_fio
def test_rounds_of_the_real_one_read_other_places_and_each_can_be_made_again(tmp_path):
    (tmp_path / "file").write_bytes(bytes(2**20))

    def places(seed):
        log = tmp_path / "log"
        given = options_of(JOBS["rand_read"], size=2**20, seconds=0.1, seed=seed, direct=False)
        told = [word for word in given if not word.startswith(("--time_based", "--numjobs"))]
        more = [f"--filename={tmp_path / 'file'}", f"--write_iolog={log}", "--number_ios=10"]
        subprocess.run(["fio", *told, *more], capture_output=True, check=True, timeout=60)
        found = [line.split() for line in log.read_text().splitlines()]
        log.unlink()
        return [words[-2] for words in found if "read" in words]

    first = places(1)
    assert len(first) >= 10
    assert places(1)[:10] == first[:10]
    assert places(2)[:10] != first[:10]
