"""The messages between the parent and the agents of nodes: JSON lines, checked on reading."""

from __future__ import annotations

from dataclasses import dataclass, field

from mbench.contract import wire
from mbench.contract.rank import RankInfo
from mbench.machine.absence import Absence
from mbench.machine.pace import Paces
from mbench.machine.records import Machine, Sample
from mbench.machine.standing import Move

__all__ = [
    "Accepted",
    "Alive",
    "Answer",
    "Away",
    "Challenge",
    "Done",
    "Ended",
    "Goodbye",
    "Here",
    "Launch",
    "Launched",
    "Refused",
    "Sampled",
    "Signal",
    "Time",
    "Unwatch",
    "Watch",
    "Welcome",
    "decode",
]


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """The parent's first message to anyone who connects."""

    nonce: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Proves to the parent that the sender knows the token. `key` is that of the worker that the
    connection will belong to, or 0 for the agent itself.
    """

    nonce: str
    key: int
    proof: str


@dataclass(frozen=True, kw_only=True)
class Welcome:
    """Proves that the parent knows the token, too."""

    proof: str


@dataclass(frozen=True, kw_only=True)
class Here:
    """An agent's description of its node. `digest` is that of mbench's own files.

    `number` is the engine's number for the node, if it has one; `address` is the one from which it
    reached the parent.
    """

    version: str
    digest: str
    host: str
    address: str
    machine: Machine
    free_bytes: int
    pid: int
    number: int | None = None
    boot: str = ""
    """The kernel's unique id of the machine's last boot; empty if it has none."""


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """The agent is accepted."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The agent is refused."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Start a worker under the key `key`; answered by Launched or Ended.

    `modules` are those that the worker must import, each with a digest of its files.
    """

    key: int
    python: str
    modules: dict[str, str]
    variables: dict[str, str]
    device: str
    steady_threads: int
    rank_info: RankInfo


@dataclass(frozen=True, kw_only=True)
class Launched:
    """The worker has started; `port` of the node is free for its framework to listen on."""

    key: int
    pid: int
    port: int


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A worker ended on its own, or did not start; `said` is the end of its log."""

    key: int
    outcome: str
    reason: str
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Signal:
    """`what` to do to a worker: stop, resume or kill; answered by Done with the same number."""

    number: int
    key: int
    what: str


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Begin to sample the machine and these workers on it; answered by Done."""

    number: int
    keys: list[int]


@dataclass(frozen=True, kw_only=True)
class Unwatch:
    """Stop sampling; answered by Sampled for each sample, and Done."""

    number: int


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """One sample of the machine, where workers may use `cores` and have `threads` threads. The
    last sample has the `moves` of these threads.
    """

    number: int
    cores: int
    sample: Sample
    threads: int = 0
    moves: list[Move] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Time:
    """Time a core and memory while no worker is running; answered by Done with their paces."""

    number: int


@dataclass(frozen=True, kw_only=True)
class Done:
    number: int
    said: str = ""
    paces: Paces | None = None


@dataclass(frozen=True, kw_only=True)
class Alive:
    """An agent's heartbeat, each second."""

    free_bytes: int


@dataclass(frozen=True, kw_only=True)
class Away:
    """The agent or a worker on its node could not run for a while. It is sent before the next
    request is answered.
    """

    absence: Absence


@dataclass(frozen=True, kw_only=True)
class Goodbye:
    """End all workers and exit."""


KINDS = {
    kind.__name__: kind
    for kind in (
        Challenge, Answer, Welcome, Here, Accepted, Refused, Launch, Launched, Ended, Signal, Watch,
        Unwatch, Sampled, Time, Done, Alive, Away, Goodbye,
    )
}  # fmt: skip


def decode(line: bytes) -> object:
    """The message in one line; raises Malformed. Unknown fields, as from another version, are
    ignored.
    """
    return wire.decode(line, KINDS, lenient=True)
