"""A worker's process on this machine: a group of its own, started, stopped and ended here."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.contract.outcome import speaks_of_memory
from mbench.engine import scratch, single
from mbench.engine.cpu_affinity import apart
from mbench.engine.outcome import CaseEnded
from mbench.machine.devices import kind
from mbench.machine.memory_layout import steadily
from mbench.machine.process_end import bound, ending, has_ended, last_line
from mbench.machine.process_tree import VARIABLE, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.rank import RankInfo
    from mbench.engine.program import Program

__all__ = ["WorkerProcess"]

KILL_SECONDS = 10.0
"""Of waiting for what cannot be killed while it hangs in the kernel."""


class WorkerProcess:
    """One process. Its number stays ours until it is waited for, which `kill` alone does.

    When we are gone, whatever ended us, so is the process with its children.
    """

    def __init__(self, program: Program, place: RankInfo, *, reads: int, writes: int) -> None:
        """Start it, by its ends of the line to whom it answers; raises CaseEnded."""
        self.log, self.device = program.log, program.device
        self._kin = ProcessTree()
        self._stopped = False
        program.log.parent.mkdir(parents=True, exist_ok=True)
        held_by_watcher, self._leash = os.pipe()
        try:
            threads = program.steady_threads
            with contextlib.ExitStack() as stack:
                output = stack.enter_context(program.log.open("ab"))
                # Otherwise ranks are free, as launchers of frameworks leave them: what exchanges
                # gradients has threads of its own, and on one core they and the compute of one
                # rank take turns in small pieces (JAX: 1.1 s a step instead of 0.8 s).
                if threads:
                    stack.enter_context(apart(place))
                    stack.enter_context(steadily(threads))
                self.process = subprocess.Popen(
                    program.command(str(os.getpid()), str(reads), str(writes)),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(reads, writes),
                    env={
                        **os.environ,
                        **scratch.variables(),
                        **program.variables,
                        **own_device(program.device, place),
                        VARIABLE: self._kin.mark,
                    },
                )
            self._watcher = self._kin.watcher(self.process.pid, held_by_watcher)
        except BaseException as error:  # Ctrl-C too must leave no pipe open
            os.close(self._leash)
            if not isinstance(error, OSError):
                raise
            reason = f"{program.python} does not start: {error}"
            raise CaseEnded("failed", reason, log=self.log) from None
        finally:
            os.close(held_by_watcher)
        self.pid = self.process.pid

    def stop(self) -> None:
        if not self._stopped:
            self.signal(signal.SIGSTOP)
            self._kin.signal(signal.SIGSTOP)
            self._stopped = True

    def resume(self) -> None:
        if self._stopped:
            self._kin.signal(signal.SIGCONT)
            self.signal(signal.SIGCONT)
            self._stopped = False

    def kill(self) -> None:
        """It and its children, at once. May be called more than once."""
        self._watcher.kill()  # it knows numbers only, which may soon be another process's
        self._watcher.wait()
        self.signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(KILL_SECONDS)
        self._kin.kill()
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1
        bound(self.log)

    def signal(self, number: signal.Signals) -> None:
        """To the group, and to the process, which may not have made it yet, or have left it."""
        if self.process.returncode is None:
            for send in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    send(self.pid, number)

    def leaves(self) -> bool:
        """Whether it ends by itself, in a moment; it is not waited for as a child."""
        deadline = time.monotonic() + single.GOODBYE_SECONDS
        while not has_ended(self.pid):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def end(self) -> tuple[str, str]:
        """Outcome and reason of one that has ended by itself, and kills what it left.

        It is waited for first: what we kill would not tell.
        """
        if not self.leaves():
            self.kill()
            return "failed", "the worker closed its pipe, and did not end"
        self.kill()
        reason = f"the worker {ending(self.process.returncode)}"
        if said := last_line(self.log):
            reason += f"; its last words: {said}"
        return "oom" if speaks_of_memory(said) else "crashed", reason


def own_device(device: str, place: RankInfo) -> Mapping[str, str]:
    """What lets one of several processes see its own device, and no other's."""
    if device == HOST or place.ranks == 1:
        return {}
    return kind(device).visible(place.local_rank)
