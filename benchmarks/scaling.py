"""Throughput of several ranks through mbench against the framework's own launcher.

Usage: python benchmarks/scaling.py [--frameworks torch,tf,mxnet,paddle,jax] [--processes 6]

Both train ResNet-50 with data parallelism on this machine: a hand-written loop started by the
framework's own launcher (such as torchrun; without one, ranks are started one by one, as the
framework's documentation describes), and the same case through mbench's launcher `local`. Both jobs
stay warm and take turns in random order; the waiting one is stopped. A pair of fresh jobs is a
replicate. A ratio of 0.99 or better means that mbench costs one percent or less.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

import psutil

from mbench.contract.case import Case
from mbench.contract.tier import TUNED
from mbench.engine.isolation import thread_variables
from mbench.engine.launch import launch
from mbench.environments.locate import find
from mbench.machine.cores import default_threads
from mbench.plugins.manager import Plugins
from mbench.spec.arm import parse
from mbench.stats import pair_of, ratio

ROOT = Path(__file__).resolve().parent
FOLDERS = {
    "torch": "pytorch", "tf": "tensorflow", "mxnet": "mxnet", "paddle": "paddle", "jax": "jax",
}  # fmt: skip
LAUNCHERS = {
    "torch": ("torch.distributed.run", "--standalone", "--nproc-per-node={ranks}"),
    "paddle": ("paddle.distributed.launch", "--nproc_per_node={ranks}", "--log_dir={folder}"),
    **{name: ("bare.each", FOLDERS[name], "{ranks}") for name in ("tf", "mxnet", "jax")},
}
"""How each framework's documentation starts ranks on one machine; a script and its arguments
follow."""
COMPILERS = {
    "torch": "eager", "tf": "graph", "mxnet": "hybrid", "paddle": "eager", "jax": "jit",
}  # fmt: skip
WARMUP_STEPS = 10
START_SECONDS, LOOK_SECONDS = 300.0, 0.5


class ByHand:
    """The job of the framework's own launcher."""

    def __init__(self, framework, environment, adapter, arguments, folder: Path) -> None:
        log = folder / "launcher.log"
        module, *options = LAUNCHERS[framework]
        named = {"ranks": arguments.ranks, "folder": folder}
        with socket.create_server(("127.0.0.1", 0), backlog=arguments.ranks) as server:
            server.settimeout(LOOK_SECONDS)
            paths = [ROOT, ROOT.parent / "core", ROOT.parent / "adapters" / FOLDERS[framework]]
            self.process = subprocess.Popen(
                [
                    str(environment.python), "-m", module,
                    *(option.format(**named) for option in options),
                    str(ROOT / "ranks.py"), FOLDERS[framework],
                    *map(str, (server.getsockname()[1], arguments.batch_size,
                               arguments.image_size, arguments.threads)),
                ],
                env={
                    **os.environ,
                    **thread_variables(arguments.threads),
                    **adapter.variables(threads=arguments.threads, device="cpu"),
                    **adapter.tiers[TUNED].variables,
                    **environment.variables(),
                    "PYTHONPATH": os.pathsep.join(map(str, paths)),
                },
                stdout=log.open("wb"), stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                self.lines = [self.accept(server, folder) for _ in range(arguments.ranks)]
            except BaseException:
                self.close()
                raise

    def accept(self, server: socket.socket, folder: Path) -> TextIO:
        """The next rank's line; ends the benchmark if the launcher exits or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(TimeoutError):
                connection, _ = server.accept()
                connection.settimeout(None)
                return connection.makefile("rw")
        logs = [path.read_text(errors="replace") for path in sorted(folder.rglob("*log*"))
                if path.is_file()]  # fmt: skip
        sys.exit(
            "\n".join([*logs, "the framework's launcher started no ranks; that is what it said"])
        )

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the launcher and everything it started, in any group."""
        if self.process.poll() is not None:
            return
        launcher = psutil.Process(self.process.pid)
        for process in (launcher, *launcher.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def stop(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def seconds(self, steps: int) -> float:
        """Seconds that `steps` steps take on the slowest rank."""
        for lines in self.lines:
            print(steps, file=lines, flush=True)
        return max(float(lines.readline()) for lines in self.lines)

    def close(self) -> None:
        self.resume()
        self.signal(signal.SIGKILL)
        self.process.wait()


class ThroughMbench:
    def __init__(self, environment, adapter, case: Case, log: Path) -> None:
        self.worker, _ = launch(adapter, environment, case, log=log, timeout=600)
        self.worker.prepare(case)
        self.stop, self.resume, self.close = (
            self.worker.stop, self.worker.resume, self.worker.close,
        )  # fmt: skip

    def seconds(self, steps: int) -> float:
        return self.worker.run(steps, lead=1).nanoseconds[0] / 1e9


def pair(framework, environment, adapter, case, arguments, order) -> tuple[list, list]:
    """Seconds of each round of two fresh jobs: hand-written, and through mbench."""
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        makers = [
            lambda: ByHand(framework, environment, adapter, arguments, Path(folder)),
            lambda: ThroughMbench(environment, adapter, case, Path(folder) / "log"),
        ]
        jobs = {}
        for at in order.sample((0, 1), 2):
            jobs[at] = makers[at]()
            stack.callback(jobs[at].close)
            jobs[at].seconds(WARMUP_STEPS)
            jobs[at].stop()
        found: tuple[list, list] = ([], [])
        for _ in range(arguments.rounds):
            for at in order.sample((0, 1), 2):
                jobs[at].resume()
                found[at].append(jobs[at].seconds(arguments.steps))
                jobs[at].stop()
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description="mbench's ranks against the framework's launcher")
    parser.add_argument("--frameworks", default="torch,tf,mxnet,paddle")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--processes", type=int, default=6, help="pairs of fresh jobs")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=10, help="per block")
    parser.add_argument("--threads", type=int, help="of a rank")
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--image-size", type=int, default=64)
    arguments = parser.parse_args()
    arguments.threads = arguments.threads or max(1, default_threads().count // arguments.ranks)
    order = random.Random(0)
    for text in arguments.frameworks.split(","):
        spec = parse(text)
        if spec.name not in LAUNCHERS:
            sys.exit(f"{spec.name} has no launcher of its own here: {', '.join(LAUNCHERS)} have")
        adapter = Plugins().adapter(spec.name)
        environment = find(spec, adapter, accelerator="cpu", provision=True, report=print)
        case = Case(
            model="resnet50", workload="mbench.workloads.resnet:RESNET50", mode="train",
            batch_size=arguments.batch_size, precision="fp32", tier=TUNED,
            compiler=COMPILERS[spec.name], device="cpu", threads=arguments.threads,
            scale=f"1x{arguments.ranks}", sizes={"image_size": arguments.image_size},
        )  # fmt: skip
        bare: dict[int, dict[int, float]] = {}
        ours: dict[int, dict[int, float]] = {}
        for process in range(arguments.processes):
            by_hand, through = pair(spec.name, environment, adapter, case, arguments, order)
            bare[process] = {at: 1 / seconds for at, seconds in enumerate(by_hand)}
            ours[process] = {at: 1 / seconds for at, seconds in enumerate(through)}
            told = pair_of(bare[process], ours[process]).total
            print(f"{text} pair {process + 1}: {told:.4f}", flush=True)
        total = ratio(bare, ours).interval()
        ends = f"{total.low:.4f} .. {total.high:.4f}" if total.low else "few pairs, no interval"
        print(f"{text}: mbench / by hand {total.value:.4f} ({ends})", flush=True)


if __name__ == "__main__":
    main()
