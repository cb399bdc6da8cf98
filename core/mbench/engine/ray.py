"""The launcher "ray": keepers on the nodes of a Ray cluster, each in a bundle of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mbench.engine.cluster import Cluster
from mbench.engine.command import gist
from mbench.errors import UsageError, lacking

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Ray", "open"]

MODULE = "mbench.engine.on_ray"
ASK_SECONDS = 60.0


@dataclass(frozen=True)
class Ray:
    """A process of ours that asks Ray for the nodes: Ray's own threads stay out of mbench."""

    accelerators: int
    name = "Ray's driver"

    def command(self, nodes: int, keeper: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        return [sys.executable, "-m", MODULE, "keep", str(nodes), str(self.accelerators),
                ",".join(named), *keeper]  # fmt: skip


def open(*, nodes: int, hosts: str, accelerators: int) -> Cluster:  # noqa: A001
    """A launcher for so many nodes; raises UsageError where Ray has fewer, or is not there."""
    if find_spec("ray") is None:
        raise UsageError(f"--launcher ray: {lacking('Ray', extra='ray')}", option="--launcher")
    if not os.environ.get("RAY_ADDRESS"):
        raise UsageError(
            "--launcher ray takes RAY_ADDRESS, the address of the cluster's head: host:6379",
            option="--launcher",
        )
    words = [sys.executable, "-m", MODULE, "count", str(accelerators)]
    try:
        asked = subprocess.run(
            words, capture_output=True, text=True, timeout=ASK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"Ray at RAY_ADDRESS={os.environ['RAY_ADDRESS']} did not answer within "
            f"{ASK_SECONDS:g} s",
            option="--launcher",
        ) from None
    there = asked.stdout.strip().rpartition("\n")[2]
    if asked.returncode or not there.isdecimal():
        said = gist(asked.stderr.strip().rpartition("\n")[2])
        raise UsageError(
            f"Ray at RAY_ADDRESS={os.environ['RAY_ADDRESS']} does not answer: {said}",
            option="--launcher",
        )
    if int(there) < nodes:
        having = f" with {accelerators} GPUs" if accelerators else ""
        raise UsageError(
            f"this cluster of Ray has {there} nodes{having}, and {nodes} are asked for",
            option="--scale",
        )
    return Cluster(Ray(accelerators), nodes)
