"""Workers that end, hang, lie or flood: the case ends by name, the others go on, nothing stays."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from surroundings import PATIENCE, Surroundings, eventually

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.contract.rank import SINGLE
from mbench.engine import local, single, transport
from mbench.engine.outcome import CaseEnded
from mbench.machine import process_end
from mbench.plugins.launcher import Program
from mbench.results.run import load_run
from mbench.results.summary import analyse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from surroundings import Done

    from mbench.engine.local import LocalWorker

CASE = Case(
    model="tiny-model", workload="mbench_tiny:TINY", mode="train", batch_size=8, precision="fp32",
    compiler="eager", device="cpu", threads=1,
)  # fmt: skip
NONSENSE = "the worker sent an invalid answer: "
ENDS = {
    "kill": ("crashed", "the worker was killed by SIGKILL, perhaps by the system for lack of"),
    "segfault": ("crashed", "the worker was killed by SIGSEGV"),
    "abort": ("crashed", "the worker was killed by SIGABRT"),
    "real_time_signal": ("crashed", "the worker was killed by signal 40"),
    "exit": ("crashed", "the worker exited with code 0"),
    "interrupt": ("crashed", "the worker was killed by SIGINT; its last words: KeyboardInterrupt"),
    "raise_an_error": ("failed", "RuntimeError: lost its mind"),
    "raise_its_own": ("crashed", "exited with code 1; its last words: mbench_rogue.Enough: it is"),
    "close_the_requests": ("crashed", "Bad file descriptor"),
    "leave_an_heir": ("crashed", "the worker was killed by SIGKILL"),
    "leave_a_daemon_and_die": ("crashed", "the worker was killed by SIGKILL"),
    "say_a_long_line_and_die": ("crashed", "xxx last words"),
    "lacks_a_library": ("failed", "ImportError: libmade_up.so.3: cannot open shared object file"),
    "eat_memory": ("oom", "MemoryError"),
    "flood_the_replies": ("failed", NONSENSE + "a line that does not end"),
    "says_garbage": ("failed", NONSENSE + "not JSON"),
    "says_nan": ("failed", NONSENSE + "Elapsed.nanoseconds[0] should be int, not nan"),
    "says_infinity": ("failed", NONSENSE + "Elapsed.nanoseconds[0] should be int, not inf"),
    "says_a_fraction": ("failed", NONSENSE + "Elapsed.nanoseconds[0] should be int, not 1.5"),
    "says_a_negative_time": ("failed", NONSENSE + "Elapsed.nanoseconds should be durations, all"),
    "says_no_time": ("failed", NONSENSE + "Elapsed.nanoseconds should be durations, all above 0"),
    "says_nothing_at_all": ("failed", NONSENSE + "Elapsed.nanoseconds should be durations, all"),
    "says_too_many_times": ("failed", NONSENSE + "2 durations instead of 1"),
    "says_4000_digits": ("failed", NONSENSE + "Elapsed.nanoseconds[0] is too large"),
    "says_5000_digits": ("failed", NONSENSE + "not JSON"),
    "says_ages": ("failed", NONSENSE + "Elapsed.nanoseconds[0] is too large"),
    "says_it_deeply": ("failed", NONSENSE + "not JSON"),
    "says_it_went_well": ("failed", NONSENSE + "a worker cannot report the outcome 'ok'"),
    "says_it_is_unequal": ("failed", NONSENSE + "a worker cannot report the outcome 'not-equal'"),
}
WELL = ("none", "leave_a_child", "leave_a_session", "leave_a_daemon")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """One comparison of tiny with every fault that ends by itself, and with some that end well."""
    around = Surroundings(tmp_path_factory.mktemp("workers"))
    done = around.compare(
        "tiny", *(f"rogue.{fault}" for fault in (*ENDS, *WELL)),
        options=("--memory-limit", "300MiB"),
    )  # fmt: skip
    assert around.living() == []
    return done


@pytest.mark.parametrize("fault", ENDS)
def test_what_a_worker_does_ends_its_case_by_name(done, fault):
    outcome, reason = done.ends[f"rogue.{fault}"]
    assert outcome == ENDS[fault][0]
    assert ENDS[fault][1] in reason
    assert len(reason) < 700


def test_the_others_go_on(done):
    assert done.code == 1
    assert "Traceback" not in done.err
    assert set(done.ends) == {f"rogue.{fault}" for fault in ENDS}
    assert {e["case"] for e in done.events if e["event"] == "block"} == {
        e["case"] for e in done.events if e["event"] == "case" and e["framework"] not in done.ends
    }


def test_each_end_is_in_the_log_and_takes_its_verdict_away(done):
    document = analyse(load_run(done.run)).to_json()
    cases = {case["label"]: case for case in document["cases"]}
    assert all(Path(cases[label]["log"]).exists() for label in done.ends)
    assert cases["tiny"]["outcome"] == "ok"
    ratios = {one["framework"]: one for one in document["comparisons"] if one["against_first"]}
    for label, (outcome, _) in done.ends.items():
        assert ratios[label]["verdict"] is None
        assert outcome in ratios[label]["reason"]


@pytest.fixture
def start(
    around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], LocalWorker]]:
    """A function that starts a worker of the rogue, which is ready for its second step."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    workers = []

    def start(fault: str) -> LocalWorker:
        program = Program(
            python=Path(sys.executable), modules=["mbench_tiny", "mbench_rogue"],
            variables={"ROGUE": fault, "FAULTS": around.mark},
            log=around.folder / f"{fault}.log", timeout_seconds=PATIENCE,
        )  # fmt: skip
        worker = local.start(program, [SINGLE])
        workers.append(worker)
        worker.start(wire.Start(runtime="mbench_rogue:RogueRuntime", device="cpu", threads=1))
        worker.prepare(CASE)
        worker.run(1)
        return worker

    yield start
    for worker in workers:
        worker.kill()


@pytest.mark.parametrize(
    "fault",
    [
        "stop_itself",
        "hold_the_interpreter",
        "leave_the_group",
        "drip",
        "babble_on",
        "ignore_signals",
    ],
)
def test_who_does_not_answer_is_ended_in_time(start, around, fault):
    worker = start(fault)
    begin = time.monotonic()
    with pytest.raises(CaseEnded, match="timeout: no answer within 1 s"):
        worker.run(1, timeout=1)
    assert time.monotonic() - begin < PATIENCE / 2
    assert around.living() == []


def test_who_closes_the_pipe_and_stays_was_not_killed_by_others(start, monkeypatch):
    monkeypatch.setattr(single, "GOODBYE_SECONDS", 0.3)
    with pytest.raises(CaseEnded, match="failed: the worker closed its pipe but did not end"):
        start("close_the_replies").run(1)


def test_who_answers_twice_is_not_believed_the_second_time(start):
    worker = start("go_on_twice")
    worker.run(1)
    time.sleep(0.5)  # both have answered by now
    with pytest.raises(CaseEnded, match="failed: the worker sent an invalid answer: unrequested: "):
        worker.run(1)


def test_a_flood_is_bounded_and_the_last_words_stay(start, monkeypatch):
    monkeypatch.setattr(process_end, "MOST_BYTES", 2**22)
    monkeypatch.setattr(transport, "LOOK_SECONDS", 0.05)
    worker = start("flood")
    with pytest.raises(CaseEnded, match="its last words: that was all"):
        worker.run(1)
    assert worker.log.stat().st_size < 2**24
    assert "the log was too long" in worker.log.read_text(errors="replace")
    assert psutil.Process().memory_info().rss < 2**30


@pytest.mark.parametrize("fault", ["leave_a_child", "leave_a_session", "leave_a_daemon"])
def test_whatever_a_worker_has_left_stops_resumes_and_ends_with_it(start, around, fault):
    worker = start(fault)
    worker.run(1)

    def others() -> list[int]:
        commands = {pid: " ".join(psutil.Process(pid).cmdline()) for pid in around.living()}
        return [pid for pid, command in commands.items() if "SIG_IGN" in command]

    (left,) = eventually(others, "left")

    def status() -> str:
        return psutil.Process(left).status()

    worker.stop()
    eventually(lambda: status() == psutil.STATUS_STOPPED, "stopped")
    worker.resume()
    eventually(lambda: status() != psutil.STATUS_STOPPED, "resumed")
    worker.close()
    assert around.living() == []
