"""The jobs are SuperBench's, and each round draws its own places."""

from __future__ import annotations

from mbench.disk.jobs import JOBS, words


def options(name, **changes):
    given = {"size": 2**20, "seconds": 6.0, "seed": 1, "direct": True, **changes}
    return dict(word[2:].split("=") for word in words(JOBS[name], **given))


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
