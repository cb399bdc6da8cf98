"""Mutates what mbench reads: reading it must end in a value or in a refusal of one line.

`python tests/faults/fuzz.py 20000` tries 20,000 of them, and prints what they found; a seed may
follow this number.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cases import GATES, make_case
from screens import on_screen
from support.experiments import measured_by

from mbench.cli.builtin import LAYOUTS
from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.contract.reading import Malformed
from mbench.engine.transport import Channel
from mbench.errors import MbenchError
from mbench.machine.records import Sample
from mbench.machine.system import describe_system
from mbench.proofs import cache as proofs
from mbench.reports import html
from mbench.reports.formats import FORMATS
from mbench.results import calibration, events
from mbench.results.identity import CaseIdentity
from mbench.results.proof import FindingRecord, ProofRecord
from mbench.results.run import load_run
from mbench.results.store import RunWriter
from mbench.results.summary import analyse
from mbench.spec.adaptive import Adaptive
from mbench.spec.suite import find_suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mbench.results.summary import Summary

SECONDS = 20
"""Processor time after which a mutation counts as a hang."""
WAITING_SECONDS = 300
"""Elapsed time after which a mutation counts as a hang: long, since the machine may be busy."""
WEIRD: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**53 + 1, 2**63, 10**400, 0.0, -0.0, 1e-300, 1e308, float("nan"),
    float("inf"), "", "x", "\0", "\x1b[2J", "\ud800", "../../etc/passwd", "=1+1", "<b>", "x" * 5000,
    [], [[]], [0] * 1000, {}, {"": {}}, [None], "2026", "os:system", {"event": "run"},
)  # fmt: skip
BYTES = (b"\0", b"\n", b"\r\n", b'"', b"{", b"}", b"[" * 2000, b",", b"\xff", b"\xef\xbb\xbf", b"9",
         b"\\ud800", b"1e999", b"-", b"\xe2\x80\xa8", b"#", b"=", b"'''")  # fmt: skip
EXACT = Sample(at_nanoseconds=0, busy_seconds=0, stolen_seconds=0, worker_seconds=0,
               available_bytes=1, mhz=1000.0, joules=1.0)  # fmt: skip
LATER = Sample(at_nanoseconds=10**9, busy_seconds=1, stolen_seconds=0, worker_seconds=1,
               available_bytes=1, mhz=1000.0, joules=9.0)  # fmt: skip
FINDING = FindingRecord(check="timed", error=1e-9, gate=1e-6, where="loss", note="", passed=True)
PROOF = ProofRecord(
    proven=True, worst=1e-9, failures=[], findings=[FINDING], notes=[], version="1"
)  # fmt: skip
CALIBRATION = calibration.Calibration(run="r", started="s", ratios=[1.0, 1.1], disturbances=["d"])
MESSAGES = (
    wire.Hello(python="3.11", pid=1, process_group=1),
    FrameworkInfo(version="1", devices=["cpu"], device_name="CPU", threads=1),
    wire.Prepared(seconds=1.0, differences=["d"], trainable_parameters=1, batches=8),
    wire.Elapsed(start_nanoseconds=1, nanoseconds=[1, 2]),
    wire.Observation(
        trainable_parameters=1, counted_flops=1.0, shapes={"w": [1, 2]},
        steps=[wire.StepEvidence(loss=1.0, outputs={"o": [1.0]}, parameters={"w": [1.0]})],
    ),
    wire.Failure(outcome="oom", reason="r", traceback="t"),
)  # fmt: skip
SUITE = b"""title = "t"
frameworks = ["tiny"]
[protocol]
processes = 2
[[sweep]]
models = ["tiny-model"]
batch-size = [1, 2]
size = {image_size = 96}
"""


def a_run(folder: Path) -> bytes:
    """A small run of two cases in which most kinds of events occur."""
    store = RunWriter(
        folder, experiment=measured_by(Adaptive()), system=describe_system({}), arguments=["m"]
    )
    store.append(events.Comparison(comparison=0, title="t"))
    for case, label in enumerate(("tiny", "flaky")):
        store.append(
            events.Case(
                case=case, comparison=0, label=label, framework=label, framework_title=label,
                spec=label, axes=make_case(), samples="samples", flops_per_sample=1e6,
                standard=True, gates=GATES,
            )
        )  # fmt: skip
        store.append(events.EqualWork(case=case, **vars(PROOF)))
        store.append(events.Framework(case=case, **vars(MESSAGES[1])))
        store.append(events.Calibration(case=case, **vars(CALIBRATION)))
        of_case = {"case": case, "process": 0}
        store.append(
            events.Process(
                **of_case, pid=1, prepare_seconds=0.1, trainable_parameters=1, differences=["d"],
                batches=8, first_loss=1.0, first_step_nanoseconds=9, warmup_blocks=[(1, 9)],
                warmup_reason="w",
            )
        )  # fmt: skip
        for number in range(2):
            block = {**of_case, "round": number, "each": False}
            store.append(events.Block(**block, steps=1, start=0, nanoseconds=[10**6 + number]))
            store.append(events.Telemetry(**block, cores=2, samples=[EXACT, LATER]))
            store.append(
                events.Evidence(
                    **block, step=20 + number, due=100.0, batch=number, loss=1.0,
                    outputs={"o": (1.0,) * 6}, waited=10**6, looked=10**5,
                )
            )  # fmt: skip
        for step in (16, 21):
            changed = {"w": (1.0,) * 6}
            store.append(events.Changes(**of_case, step=step, due=90.0, parameters=changed))
        store.append(events.Memory(**of_case, peak_bytes=2**20, idle_look=10**5))
    store.append(events.ComparisonEnd(comparison=0, reason="r", set_seconds=1.0))
    store.end("complete")
    return (store.folder / "run.jsonl").read_bytes()


class Fuzz:
    """What is mutated, and how each kind is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = folder / "run.jsonl"
        self.suite = folder / "suite.toml"
        self.shown: set[str] = set()
        self.key = CaseIdentity(axes=make_case(), framework="fuzz")
        os.environ["MBENCH_PROOFS"] = os.environ["MBENCH_CALIBRATIONS"] = str(folder / "kept")
        calibration.keep(self.key, CALIBRATION)
        (self.calibration,) = (folder / "kept").iterdir()
        self.whole = a_run(folder / "results")
        self.run.write_bytes(self.whole)
        self.document = analyse(load_run(self.run)).to_json()
        proof = json.dumps({"key": "name", "proof": asdict(PROOF)}).encode()
        kept = self.calibration.read_bytes().replace(b"\n", b"")
        messages = b"".join(map(wire.encode, MESSAGES))
        self.subjects: dict[str, tuple[int, bytes, Callable[[bytes], object]]] = {
            "run": (10, self.whole, self.read_run),
            "message": (35, messages, self.read_messages),
            "proof": (20, proof, self.read_proof),
            "calibration": (15, kept, self.read_calibration),
            "suite": (20, SUITE, self.read_suite),
        }

    def read_run(self, raw: bytes) -> object:
        self.run.write_bytes(raw)
        summary = analyse(load_run(self.run))
        document = summary.to_json()
        if (seen := repr(document)) not in self.shown:
            self.shown.add(seen)
            render_all(summary)
        return document

    def read_messages(self, raw: bytes) -> object:
        """Read messages as a parent does: through a channel, one after the other."""
        reads, writes = os.pipe()
        sends = os.open(os.devnull, os.O_WRONLY)
        channel = Channel(sends=sends, receives=reads)
        os.write(writes, raw[:60_000])
        os.close(writes)
        found = []
        try:
            while True:
                with suppress(Malformed):
                    found.append(channel.receive(wire.Elapsed, seconds=5))
        except EOFError:
            return found
        finally:
            channel.close()

    def read_proof(self, raw: bytes) -> object:
        path = self.folder / "kept" / "name.json"
        path.write_bytes(raw)
        return proofs.recall("name")

    def read_calibration(self, raw: bytes) -> object:
        self.calibration.write_bytes(raw)
        return calibration.recall(self.key)

    def read_suite(self, raw: bytes) -> object:
        self.suite.write_bytes(raw)
        return find_suite(str(self.suite))


def render_all(summary: Summary) -> None:
    """Render every format of the report, and every layout."""
    for render in FORMATS.values():
        on_screen(render(summary)).encode()
    for name in LAYOUTS:
        module = import_module(f"mbench.reports.compat_formats.{name}")
        for format_ in ("table", "csv"):
            with suppress(MbenchError):  # a layout may have no row for such a run
                module.render(summary, format_=format_)


def mutated(raw: bytes, dice: random.Random) -> bytes:
    """`raw` with one to three of its bytes, lines or values changed."""
    for _ in range(dice.randint(1, 3)):
        raw = dice.choice((of_bytes, of_lines, of_values, of_values, of_values))(raw, dice)
    return raw


def of_bytes(raw: bytes, dice: random.Random) -> bytes:
    at, to = sorted(dice.randint(0, len(raw)) for _ in range(2))
    to = min(to, at + 30)
    return dice.choice((raw[:at] + dice.choice(BYTES) + raw[to:], raw[:at] + raw[to:], raw[:at]))


def of_lines(raw: bytes, dice: random.Random) -> bytes:
    lines = raw.splitlines(keepends=True) or [b""]
    one, other = (dice.randrange(len(lines)) for _ in range(2))
    act = dice.randrange(3)
    if act == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif act == 1:
        lines.insert(one, lines[other])
    else:
        del lines[one]
    return b"".join(lines)


def of_values(raw: bytes, dice: random.Random) -> bytes:
    """`raw` with one value in a line of JSON changed, or with bytes changed if it is not JSON."""
    lines = raw.split(b"\n")
    at = dice.randrange(len(lines))
    try:
        value = json.loads(lines[at])
        places = list(places_of(value))
        holder, name = dice.choice(places)
    except (ValueError, IndexError, RecursionError):
        return of_bytes(raw, dice)
    act = dice.randrange(4)
    if act == 0:
        del holder[name]
    elif act == 1 and isinstance(holder, dict):
        holder[dice.choice(("x", "", "event", name * 2))] = holder[name]
    else:
        holder[name] = dice.choice(WEIRD)
    lines[at] = json.dumps(value).encode()
    return b"\n".join(lines)


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yields every container within `value`, with the key or index of each of its items."""
    names = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    for name in names:
        yield value, name
        yield from places_of(value[name])


@contextmanager
def time_limit() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError("a hang")

    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, SECONDS),
              signal.SIGALRM: (signal.ITIMER_REAL, WAITING_SECONDS)}  # fmt: skip
    before = {number: signal.signal(number, late) for number in clocks}
    for timer, seconds in clocks.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in clocks.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def fuzz(count: int, folder: Path, *, seed: int) -> tuple[Counter[str], list[str]]:
    """How many mutations ended in which way, and a line for each kind of forbidden end."""
    sys.set_int_max_str_digits(0)  # WEIRD's largest number is written, not read
    html.template = cache(html.template)  # read once for all pages
    made, dice = Fuzz(folder), random.Random(seed)
    before = files(folder)
    names = list(made.subjects)
    weights = [made.subjects[name][0] for name in names]
    ends: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for number in range(count):
        (name,) = dice.choices(names, weights)
        _, raw, read = made.subjects[name]
        raw = mutated(raw, dice)
        sys.set_int_max_str_digits(4300)
        try:
            with time_limit():
                ends[f"{name}: {'nothing' if read(raw) in (None, []) else 'a value'}"] += 1
        except (MbenchError, Malformed) as refusal:
            ends[f"{name}: refused"] += 1
            if "\n" in str(refusal):
                wrong[f"{name}: two lines"] = str(refusal)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            told = f"{name} {number}: {error!r:.200} at {place.filename}:{place.lineno}"
            wrong.setdefault(f"{type(error)} {place.filename} {place.lineno}", told)
        finally:
            sys.set_int_max_str_digits(0)
    sys.set_int_max_str_digits(4300)
    if unexpected := files(folder) - before - {made.suite, folder / "kept" / "name.json"}:
        wrong["files"] = f"made files: {unexpected}"
    return ends, list(wrong.values())


def files(folder: Path) -> set[Path]:
    return set(folder.parent.rglob("*"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as parent:
        inside = Path(parent, "inside")
        inside.mkdir()
        seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
        ends, wrong = fuzz(int(sys.argv[1]), inside, seed=seed)
    for end, count in sorted(ends.items()):
        print(f"{count:6} {end}")
    print(*wrong, f"{len(wrong)} kinds of faults", sep="\n")
    sys.exit(bool(wrong))
