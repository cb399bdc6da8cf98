"""Looks at the machine for the acceptance, in the interpreter that has mbench; prints JSON.

Usage: python -m acceptance.look [--frameworks LIST] [--models LIST] [--device cuda]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from acceptance.setting import HEADLINE
from mbench.contract.installed import distributions, packages
from mbench.contract.precision import PRECISIONS
from mbench.environments.choice import is_here
from mbench.errors import MbenchError
from mbench.machine.nvml import seen_gpus
from mbench.machine.system import describe_system
from mbench.plugins.manager import Plugins
from mbench.scenarios.find import resolve
from mbench.spec.arm import Arm
from mbench.spec.experiment import Experiment, Launch, Sweep
from mbench.spec.planning import plan
from mbench.spec.selection import select

MATTER = ("mbench", "torch", "jax", "flax", "optax", "transformers", "tensorflow", "mxnet",
          "paddlepaddle", "onnx", "numpy", "nvidia", "triton", "cuda", "cudnn")  # fmt: skip
"""Prefixes of the names of distributions whose versions are reported."""


def asked_for(frameworks: list[str], models: list[str], *, device: str) -> dict[str, Any]:
    """Facts about these frameworks and models; raises UsageError for one that does not exist."""
    plugins = Plugins()
    floats = tuple(name for name, one in PRECISIONS.items() if not one.quantized)
    wanted = {"model": (*models, HEADLINE), "precision": floats}
    chosen = select(models, plugins.workloads)
    names: dict[str, str] = {}
    sizes: dict[str, list[str]] = {}
    supported: dict[str, dict[str, list[str]]] = {}
    for text in frameworks:
        experiment = Experiment(
            arms=(Arm(text),), sweeps=(Sweep(axes=wanted),),
            launch=Launch(device=device, threads=1),
        )  # fmt: skip
        for comparison in plan(experiment, plugins):
            for entry in comparison.entries:
                names[text] = entry.adapter.name
                if entry.case.model in chosen:
                    sizes[entry.case.model] = sorted(resolve(entry.case).sizes)
                of_model = supported.setdefault(text, {}).setdefault(entry.case.model, [])
                if entry.support.supported:
                    of_model.append(entry.case.precision)
    return {"names": names, "sizes": sizes, "supported": supported,
            "absent": absent(plugins, chosen[0], device=device)}  # fmt: skip


def absent(plugins: Plugins, model: str, *, device: str) -> list[str]:
    """Adapters whose framework is not in this Python, first those that could train the model."""

    def lacks(name: str) -> bool:
        experiment = Experiment(
            arms=(Arm(name),), sweeps=(Sweep(axes={"model": (model,)}),),
            launch=Launch(device=device, threads=1),
        )  # fmt: skip
        return not all(entry.support.supported for one in plan(experiment, plugins)
                       for entry in one.entries)  # fmt: skip

    found = [name for name, adapter in plugins.adapters.unique().items()
             if not is_here(adapter, version=None)]  # fmt: skip
    return sorted(found, key=lacks)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frameworks", default="")
    parser.add_argument("--models", default="")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    frameworks, models = (text.split(",") if text else []
                          for text in (arguments.frameworks, arguments.models))  # fmt: skip
    gpu, found = next(iter(seen_gpus()), None), {}
    try:
        if frameworks:
            found = asked_for(frameworks, models, device=arguments.device)
    except MbenchError as error:
        found = {"wrong": str(error)}
    found |= {
        "machine": asdict(describe_system({})),
        "versions": {name: version for name, version in packages(distributions()).items()
                     if name.startswith(MATTER)},
        "gpu": None if gpu is None else gpu.facts(),
        "on_gpu": None if gpu is None or gpu.processes() is None else sorted(gpu.processes()),
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
