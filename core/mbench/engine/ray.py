"""The launcher "ray": an agent in a task on each of several nodes of a Ray cluster.

A separate process starts the tasks and keeps them running:

Usage: python -m mbench.engine.ray count ACCELERATORS
       python -m mbench.engine.ray keep NODES ACCELERATORS VARIABLE,... COMMAND...
"""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mbench.engine.cluster import Cluster
from mbench.engine.command import gist
from mbench.errors import UsageError, lacking
from mbench.machine.helper import NoAnswer, ask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Ray", "detect", "open"]


PLACE_SECONDS = 30.0


def bundle(accelerators: int) -> dict[str, float]:
    """The resources an agent requests: Ray hides devices from tasks that request none."""
    return {"CPU": 1.0, **({"GPU": float(accelerators)} if accelerators else {})}


def count(accelerators: int) -> int:
    """The number of nodes that have the resources of an agent."""
    import ray

    wanted = bundle(accelerators)
    return sum(
        node["Alive"]
        and all(node["Resources"].get(name, 0.0) >= least for name, least in wanted.items())
        for node in ray.nodes()
    )


def task(number: int, words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Runs the agent within Ray's worker on a node; returns its exit code."""
    import subprocess

    environment = {**os.environ, **variables, "MBENCH_NODE": str(number)}
    return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, check=False).returncode


def keep(nodes: int, accelerators: int, words: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run a command on each node until all have ended or one has failed; returns the error."""
    import ray
    from ray.util.placement_group import placement_group, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    wanted = bundle(accelerators)
    group = placement_group([wanted] * nodes, strategy="STRICT_SPREAD")
    try:
        if not group.wait(PLACE_SECONDS):
            free = f"{nodes} nodes with {wanted} free"
            return f"Ray did not find {free} within {PLACE_SECONDS:g} s"
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
                ray.wait(held, num_returns=len(held), timeout=2.0)  # the others, if they end, too
                return f"the command on a node exited with code {code}"
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


MODULE = "mbench.engine.ray"
ASK_SECONDS = 60.0


@dataclass(frozen=True)
class Ray:
    """Ray's driver, in a separate process: Ray starts threads in it, and tasks end with it."""

    accelerators: int
    name = "Ray's driver"

    def command(self, nodes: int, agent: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        return [sys.executable, "-m", MODULE, "keep", str(nodes), str(self.accelerators),
                ",".join(named), *agent]  # fmt: skip


def detect() -> bool:
    return bool(os.environ.get("RAY_ADDRESS"))


def open(*, nodes: int, hosts: str, accelerators: int) -> Cluster:  # noqa: A001
    """A launcher for `nodes` nodes; raises UsageError if Ray has fewer or is not installed."""
    if find_spec("ray") is None:
        raise UsageError(f"--launcher ray: {lacking('Ray', extra='ray')}", option="--launcher")
    if not os.environ.get("RAY_ADDRESS"):
        raise UsageError(
            "--launcher ray needs RAY_ADDRESS, the address of the cluster's head: host:6379",
            option="--launcher",
        )
    words = [sys.executable, "-m", MODULE, "count", str(accelerators)]
    try:
        asked = ask(words, seconds=ASK_SECONDS)
    except NoAnswer as error:
        raise UsageError(f"Ray at RAY_ADDRESS={os.environ['RAY_ADDRESS']}: {error}",
                         option="--launcher") from None  # fmt: skip
    there = asked.output.strip().rpartition("\n")[2]
    if asked.code or not there.isdecimal():
        said = gist(asked.errors.strip().rpartition("\n")[2])
        raise UsageError(
            f"Ray at RAY_ADDRESS={os.environ['RAY_ADDRESS']} does not answer: {said}",
            option="--launcher",
        )
    if int(there) < nodes:
        having = f" with {accelerators} GPUs" if accelerators else ""
        raise UsageError(
            f"this Ray cluster has {there} nodes{having}, but {nodes} are requested",
            option="--scale",
        )
    return Cluster(Ray(accelerators), nodes)
