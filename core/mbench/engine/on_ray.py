"""Holds a task on each of some nodes of a Ray cluster, in each of which a keeper runs.

It is a process of its own: Ray starts threads in whoever talks to it, and ends what its driver
started once the driver is gone.

Usage: python -m mbench.engine.on_ray count ACCELERATORS
       python -m mbench.engine.on_ray keep NODES ACCELERATORS VARIABLE,... COMMAND...
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__: list[str] = []

PLACE_SECONDS = 30.0


def bundle(accelerators: int) -> dict[str, float]:
    """What a keeper asks for: Ray hides the devices from tasks that ask for none."""
    return {"CPU": 1.0, **({"GPU": float(accelerators)} if accelerators else {})}


def count(accelerators: int) -> int:
    """The nodes that have what a keeper asks for."""
    import ray

    wanted = bundle(accelerators)
    return sum(
        node["Alive"]
        and all(node["Resources"].get(name, 0.0) >= least for name, least in wanted.items())
        for node in ray.nodes()
    )


def task(number: int, words: Sequence[str], variables: Mapping[str, str]) -> int:
    """On a node, within Ray's worker: the keeper, until it ends; its exit code."""
    import subprocess

    environment = {**os.environ, **variables, "MBENCH_NODE": str(number)}
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, check=False).returncode


def keep(nodes: int, accelerators: int, words: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run a command on each node until all have ended, or one has failed; what went wrong."""
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    wanted = bundle(accelerators)
    group = placement_group([wanted] * nodes, strategy="STRICT_SPREAD")
    try:
        if not group.wait(PLACE_SECONDS):
            free = f"{nodes} nodes that have {wanted} free"
            return f"Ray found no {free} within {PLACE_SECONDS:g} s"
        held = [
            ray.remote(task)
            .options(
                num_cpus=wanted["CPU"],
                num_gpus=wanted.get("GPU", 0),
                max_retries=0,
                scheduling_strategy=PlacementGroupSchedulingStrategy(
                    placement_group=group, placement_group_bundle_index=number
                ),
            )
            .remote(number, list(words), dict(variables))
            for number in range(nodes)
        ]
        while held:
            (first,), held = ray.wait(held, num_returns=1)
            if code := ray.get(first):
                ray.wait(held, num_returns=len(held), timeout=2.0)  # the others, if they leave too
                return f"what ran on a node exited with code {code}"
        return ""
    finally:
        remove_placement_group(group)


def main() -> int:
    import ray

    what, *rest = sys.argv[1:]
    quiet = {"logging_level": logging.ERROR, "log_to_driver": what == "keep"}
    ray.init(address=os.environ["RAY_ADDRESS"], namespace="mbench", **quiet)
    if what == "count":
        print(count(int(rest[0])))
        return 0
    nodes, accelerators, named, *words = rest
    variables = {name: os.environ[name] for name in named.split(",") if name in os.environ}
    if wrong := keep(int(nodes), int(accelerators), words, variables):
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
