"""Records the noise of this machine: the durations of single steps of one steady worker.

Usage: python benchmarks/record.py [--framework torch] [--seconds 120] [--output FILE]

It writes the start and duration of every step, in nanoseconds. coverage.py draws from these.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from mbench.contract.case import Case
from mbench.engine.launch import launch
from mbench.environments.locate import find
from mbench.machine.cores import default_threads
from mbench.machine.system import describe_system
from mbench.measure.warmup import warm_up
from mbench.plugins.manager import Plugins
from mbench.spec.arm import parse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "noise/here.json")
    arguments = parser.parse_args()
    plugins = Plugins()
    spec = parse(arguments.framework)
    adapter = plugins.adapter(spec.name)
    environment = find(spec, adapter, accelerator="cpu", provision=True, report=print)
    case = Case(
        model=arguments.model, workload=plugins.workloads.get(arguments.model), mode="train",
        batch_size=arguments.batch_size, precision="fp32", compiler=next(iter(adapter.compilers)),
        device="cpu", threads=default_threads().count,
        sizes={"image_size": arguments.image_size},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        worker, info = launch(adapter, environment, case, log=Path(folder, "log"), timeout=900)
        try:
            worker.prepare(case)
            warmup = warm_up(lambda count: worker.run(count).nanoseconds[0])
            count = round(arguments.seconds / warmup.step_seconds)
            elapsed = worker.run(count, each=True)
        finally:
            worker.close()
    arguments.output.parent.mkdir(exist_ok=True)
    arguments.output.write_text(
        json.dumps(
            {
                "framework": f"{spec.name} {info.version}",
                "case": f"{case.model} {arguments.image_size} pixels, batch {case.batch_size}",
                "cpu": describe_system({}).cpu,
                "microseconds": [round(value / 1000) for value in elapsed.nanoseconds],
            }
        )
        + "\n"
    )
    print(f"{len(elapsed.nanoseconds)} steps: {arguments.output}")


if __name__ == "__main__":
    main()
