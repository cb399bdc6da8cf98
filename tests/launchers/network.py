"""Hosts on one machine: network namespaces with addresses and names of their own, on one bridge."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

PREFIX = "10.77.91"
BRIDGE = "mbbr"
PARENT = f"{PREFIX}.1"

ENTER = """#!/bin/sh
# In place of ssh: enters a host. What it is to run is one text, as for ssh.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec nsenter --net="/run/netns/$host" unshare --uts CLOCK sh -c "hostname $host; $*"
"""
AHEAD = "00000"
"""Appended to a host's number, it gives the seconds by which the host's clock is ahead: real
machines start at different times.
"""


@cache
def apart() -> bool:
    """Whether hosts can have clocks of their own here."""
    words = ("unshare", "--time", "--monotonic", "1", "true")
    return run(*words, check=False).returncode == 0


def clock(seconds: str) -> list[str]:
    """Options of unshare that give its children a clock so much ahead; none if it cannot."""
    return ["--time", "--monotonic", seconds, "--boottime", seconds] if apart() else []


def enter() -> str:
    """The text of a script that takes the place of ssh."""
    return ENTER.replace("CLOCK", " ".join(clock("${host#mbh}" + AHEAD)))


@dataclass(frozen=True)
class Host:
    name: str
    address: str

    def command(self, *words: str) -> list[str]:
        """The command that runs `words` on this host."""
        inner = 'hostname "$0"; exec "$@"'
        # Not by "ip netns exec", which mounts a /sys without control groups.
        ahead = clock(self.name.removeprefix("mbh") + AHEAD)
        return ["nsenter", f"--net=/run/netns/{self.name}", "unshare", "--uts", *ahead, "sh", "-c",
                inner, self.name, *words]  # fmt: skip

    def link(self, state: str) -> None:
        """Set its link "down" or "up"."""
        run("ip", "link", "set", f"v{self.name}", state)

    def pids(self) -> list[int]:
        """The processes that run on this host."""
        found = run("ip", "netns", "pids", self.name, check=False).stdout
        return [int(word) for word in found.split()]


def run(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, check=check, capture_output=True, text=True)


def lacking() -> str:
    """Why there can be no such hosts here; empty if there can."""
    if os.geteuid() != 0:
        return "not root, so no network namespaces"
    if not shutil.which("ip"):
        return "no ip (iproute2), so no network namespaces"
    made = run("ip", "netns", "add", "mbprobe", check=False)
    run("ip", "netns", "del", "mbprobe", check=False)
    return f"no network namespaces: {made.stderr.strip()}" if made.returncode else ""


def make(count: int) -> list[Host]:
    remove(count)
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "addr", "add", f"{PARENT}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    hosts = []
    for at in range(1, count + 1):
        host = Host(f"mbh{at}", f"{PREFIX}.{at + 1}")
        hosts.append(host)
        run("ip", "netns", "add", host.name)
        run("ip", "link", "add", f"v{host.name}", "type", "veth", "peer", "name", "eth0",
            "netns", host.name)  # fmt: skip
        run("ip", "link", "set", f"v{host.name}", "master", BRIDGE, "up")
        inside = ("ip", "-n", host.name)
        run(*inside, "addr", "add", f"{host.address}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "link", "set", "lo", "up")
    return hosts


def remove(count: int) -> None:
    for at in range(1, count + 1):
        name = f"mbh{at}"
        for word in run("ip", "netns", "pids", name, check=False).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(word), 9)
        run("ip", "netns", "del", name, check=False)
        run("ip", "link", "del", f"v{name}", check=False)
    run("ip", "link", "del", BRIDGE, check=False)
