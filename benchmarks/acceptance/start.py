"""How long a worker takes to start, to prepare its case and to end; prints JSON.

Usage: python -m acceptance.start [--framework torch] [--model resnet50] [--device cuda] [--times 2]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from mbench.engine.launch import launch
from mbench.environments.locate import find
from mbench.machine.cores import default_threads
from mbench.plugins.manager import Plugins
from mbench.spec.arm import Arm
from mbench.spec.experiment import Experiment, Launch, Sweep
from mbench.spec.planning import plan


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--times", type=int, default=2)
    arguments = parser.parse_args()
    experiment = Experiment(
        arms=(Arm(arguments.framework),),
        sweeps=(Sweep(axes={"model": (arguments.model,), "batch_size": (2,)}),),
        launch=Launch(device=arguments.device, threads=default_threads().count),
    )
    (comparison,) = plan(experiment, Plugins())
    (entry,) = comparison.entries
    environment = find(entry.spec, entry.adapter, accelerator=arguments.device, provision=False,
                       report=print)  # fmt: skip
    seconds: dict[str, list[float]] = {"start": [], "prepare": [], "end": []}
    with TemporaryDirectory(prefix="mbench-") as folder:
        for number in range(arguments.times):
            at = [time.monotonic()]
            worker, info = launch(
                entry.adapter, environment, entry.case, log=Path(folder, f"{number}.log"),
                timeout=60,
            )  # fmt: skip
            at.append(time.monotonic())
            try:
                worker.prepare(entry.case)
                at.append(time.monotonic())
            finally:
                worker.close()
            at.append(time.monotonic())
            for name, begin, end in zip(seconds, at, at[1:], strict=False):
                seconds[name].append(end - begin)
    found = {f"{name}_seconds": median(some) for name, some in seconds.items()}
    print(json.dumps({"device": info.device_name, **found}))


if __name__ == "__main__":
    main()
