"""Goes through the steps, each within its share of the time that is left."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acceptance import child
from acceptance.figures import figures_of, read
from acceptance.limits import limit_of
from acceptance.record import Result
from acceptance.step import FAILED, OUT_OF_TIME, PASSED, SKIPPED, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from acceptance.limits import Clock
    from acceptance.record import Record
    from acceptance.step import Step

__all__ = ["Conductor", "say"]

BENCHMARKS = Path(__file__).resolve().parent.parent
FEWEST_SECONDS = 5.0
"""The smallest budget."""
LOOK_SECONDS = 60
LOOKS = 3


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True, kw_only=True)
class Conductor:
    """Runs steps with `python` and writes what they leave into `folder`."""

    python: str
    folder: Path
    mark: str
    """A text that no other program's variables hold."""
    grace: float = 10.0

    @property
    def variables(self) -> dict[str, str]:
        paths = [str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            child.MARK: self.mark,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONUNBUFFERED": "1",
            **{f"MBENCH_{name.upper()}": str(self.folder / name)
               for name in ("proofs", "environments", "calibrations")},
        }  # fmt: skip

    def look(self, *arguments: str) -> dict[str, Any]:
        """What look.py prints; raises RuntimeError if it fails."""
        done = subprocess.run(
            [self.python, "-m", "acceptance.look", *arguments], capture_output=True, text=True,
            check=False, env={**os.environ, **self.variables}, timeout=LOOK_SECONDS,
            cwd=self.folder,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no answer"])[-1])
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def go(
        self, steps: Sequence[Step], record: Record, clock: Clock, before: Mapping[str, Result]
    ) -> bool:
        """Do all steps; returns whether none was interrupted. `before` has results to keep."""
        (self.folder / "steps").mkdir(exist_ok=True)
        steps = [replace(step, skip="passed before") if step.name in before else step
                 for step in steps]  # fmt: skip
        for at, step in enumerate(steps):
            if step.name in before:
                result = before[step.name]
            else:
                ahead = [one for one in steps[at:] if not one.skip]
                result, interrupted = self.one(step, None if step.skip else ahead, clock)
                say(f"{step.name}: {result.outcome}" + (f": {result.reason}" * bool(result.reason)))
                if interrupted:
                    rest = [skipped(one, "interrupted before") for one in steps[at + 1 :]]
                    self.cut(record, [result, *(before.get(one.name, one) for one in rest)])
                    return False
            record.add(result)
        return True

    def cut(self, record: Record, rest: Iterable[Result]) -> None:
        record.results += rest
        record.write()

    def one(self, step: Step, ahead: Sequence[Step] | None, clock: Clock) -> tuple[Result, bool]:
        """The result of a step, and whether it was interrupted."""
        if ahead is None:
            return skipped(step, step.skip), False
        limit = limit_of(ahead, clock.left())
        if limit is None:
            left = max(0.0, clock.left() or 0.0)
            reason = f"{left:.0f} s were left, and it takes {step.least:.0f} s or more"
            return replace(skipped(step, reason), outcome=OUT_OF_TIME), False
        command = self.command(step, limit)
        stem = self.folder / "steps" / step.name.replace(" ", "-").replace("=", "-")
        report, log = stem.with_suffix(".json"), stem.with_suffix(".log")
        say(f"{step.name}: {step.about}; at most {limit:.0f} s")
        ended = child.run(
            command, variables={**self.variables, **step.variables}, folder=self.folder,
            report=report, log=log, seconds=limit, grace=self.grace,
        )  # fmt: skip
        document = read(report)
        verdict = judged(step, ended, document, limit)
        if left := child.sweep(self.mark):
            verdict = Verdict(FAILED, f"processes were left and killed: {'; '.join(left.values())}")
        typed = [*(f"{name}={value}" for name, value in step.variables.items()), *command]
        return Result(
            name=step.name, phase=step.phase, about=step.about, outcome=verdict.outcome,
            reason=verdict.reason, command=shlex.join(typed), returncode=ended.returncode,
            seconds=round(ended.seconds, 1), limit_seconds=round(limit, 1),
            figures=figures_of(document),
        ), ended.interrupted  # fmt: skip

    def command(self, step: Step, limit: float) -> list[str]:
        program = [str(BENCHMARKS / part) if part.endswith(".py") else part
                   for part in step.program]  # fmt: skip
        if step.budget is not None:
            program += ["--budget", f"{max(FEWEST_SECONDS, limit * step.budget):.0f}"]
        return [self.python, *program]


def judged(step: Step, ended: child.Ended, document: dict | None, limit: float) -> Verdict:
    if ended.interrupted:
        return Verdict(SKIPPED, f"interrupted after {ended.seconds:.0f} s")
    if ended.stopped:
        return Verdict(OUT_OF_TIME, f"stopped at its limit of {limit:.0f} s: {ended.said}")
    try:
        return step.judge(ended, document)
    except (KeyError, TypeError, IndexError) as error:
        return Verdict(FAILED, f"its report is not as expected: {error!r}")


def skipped(step: Step, reason: str) -> Result:
    return Result(
        name=step.name, phase=step.phase, about=step.about, outcome=SKIPPED, reason=reason,
        command="",
    )  # fmt: skip


def nothing_left(conductor: Conductor, before: Iterable[int] | None) -> Result:
    """The last step: no process of ours is left on the GPU or on the machine."""
    wrong = []
    if left := child.sweep(conductor.mark):
        wrong.append(f"on the machine: {'; '.join(left.values())}")
    for _ in range(LOOKS if before is not None else 0):  # the driver takes a moment
        try:
            now = conductor.look()["on_gpu"] or ()
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
            wrong.append(f"the GPU cannot be looked at any more: {error}")
            break
        if not (more := sorted(set(now) - set(before or ()))):
            break
    else:
        if before is not None:
            wrong.append(f"on the GPU, where they were not before: {more}")
    return Result(
        name="nothing left", phase="end", about="no process stays behind",
        outcome=FAILED if wrong else PASSED, command="",
        reason="; ".join(wrong) or ("NVML tells no processes here" if before is None else ""),
    )  # fmt: skip
