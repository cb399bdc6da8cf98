"""Looks at the machine for the acceptance, in the interpreter that has mbench; prints one JSON.

Usage: python -m acceptance.look [--frameworks LIST] [--models LIST]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from mbench.environments.choice import is_here
from mbench.environments.probe import packages
from mbench.errors import MbenchError
from mbench.plan.arm import parse_arm
from mbench.plan.selection import load_workload, select
from mbench.plugins import Plugins
from mbench.telemetry.nvml import find_gpu
from mbench.telemetry.system import describe_system

MATTER = ("mbench", "torch", "jax", "flax", "optax", "transformers", "tensorflow", "mxnet",
          "paddlepaddle", "onnx", "numpy", "nvidia", "triton", "cuda", "cudnn")  # fmt: skip
"""Beginnings of the names of distributions whose versions are told."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frameworks", default="")
    parser.add_argument("--models", default="")
    arguments = parser.parse_args()
    plugins = Plugins()
    gpu = find_gpu()
    try:
        arms = [parse_arm(text).spec for text in arguments.frameworks.split(",") if text]
        offers = plugins.workloads
        names = select([word for word in arguments.models.split(",") if word], offers)
        found: dict[str, Any] = {
            "frameworks": [spec.name for spec in arms if plugins.adapter(spec.name)],
            "models": {name: sorted(load_workload(offers.get(name), name).sizes) for name in names},
        }
    except MbenchError as error:
        found = {"wrong": str(error)}
    found |= {
        "absent": [name for name, one in plugins.adapters.unique().items()
                   if not is_here(one, version=None)],
        "machine": asdict(describe_system({})),
        "versions": {name: version for name, version in packages().items()
                     if name.startswith(MATTER)},
        "gpu": None if gpu is None else {"uuid": gpu.facts().get("uuid"), "address": gpu.address,
                                         "name": gpu.facts().get("name")},
        "on_gpu": None if gpu is None or gpu.processes() is None else sorted(gpu.processes()),
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
