"""Which network interface has an address: frameworks need its name to exchange gradients."""

from __future__ import annotations

import fcntl
import socket
import struct
import sys

__all__ = ["interface_of", "split"]

SIOCGIFADDR = 0x8915  # of <linux/sockios.h>
NAME_BYTES, REQUEST_BYTES = 15, 256


def split(peer: str) -> tuple[str, int]:
    """Address and port of "address:port"."""
    address, _, port = peer.rpartition(":")
    return address, int(port)


def interface_of(address: str) -> str:
    """The interface of this machine with that IPv4 address; empty if none has it, or if it is
    unknown on this system. By default, frameworks look up the machine's name, which many systems
    map to 127.0.1.1.
    """
    if sys.platform != "linux":
        return ""
    wanted = socket.inet_aton(socket.gethostbyname(address))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            request = struct.pack(f"{REQUEST_BYTES}s", name.encode()[:NAME_BYTES])
            try:
                answer = fcntl.ioctl(asked.fileno(), SIOCGIFADDR, request)
            except OSError:  # it has no such address
                continue
            if answer[20:24] == wanted:
                return name
    return ""
