"""Acceptance on a machine with a GPU where nothing can be installed: one program, a time limit.

Usage: python benchmarks/cuda.py [--device cuda|cpu] [--minutes 9|25|any] [--frameworks torch,jax]
           [--models resnet50,bert-base] [--steps LIST] [--resume] [--python PATH] [--output FOLDER]

If the interpreter has the frameworks but not mbench, bring mbench along as wheels. On a machine
that can install packages, with `--target-python` set to the other machine's Python version:

    python benchmarks/cuda.py --prepare wheels --target-python 3.12

and there:

    python -m pip install --no-index --no-deps --target site wheels/*.whl
    PYTHONPATH=$PWD/site python benchmarks/cuda.py --minutes 9

Steps run in order of value, in three phases: `nine` (does it work at all), `breadth` (figures, more
models, precisions and compilers) and `refusals` (what should fail with a known outcome, and passes
if it does). Below 25 minutes, only the first phase is done; `--steps` names phases or steps
instead. Each step is one process with its own limit; if time is short, all limits shrink equally.
Its outcome is passed, failed, skipped or out of time, with a reason.

FOLDER/acceptance.json and FOLDER/acceptance.md are rewritten after each step. The steps' reports
and logs, the runs and the proofs are stored beside them. The same command with `--resume` continues
from there, without repeating what has passed, so 25 minutes can be split over several calls.

With `--device cpu` it is a rehearsal: steps that need a GPU are skipped, everything else is small,
and ratios are reported but not judged.

Exit codes: 0 all steps passed, or were skipped for a good reason; 1 something failed, or ran out of
time; 2 the command line is wrong; 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from acceptance import breadth, nine, refusals
from acceptance.conduct import Conductor, nothing_left, say
from acceptance.limits import Clock
from acceptance.prepare import prepare
from acceptance.record import Record, load
from acceptance.setting import MODELS, Setting
from acceptance.step import NINE, PASSED, PHASES, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

WELL, WRONG, INTERRUPTED = 0, 1, 130
ALL_MINUTES = 25.0
"""With this much time or more, all phases are done."""


def minutes(text: str) -> float | None:
    """Reads a time limit; None means no limit."""
    if text == "any":
        return None
    found = float(text)
    if not found > 0:
        raise ValueError(text)
    return found


def words(text: str) -> tuple[str, ...]:
    found = tuple(word.strip() for word in text.split(",") if word.strip())
    if not found:
        raise ValueError(text)
    return found


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    found.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    found.add_argument("--minutes", type=minutes, default=9.0, help="9, 25, any")
    found.add_argument("--frameworks", type=words, default=("torch",))
    found.add_argument("--models", type=words, help="the first is measured, the last inferred")
    found.add_argument("--steps", type=words, help=f"of the phases {', '.join(PHASES)}, or steps")
    found.add_argument("--python", default=sys.executable, help="that has mbench and frameworks")
    found.add_argument("--output", type=Path, default=Path("mbench-acceptance"))
    found.add_argument("--resume", action="store_true", help="do not repeat what has passed")
    found.add_argument("--prepare", type=Path, metavar="FOLDER", help="fetch wheels, nothing else")
    found.add_argument("--target-python", default="3.12", help="of the machine they are for")
    return found


def chosen(setting: Setting, *, minutes: float | None, named: Sequence[str] | None) -> list[Step]:
    """The steps to do; raises ValueError for an unknown name."""
    steps = [step for module in (nine, breadth, refusals) for step in module.steps(setting)]
    if named is None:
        short = minutes is not None and minutes < ALL_MINUTES
        named = (NINE,) if short else tuple(PHASES)
    known = {*PHASES, *(step.name for step in steps)}
    if unknown := [name for name in named if name not in known]:
        raise ValueError(f"no step is called {unknown[0]!r}; there is {', '.join(sorted(known))}")
    return [step for step in steps if step.name in named or step.phase in named]


def main() -> int:
    arguments = parser().parse_args()
    if arguments.prepare:
        return prepare(arguments.prepare, target=arguments.target_python)
    # Children receive Ctrl-C even if a shell made this program ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    clock = Clock(None if arguments.minutes is None else 60 * arguments.minutes)
    folder = arguments.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    conductor = Conductor(python=arguments.python, folder=folder, mark=uuid.uuid4().hex)
    models = arguments.models or MODELS[arguments.device]
    try:
        return accept(conductor, arguments, models, clock)
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED


def accept(
    conductor: Conductor, arguments: argparse.Namespace, models: Sequence[str], clock: Clock
) -> int:
    try:
        seen = conductor.look("--frameworks", ",".join(arguments.frameworks), "--models",
                              ",".join(models), "--device", arguments.device)  # fmt: skip
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        parser().error(f"{arguments.python} does not run mbench: {error}")
    if arguments.device == "cuda" and seen["gpu"] is None:
        parser().error("no NVIDIA GPU is to be seen; --device cpu rehearses")
    if "wrong" in seen:
        parser().error(seen["wrong"])
    setting = Setting(
        device=arguments.device, frameworks=arguments.frameworks,
        names=tuple(seen["names"][text] for text in arguments.frameworks),
        models=tuple(seen["sizes"]), sizes=seen["sizes"], supported=seen["supported"],
        absent=tuple(seen["absent"]), gpu_uuid=(seen["gpu"] or {}).get("uuid", ""),
    )  # fmt: skip
    try:
        steps = chosen(setting, minutes=arguments.minutes, named=arguments.steps)
        before = load(conductor.folder) if arguments.resume else {}
    except ValueError as error:
        parser().error(str(error))
    before = {name: one for name, one in before.items() if one.outcome == PASSED}
    record = Record(
        folder=conductor.folder, command=shlex.join([os.path.basename(sys.executable), *sys.argv]),
        setting=asdict(setting), machine=seen["machine"], versions=seen["versions"],
    )  # fmt: skip
    # Steps that passed in another phase stay on the page.
    names = {step.name for step in steps}
    record.results += [one for name, one in before.items()
                       if name not in names and one.phase in PHASES]  # fmt: skip
    try:
        complete = conductor.go(steps, record, clock, before)
    except KeyboardInterrupt:  # between two steps
        complete = False
    record.results.append(nothing_left(conductor, seen["on_gpu"]))
    record.end("complete" if complete else "interrupted")
    say(f"{record.folder / 'acceptance.md'}")
    if not complete:
        return INTERRUPTED
    return WELL if record.well else WRONG


if __name__ == "__main__":
    sys.exit(main())
