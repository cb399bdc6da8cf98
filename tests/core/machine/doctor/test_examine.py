"""mbench doctor's checks, with one thing wrong at a time on a machine that is otherwise fit."""

from __future__ import annotations

import itertools
import json
import os
import re
from types import SimpleNamespace

import pynvml
import pytest
from click.testing import CliRunner
from fake_nvml import FakeGpu, FakeNvml, process

from mbench.cli.main import group
from mbench.contract.adapter import Need
from mbench.machine import pace as loop
from mbench.machine.doctor import gpu, memory, speed
from mbench.machine.doctor.examine import examine
from mbench.machine.nvml import Gpu


def found(machine):
    """Runs all checks and returns them by name, which must be unique."""
    checks = list(examine(results=machine.root / "results"))
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        assert bool(check.hint) is (check.status != "ok"), check
    return {check.name: check for check in checks}


def test_a_machine_that_is_fit_has_no_warning(machine):
    checks = found(machine)
    assert {check.status for check in checks.values()} == {"ok"}
    assert {"governor", "other load", "CPU limit", "thread settings", "memory", "swap",
            "transparent huge pages", "results folder"} <= set(checks)  # fmt: skip
    assert not [name for name in checks if name.startswith("GPU")]


def test_a_program_that_a_framework_needs(machine):
    needs = (Need(("sh",), "install a shell"), Need(("no-such-cc",), "apt install cc"))
    adapter = SimpleNamespace(title="Toy", needs=needs)
    checks = {c.name: c for c in examine(results=machine.root / "results", adapters=[adapter])}
    assert checks["sh for Toy"].status == "ok"
    lacking = checks["no-such-cc for Toy"]
    assert (lacking.status, lacking.found, lacking.hint) == (
        "warn", "not on PATH", "apt install cc",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "text", "name", "said"),
    [
        ("cpu1/cpufreq/scaling_governor", "powersave", "governor", "performance, powersave"),
        ("intel_pstate/no_turbo", "0", "turbo", "on"),
        ("cpufreq/boost", "1", "turbo", "on"),
        ("huge", "[always] madvise never", "transparent huge pages", "always"),
    ],
)
def test_settings_of_the_kernel(machine, path, text, name, said):
    machine.write(path, text)
    check = found(machine)[name]
    assert (check.status, check.found) == ("warn", said)


def test_a_machine_without_steady_workers(machine, monkeypatch):
    assert found(machine)["steady workers"].status == "ok"
    monkeypatch.setattr(memory, "limitation", lambda: "addresses cannot be fixed here")
    check = found(machine)["steady workers"]
    assert (check.status, check.hint) == ("warn", "addresses cannot be fixed here")


@pytest.mark.parametrize(("path", "text"), [("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")])
def test_turbo_that_is_off_is_fine(machine, path, text):
    machine.write(path, text)
    check = found(machine)["turbo"]
    assert (check.status, check.found) == ("ok", "off")


def test_a_machine_that_shows_no_clock_is_not_blamed(machine):
    for core in (0, 1):
        (machine.root / f"cpu{core}/cpufreq/scaling_governor").unlink()
    assert found(machine)["governor"].status == "ok"


@pytest.mark.parametrize(("cores", "status"), [(0.05, "ok"), (0.4, "warn")])
def test_load_of_others(machine, cores, status):
    machine.used = cores
    check = found(machine)["other load"]
    assert (check.status, check.found) == (status, f"{cores:.1f} of 2 cores in use")
    machine.used, machine.stolen = 0, cores
    assert found(machine)["stolen time"].status == status


@pytest.mark.parametrize(
    ("slow", "status"), [(0, "ok"), (3, "ok"), (25, "warn"), (50, "ok")], ids=str
)
def test_cores_of_two_speeds(machine, slow, status):
    machine.loops = [100] * (50 - slow) + [170] * slow
    check = found(machine)["core speed"]
    assert check.status == status
    assert ("1.70, 1.70" in check.found) is (status == "warn")


@pytest.mark.parametrize(
    ("slow", "times", "status"), [(0, 1, "ok"), (3, 1.7, "ok"), (25, 1.7, "warn"), (25, 1.1, "ok")]
)
def test_memory_of_two_speeds(machine, slow, times, status):
    machine.copies = [100] * (50 - slow) + [100 * times] * slow
    check = found(machine)["memory speed"]
    assert check.status == status
    assert ("1.70 times" in check.found) is (status == "warn")
    assert found(machine)["core speed"].status == "ok"


def test_memory_is_looked_at_for_as_long_as_its_levels_last(monkeypatch):
    now = itertools.count()
    monkeypatch.setattr(speed, "time", SimpleNamespace(monotonic=lambda: next(now) / 4))
    monkeypatch.setattr(speed, "memory_pace", itertools.count().__next__)
    assert speed.copies() == list(range(1, 19)), "5 s, without the first tenth"


def test_loops_run_on_the_core_that_is_asked_for(monkeypatch):
    before = os.sched_getaffinity(0)
    bound_to = []
    monkeypatch.setattr(speed, "SECONDS", 0.02)
    monkeypatch.setattr(loop, "TURNS", Turns(lambda: bound_to.append(os.sched_getaffinity(0))))
    taken = speed.loops_on(min(before))
    assert len(taken) > 1
    assert min(taken) > 0
    assert set(map(frozenset, bound_to)) == {frozenset({min(before)})}
    assert os.sched_getaffinity(0) == before


def test_cores_are_looked_at_all_over_the_machine(machine, monkeypatch):
    seen = []
    monkeypatch.setattr(speed, "loops_on", lambda core: seen.append(core) or [100] * 50)
    for count, expected in ((1, [0]), (4, [0, 1, 2, 3]), (64, [0, 16, 32, 48]), (6, [0, 2, 4])):
        seen.clear()
        speed.core_speed(range(count))
        assert seen == expected


@pytest.mark.parametrize(("quota", "status"), [("max", "ok"), ("200000", "ok"), ("150000", "warn")])
def test_a_limit_below_the_cores_holds_threads_up(machine, quota, status):
    machine.write("cgroup", "0::/box")
    machine.write("groups/box/cpu.max", f"{quota} 100000")
    assert found(machine)["CPU limit"].status == status


def test_variables_that_bind_threads(machine, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert found(machine)["thread settings"].status == "ok"
    monkeypatch.setenv("KMP_AFFINITY", "compact")
    check = found(machine)["thread settings"]
    assert (check.status, check.found) == ("warn", "KMP_AFFINITY=compact")


@pytest.mark.parametrize(
    ("available", "status"), [(16 * 2**30, "ok"), (4 * 2**30, "warn"), (2**28, "fail")]
)
def test_memory(machine, available, status):
    machine.memory.available = available
    assert found(machine)["memory"].status == status


def test_swap_in_use(machine):
    machine.swap = SimpleNamespace(used=2**30, total=2**32)
    assert found(machine)["swap"].status == "warn"


def test_a_results_folder_that_cannot_be_made(machine):
    machine.write("results", "a file")
    check = found(machine)["results folder"]
    assert check.status == "fail"
    assert "--results" in check.hint


def test_a_driver_that_does_not_answer(machine, monkeypatch):
    monkeypatch.setattr(gpu, "has_driver", lambda: True)
    assert found(machine)["GPU"].status == "warn"


class Turns:
    """A number that calls `tell` when it is used."""

    def __init__(self, tell):
        self.tell = tell

    def __index__(self):
        self.tell()
        return 10


def see(monkeypatch, **answers):
    """Let doctor see a single GPU, which gives these answers."""
    made = FakeNvml(FakeGpu(0, **answers))
    monkeypatch.setattr(gpu, "seen_gpus", lambda: [Gpu(made, made.gpus[0])])


def test_a_gpu_that_is_fit(machine, monkeypatch):
    see(monkeypatch, GetApplicationsClock={pynvml.NVML_CLOCK_SM: 1500})
    checks = found(machine)
    assert {check.status for check in checks.values()} == {"ok"}
    assert checks["GPU"].found == "NVIDIA Made-Up 100 at 0000:3b:00.0, driver 580.95"
    assert checks["GPU clock"].found == "1755 MHz now, 1980 MHz at most, set to 1500 MHz"


def test_a_gpu_that_is_not(machine, monkeypatch):
    see(
        monkeypatch,
        GetCurrentClocksThrottleReasons=0x40,
        GetPersistenceMode=0,
        GetComputeRunningProcesses=[process(1)],
        GetMigMode=[1, 1],
    )
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", "/tmp/mps")
    checks = found(machine)
    for name in ("GPU persistence", "GPU slowdown", "GPU use", "GPU parts", "GPU sharing"):
        assert checks[name].status == "warn", name
    assert checks["GPU slowdown"].found == "heat, by the hardware"
    assert checks["GPU use"].found == "1 other process"


def test_a_gpu_for_one_process_fails(machine, monkeypatch):
    see(monkeypatch, GetComputeMode=pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS)
    check = found(machine)["GPU mode"]
    assert check.status == "fail"
    assert check.hint == "sudo nvidia-smi -c 0"


def test_the_command_shows_every_check_and_fails_only_where_measuring_would(machine):
    run = CliRunner().invoke
    arguments = ["doctor", "--results", str(machine.root / "results")]
    assert run(group, arguments).exit_code == 0
    machine.used = 1.5
    answer = run(group, arguments)
    assert answer.exit_code == 0
    assert re.search(r"^warn +other load +.* -> end other programs", answer.output, re.MULTILINE)
    machine.memory.available = 1
    answer = run(group, [*arguments, "--format", "json"])
    assert answer.exit_code == 1
    document = json.loads(answer.output)
    assert document["schema"] == 1
    statuses = {check["name"]: check["status"] for check in document["checks"]}
    assert statuses["memory"] == "fail"
    assert statuses["other load"] == "warn"
    assert all(set(check) == {"name", "status", "found", "hint"} for check in document["checks"])
