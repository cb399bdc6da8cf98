"""Finds the cause in what pip and virtualenv report: a package is not blamed for what its index,
the network or the disk refused.
"""

from __future__ import annotations

import os
import re

from mbench.errors import why

__all__ = ["NOT_THERE", "UNREACHED", "cause_of", "refusal"]

UNREACHED = "the package index could not be reached"
NOT_THERE = "(404 Not Found)"
SKIPPED = re.compile(r"Could not fetch URL (\S+): (.*) - skipping")
STATUS = re.compile(r"(\d{3}) (?:Client|Server) Error: (.*?) for url")
TOO_MANY = re.compile(r"too many (\d{3}) error responses")
SYSTEM = re.compile(r"\[Errno (\d+)\]")
LONGEST = 200
KEYS = "check the user name and password in its address, in pip's configuration or in ~/.netrc"


def refusal(log: str) -> str:
    """Why the indexes returned nothing, from pip's detailed log; empty if the log does not say.

    If several indexes were asked, one without the package is named only if no other failed.
    """
    found = SKIPPED.findall(log)
    told = [words(*match) for match in found]
    return next(filter(None, told), "") or "; ".join(dict.fromkeys(lacks(at) for at, _ in found))


def lacks(address: str) -> str:
    """The message about an address that does not exist; pip cannot tell package from index."""
    index, _, package = address.rstrip("/").rpartition("/")
    return f"the package index {index} has no {package} {NOT_THERE}: check its address and the name"


def words(address: str, said: str) -> str:
    """The message about an address, which ends in the package's name; empty for status 404."""
    index = address.rstrip("/").rpartition("/")[0]
    if match := STATUS.search(said):
        number, reason = match.groups()
    elif match := TOO_MANY.search(said):
        number, reason = match[1], "server error"
    else:
        proxy = "through the proxy " if said.startswith("proxy") else ""
        numbers = SYSTEM.findall(said)
        cause = os.strerror(int(numbers[-1])) if numbers else said[-LONGEST:]
        return f"{UNREACHED} {proxy}({index}): {cause}"
    if number == "404":
        return ""
    if number in ("401", "403", "407"):
        return f"the package index {index} refused access ({number} {reason}): {KEYS}"
    return f"the package index {index} reported an error ({number} {reason}): try again later"


def cause_of(text: str) -> str:
    """The cause of an error, from text that may be another program's traceback: the system error if
    it names one, otherwise the last line.
    """
    if numbers := SYSTEM.findall(text):
        number = int(numbers[-1])
        return why(OSError(number, os.strerror(number)))
    lines = text.strip().splitlines()
    return lines[-1].strip()[:LONGEST] if lines else ""
