"""How an agent reaches its parent, and how both prove that they know the token."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

import mbench
from mbench.contract.reading import Malformed
from mbench.engine.agent_protocol import Answer, Challenge, Welcome
from mbench.engine.transport import Connection
from mbench.machine.absence import awake

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "PARENT",
    "TOKEN",
    "NotOurs",
    "addresses",
    "answered",
    "challenged",
    "checked",
    "dial",
    "digest",
    "join",
    "our_digest",
    "split",
]  # fmt: skip

PARENT, TOKEN = "MBENCH_PARENT", "MBENCH_TOKEN"
"""Variables that tell an agent where its parent listens, and the token."""
HANDSHAKE_SECONDS = 5.0
CONNECT_SECONDS = 3.0
AGAIN_SECONDS = 0.2
REFUSALS = 5
"""After this many refusals we give up; fewer may come from a parent that strangers flood."""
DIAL_SECONDS = 20.0


class NotOurs(Exception):
    """The other end is not what it should be; the message says what was seen."""


class HungUp(NotOurs):
    """The other end closed the connection, or did not answer, before it identified itself."""


def proof(token: str, *words: object) -> str:
    """HMAC-SHA256 of the words with the token as key, in hexadecimal."""
    said = "\n".join(map(str, words)).encode()
    return hmac.new(bytes.fromhex(token), said, hashlib.sha256).hexdigest()


def challenged(line: Connection, token: str, *, seconds: float = HANDSHAKE_SECONDS) -> int:
    """The parent's side: the key of the worker that connects, or 0 for an agent; raises NotOurs."""
    nonce = secrets.token_hex(16)
    try:
        line.send(Challenge(nonce=nonce))
        answer = line.receive(Answer, seconds=seconds)
        wanted = proof(token, "agent", nonce, answer.nonce, answer.key)
        if not hmac.compare_digest(wanted.encode(), answer.proof.encode()):
            raise NotOurs("it does not know this command's token")
        line.send(Welcome(proof=proof(token, "parent", nonce, answer.nonce)))
    except (OSError, EOFError, Malformed) as error:
        raise NotOurs(f"it is not an agent: {error}") from None
    return answer.key


def answered(line: Connection, token: str, *, key: int, seconds: float = HANDSHAKE_SECONDS) -> None:
    """The agent's side: prove that we know the token; raises NotOurs or OSError."""
    nonce, asked = secrets.token_hex(16), None
    try:
        asked = line.receive(Challenge, seconds=seconds)
        line.send(
            Answer(nonce=nonce, key=key, proof=proof(token, "agent", asked.nonce, nonce, key))
        )
        welcome = line.receive(Welcome, seconds=seconds)
    except EOFError:
        if asked is None:
            raise HungUp("the parent closed the connection at once: is it busy?") from None
        raise NotOurs("the parent closed the connection: it has a different token") from None
    except Malformed as error:
        raise NotOurs(f"the process listening there is not mbench: {error}") from None
    wanted = proof(token, "parent", asked.nonce, nonce)
    if not hmac.compare_digest(wanted.encode(), welcome.proof.encode()):
        raise NotOurs("the process listening there does not know the token")


def dial(
    endpoints: Sequence[tuple[str, int]], token: str, *, key: int = 0, seconds: float = DIAL_SECONDS
) -> Connection:
    """A connection to the parent, which listens at one of `endpoints`; raises NotOurs or OSError.

    A network may need a moment to come up, an address may belong to another machine here, and a
    parent flooded by strangers may hang up. So we try again until the time is up, or until the
    parent has refused us several times.
    """
    deadline, refusals = awake() + seconds, 0
    while True:
        seen: list[Exception] = []
        for endpoint in endpoints:
            try:
                line = Connection(socket.create_connection(endpoint, timeout=CONNECT_SECONDS))
            except OSError as error:
                seen.append(OSError(f"{join(endpoint)}: {error.strerror or error}"))
                continue
            try:
                answered(line, token, key=key)
            except (NotOurs, OSError) as error:
                line.close()
                kind = type(error) if isinstance(error, NotOurs) else OSError
                seen.append(kind(f"{join(endpoint)}: {error}"))
                continue
            return line
        final = [one for one in seen if isinstance(one, NotOurs) and not isinstance(one, HungUp)]
        refusals += bool(final)
        if awake() > deadline or refusals >= REFUSALS:
            raise next(iter(final), seen[0])
        time.sleep(AGAIN_SECONDS)


def addresses() -> list[str]:
    """Addresses at which other machines may reach this one, IPv4 first; its loopback address if
    there are none.
    """
    found: dict[socket.AddressFamily, list[str]] = {socket.AF_INET: [], socket.AF_INET6: []}
    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    for name, several in psutil.net_if_addrs().items():
        for one in several:
            if name in up and one.family in found and not local(one.address):
                found[one.family].append(one.address)
    return [*found[socket.AF_INET], *found[socket.AF_INET6]] or ["127.0.0.1"]


def local(address: str) -> bool:
    """Whether an address is of no use to another machine: loopback or link-local."""
    return address.startswith(("127.", "169.254.", "fe80:")) or address == "::1"


def join(endpoint: tuple[str, int]) -> str:
    return f"{endpoint[0]}:{endpoint[1]}"


def split(text: str) -> list[tuple[str, int]]:
    """The endpoints in "address:port,address:port"; raises ValueError for any other text."""
    pairs = [each.rpartition(":") for each in text.split(",")]
    for address, _, port in pairs:
        if not address or not port.isdecimal() or not 0 < int(port) < 2**16:
            raise ValueError(f"{PARENT}={text!r:.80} is not a list of address:port")
    return [(address, int(port)) for address, _, port in pairs]


def checked(token: str) -> str:
    """The token; raises ValueError if it cannot be one."""
    try:
        if bytes.fromhex(token):
            return token
    except ValueError:
        pass
    raise ValueError(f"{TOKEN} is not a hexadecimal number")


def digest(files: Iterable[Path]) -> str:
    """A digest of the contents of Python files, by name within their folder."""
    found = hashlib.sha256()
    for file in sorted(files):
        of_one = file.parent if file.name == "__init__.py" else file
        for each in sorted(of_one.rglob("*.py")) if of_one.is_dir() else [of_one]:
            found.update(f"{each.relative_to(of_one.parent).as_posix()}\n".encode())
            found.update(hashlib.sha256(each.read_bytes()).digest())
    return found.hexdigest()[:16]


@cache
def our_digest() -> str:
    """The digest of mbench itself."""
    return digest([Path(mbench.__file__)])
