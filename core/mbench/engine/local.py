"""A worker as a process of this machine, in a group of its own, behind a private pipe."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import mbench
from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.contract.reading import Malformed
from mbench.engine.outcome import CaseEnded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mbench.contract.case import Case

__all__ = ["Worker", "package_files"]

BOOTSTRAP = Path(mbench.__file__).parent / "worker" / "bootstrap.py"
GOODBYE_SECONDS = 2.0
LONGEST_LINE = 64 * 2**20

T = TypeVar("T")


def package_files(modules: Iterable[str]) -> dict[str, str]:
    """The file of the top-level package of each module, as the bootstrap wants them."""
    files = {}
    for module in modules:
        top = module.partition(".")[0]
        found = importlib.util.find_spec(top)
        assert found is not None, f"{top} is not installed"
        assert found.origin is not None, f"{top} has no file"
        files[top] = found.origin
    return files


class Worker:
    """One framework in one process. Every method raises CaseEnded when the worker falls short."""

    def __init__(
        self,
        python: Path,
        *,
        modules: Iterable[str],
        variables: Mapping[str, str],
        log: Path,
        timeout: float,
    ) -> None:
        """Start `python`; `modules` are ours that it must import; `timeout` bounds each answer."""
        self.log = log
        self.timeout = timeout
        self.stopped = False
        self._received = b""
        log.parent.mkdir(parents=True, exist_ok=True)
        worker_reads, self._requests = os.pipe()
        self._replies, worker_writes = os.pipe()
        arguments = [str(os.getpid()), str(worker_reads), str(worker_writes)]
        files = json.dumps(package_files(["mbench", *modules]))
        try:
            with log.open("ab") as output:
                self.process = subprocess.Popen(
                    [str(python), str(BOOTSTRAP), *arguments, files],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(worker_reads, worker_writes),
                    env={**os.environ, **variables},
                )
        except OSError as error:
            os.close(self._requests)
            os.close(self._replies)
            raise CaseEnded("failed", f"{python} does not start: {error}", log=log) from None
        finally:
            os.close(worker_reads)
            os.close(worker_writes)
        self._grouped = False
        try:
            self._read(wire.Hello, timeout)
            self._grouped = True
        except BaseException:
            self.kill()
            raise

    def ask(self, message: object, answer: type[T], *, timeout: float | None = None) -> T:
        """Send `message` and wait for its `answer`. A failed case leaves the worker alive."""
        assert not self.stopped, "a stopped worker cannot answer"
        limit = self.timeout if timeout is None else timeout
        try:
            os.write(self._requests, wire.encode(message))
        except BrokenPipeError:
            raise self._crashed() from None
        return self._read(answer, limit)

    def describe(self, message: wire.Start) -> FrameworkInfo:
        return self.ask(message, FrameworkInfo)

    def prepare(self, case: Case, *, load: bool = True) -> wire.Prepared:
        return self.ask(wire.Prepare(case=case, load=load), wire.Prepared)

    def run(self, count: int, *, each: bool = False, timeout: float | None = None) -> wire.Elapsed:
        return self.ask(wire.TimeSteps(count=count, each=each), wire.Elapsed, timeout=timeout)

    def _read(self, answer: type[T], limit: float) -> T:
        deadline = time.monotonic() + limit
        while b"\n" not in self._received:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([self._replies], [], [], remaining)[0]:
                self.kill()
                raise CaseEnded("timeout", f"no answer within {limit:g} s", log=self.log)
            if not (chunk := os.read(self._replies, 2**16)):
                raise self._crashed()
            self._received += chunk
            if len(self._received) > LONGEST_LINE:
                self.kill()
                raise CaseEnded("failed", "the worker's answer has no end", log=self.log)
        line, _, self._received = self._received.partition(b"\n")
        try:
            message = wire.decode(line)
        except Malformed as error:
            self.kill()
            raise CaseEnded(
                "failed", f"the worker answered nonsense: {error}", log=self.log
            ) from None
        if isinstance(message, wire.Failure):
            raise CaseEnded(message.outcome, message.reason, log=self.log)
        if not isinstance(message, answer):
            self.kill()
            raise CaseEnded("failed", f"answered {type(message).__name__}", log=self.log)
        return message

    def _crashed(self) -> CaseEnded:
        self.kill()
        code = self.process.returncode
        if code is not None and code < 0:
            how = f"killed by {signal.Signals(-code).name}"
            if code == -signal.SIGKILL:
                how += ", perhaps by the system for want of memory"
        else:
            how = f"exited with code {code}"
        if said := last_line(self.log):
            how += f"; its last words: {said}"
        return CaseEnded("crashed", f"the worker was {how}", log=self.log)

    def stop(self) -> None:
        """Freeze the worker and its children: they use no processor until resumed."""
        if not self.stopped:
            self._signal(signal.SIGSTOP)
            self.stopped = True

    def resume(self) -> None:
        if self.stopped:
            self._signal(signal.SIGCONT)
            self.stopped = False

    def close(self) -> None:
        """Say goodbye, give the worker a moment, then kill whatever is left of its group."""
        self.resume()
        with contextlib.suppress(CaseEnded, OSError):
            self.ask(wire.Close(), wire.Closed, timeout=GOODBYE_SECONDS)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GOODBYE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the worker and its children at once. May be called more than once."""
        self._signal(signal.SIGKILL)
        self.process.wait()
        self._grouped = False  # the group's number may be another's from now on
        for descriptor in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._requests = self._replies = -1

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._grouped:
                os.killpg(self.process.pid, number)
            elif self.process.poll() is None:
                self.process.send_signal(number)


def last_line(log: Path) -> str:
    """The last line that a worker wrote, shortened; empty if it wrote none."""
    with contextlib.suppress(OSError):
        lines = log.read_bytes()[-4096:].decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:200] if lines else ""
    return ""
