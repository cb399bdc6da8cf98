"""Throughput of several ranks through mbench against the framework's own launcher.

Usage: python benchmarks/scaling.py [--frameworks torch] [--ranks 2] [--processes 6]

Both train ResNet-50 by data parallelism on this machine: a loop by hand that the framework's own
launcher starts (torchrun, for one), and the same case through mbench's launcher `local`. Both jobs
are warm at once and take turns in random order; the one that waits is stopped. A pair of fresh jobs
is the replicate. A ratio of 0.99 or better means that mbench costs one percent or less.
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
from pathlib import Path

import psutil

from mbench.contract.case import Case
from mbench.contract.tier import ADVISED
from mbench.engine.launch import launch
from mbench.engine.variables import thread_variables
from mbench.environments.locate import find
from mbench.environments.spec import parse
from mbench.plugins import Plugins
from mbench.stats import pair_of, ratio
from mbench.telemetry.system import usable_cores

ROOT = Path(__file__).resolve().parent
FOLDERS = {"torch": "pytorch", "tf": "tensorflow", "mxnet": "mxnet", "paddle": "paddle"}
LAUNCHERS = {
    "torch": ("torch.distributed.run", "--standalone", "--nproc-per-node"),
    "paddle": ("paddle.distributed.launch", "--nproc_per_node"),
}
"""As each framework's documentation starts ranks on one machine; their number follows."""
COMPILERS = {"torch": "eager", "paddle": "eager"}
WARMUP_STEPS = 10


class ByHand:
    """The job of the framework's own launcher."""

    def __init__(self, framework, environment, adapter, arguments) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=arguments.ranks) as server:
            server.settimeout(300)
            paths = [ROOT, ROOT.parent / "core", ROOT.parent / "adapters" / FOLDERS[framework]]
            self.process = subprocess.Popen(
                [
                    str(environment.python), "-m", *LAUNCHERS[framework], str(arguments.ranks),
                    "-m", "bare.ranks", FOLDERS[framework],
                    *map(str, (server.getsockname()[1], arguments.batch_size,
                               arguments.image_size, arguments.threads)),
                ],
                env={
                    **os.environ,
                    **thread_variables(arguments.threads),
                    **adapter.variables(threads=arguments.threads, device="cpu"),
                    **adapter.tiers[ADVISED].variables,
                    **environment.variables(),
                    "PYTHONPATH": os.pathsep.join(map(str, paths)),
                },
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            self.lines = [server.accept()[0].makefile("rw") for _ in range(arguments.ranks)]

    def signal(self, number: signal.Signals) -> None:
        """To the launcher and all that it has started, in whatever groups."""
        launcher = psutil.Process(self.process.pid)
        for process in (launcher, *launcher.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def stop(self) -> None:
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    def seconds(self, steps: int) -> float:
        """The slowest rank's."""
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
    """Seconds of each round of two fresh jobs: by hand, and through mbench."""
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        makers = [
            lambda: ByHand(framework, environment, adapter, arguments),
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
    parser.add_argument("--frameworks", default="torch")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--processes", type=int, default=6, help="pairs of fresh jobs")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=10, help="per block")
    parser.add_argument("--threads", type=int, help="of a rank")
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--image-size", type=int, default=64)
    arguments = parser.parse_args()
    arguments.threads = arguments.threads or max(1, usable_cores() // arguments.ranks)
    order = random.Random(0)
    for text in arguments.frameworks.split(","):
        spec = parse(text)
        if spec.name not in LAUNCHERS:
            sys.exit(f"{spec.name} has no launcher of its own here: {', '.join(LAUNCHERS)} have")
        adapter = Plugins().adapter(spec.name)
        environment = find(spec, adapter, accelerator="cpu", provision=True, report=print)
        case = Case(
            model="resnet50", workload="mbench.workloads.resnet:RESNET50", mode="train",
            batch_size=arguments.batch_size, precision="fp32", tier=ADVISED,
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
        print(f"{text}: mbench / {LAUNCHERS[spec.name][0]} {total.value:.4f} ({ends})", flush=True)


if __name__ == "__main__":
    main()
