"""Several nodes as a user meets them; here all of them are this machine, under other names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from comparing import (
    MBENCH,
    QUICK,
    assert_no_workers,
    compare,
    documents,
    one_line,
    start,
    wait_for,
)
from support import commands
from workers import eventually

MPIRUN = f"""#!{sys.executable}
import os, subprocess, sys
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print("mpirun (Open MPI) 4.1.4"))
names = words[words.index("--host") + 1].replace(":1", "").split(",")
nodes = []
for at, name in enumerate(names):
    agent = [sys.executable, "-c", os.environ["AGENT"], name]
    nodes.append(subprocess.Popen(agent, env={{**os.environ, "OMPI_COMM_WORLD_RANK": str(at)}}))
sys.exit(max(abs(node.wait()) for node in nodes))
"""
AGENT = """
import runpy, socket, sys, time
name = sys.argv.pop()
socket.gethostname = lambda: name
from mbench.machine import cores, kernel, pace, system
{more}
runpy.run_module("mbench.engine.agent", run_name="__main__")
"""
STEALING = """
real, rate = kernel.core_seconds, {"a": 0.0, "b": 0.7}[name]
kernel.core_seconds = lambda cores: (real(cores)[0], rate * time.perf_counter())
"""
CORES = """
cores.usable_cores = cores.hardware_threads = lambda: {"a": 6, "b": 4}[name]
"""


@pytest.fixture
def hosts(surroundings, monkeypatch):
    """Makes an mpirun that starts agents on this machine; each runs the given code first."""
    mpirun = surroundings / "bin" / "mpirun"
    mpirun.parent.mkdir()
    mpirun.write_text(MPIRUN)
    mpirun.chmod(0o755)
    monkeypatch.setenv("PATH", str(mpirun.parent), prepend=":")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")

    def hosts(more=""):
        monkeypatch.setenv("AGENT", AGENT.replace("{more}", more))

    return hosts


NODES = [*QUICK, "--no-verify", "--scale", "2x1", "--hosts", "a,b"]


def test_what_disturbs_a_node_is_told_by_its_name(hosts):
    hosts(STEALING)
    result = compare("tiny", "tiny", *NODES, "--format", "json")
    assert result.returncode == 0, result.stderr
    document, cases = documents(result)
    for case in cases.values():
        assert [(node["host"], node["ranks"]) for node in case["nodes"]] == [("a", [0]), ("b", [1])]
        assert {node["system"]["hostname"] for node in case["nodes"]} == {"a", "b"}
        assert case["telemetry"]["rounds"] == 4
        assert case["telemetry"]["pace_nanoseconds"]
        assert case["telemetry"]["memory_pace_nanoseconds"]
        assert 0 < case["telemetry"]["worker_cores"] < 2
        stolen = [one for one in case["disturbances"] if one["kind"] == "stolen-cpu"]
        assert [(one["host"], one["share"]) for one in stolen] == [("b", 1.0)]
    (comparison,) = document["comparisons"]
    assert any("on b: the hypervisor took" in said for said in comparison["disturbances"])
    for format_ in ("details", "markdown", "html"):
        shown = commands.mbench("show", "--format", format_).stdout
        assert "on b: the hypervisor took 0." in shown
        assert "on a: the hypervisor" not in shown


def test_threads_are_those_of_the_machines_that_compute(hosts):
    hosts(CORES)
    less = [word for word in NODES if word not in ("--threads", "1")]
    less[less.index("2x1")] = "2x2"
    less += ["--processes", "1", "--rounds", "1", "--format", "json"]
    _, cases = documents(compare("tiny", "tiny", *less))
    assert [case["threads"] for case in cases.values()] == [2, 2]
    once = [*NODES, "--processes", "1", "--rounds", "1", "--threads"]
    told = compare("tiny", "tiny", *once, "5").stderr
    assert "5 threads wait for each other on b, which runs 4 at once; give --threads 4" in told


def test_a_dry_run_starts_nothing(hosts, surroundings):
    mpirun = surroundings / "bin" / "mpirun"
    mpirun.write_text(f"#!/bin/sh\necho started >> {surroundings / 'started'}\n")
    told = compare("tiny", "tiny", *NODES, "--dry-run")
    assert told.returncode == 0, told.stderr
    assert "1 comparison, 2 cases" in told.stdout
    assert "--dry-run starts nothing: device, threads and limits are those of this machine" in (
        told.stderr
    )
    assert not (surroundings / "started").exists()
    few = [word.replace("2x1", "3x1") for word in NODES]
    said = one_line(compare("tiny", "tiny", *few, "--dry-run"))
    assert "--hosts a,b names 2 hosts, but 3 nodes are requested" in said


def test_a_device_is_looked_for_where_it_is_to_compute(hosts):
    hosts()
    said = one_line(compare("tiny", "tiny", *NODES, "--device", "cuda"))
    assert "no NVIDIA GPU is visible on a" in said


def texts():
    """The lines of the only run's file; none before the run begins."""
    return [line for file in Path("mbench-results").glob("*/run.jsonl")
            for line in file.read_text().splitlines()]  # fmt: skip


def is_block(line):
    return '"event":"block"' in line


def runs():
    """The events of the only run."""
    return list(map(json.loads, texts()))


def test_what_was_finished_before_a_kill_is_kept_and_the_rest_is_measured(hosts, surroundings):
    """The command itself is killed. Its workers end, and --resume continues the run."""
    hosts()
    words = ["tiny", "flaky", *NODES, "--processes", "3", "--rounds", "3"]
    run = start(*words, "-v")
    wait_for(run, "process 2 of")
    run.kill()
    run.communicate()
    assert_no_workers(surroundings)
    before = [event for event in runs() if event["event"] == "block"]
    assert before
    (folder,) = Path("mbench-results").glob("*/")
    hosts(CORES)
    refused = compare(*words, "--resume", folder.name)
    assert refused.returncode == 2
    assert "cannot be resumed: a: usable_cores was" in one_line(refused)
    hosts()
    result = compare(*words, "--resume", folder.name)
    assert result.returncode == 0, result.stderr
    blocks = [event for event in runs() if event["event"] == "block"]
    assert blocks[: len(before)] == before
    assert {(block["case"], block["process"]) for block in blocks} == {
        (case, process) for case in (0, 1) for process in (0, 1, 2)
    }


def test_an_agent_that_is_killed_ends_its_case_and_the_next_has_new_ones(hosts):
    hosts()
    words = ["tiny", *NODES, "--batch-size", "4,8", "--processes", "1", "--rounds", "40"]
    run = subprocess.Popen([*MBENCH, "run", *words])
    eventually(lambda: sum(map(is_block, texts())) > 1, "timed")
    agent = next(one for one in psutil.Process(run.pid).children(recursive=True)
                  if one.environ().get("OMPI_COMM_WORLD_RANK") == "1")  # fmt: skip
    agent.kill()
    assert run.wait(120) == 1
    outcomes = [event for event in runs() if event["event"] == "outcome"]
    assert [(one["case"], one["outcome"]) for one in outcomes] == [(0, "crashed")]
    assert "rank 1 of 2 on b: " in outcomes[0]["reason"]
    assert {event["case"] for event in runs() if event["event"] == "block"} == {0, 1}
