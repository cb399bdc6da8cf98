"""A channel's framing and time limits, without a process at the other end."""

from __future__ import annotations

import fcntl
import os
import resource
import threading
import time

import pytest

from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.engine import transport
from mbench.engine.transport import Channel

LOSS = wire.encode(wire.Seen(step=1, batch=0, loss=0.5))


class Ends:
    """A channel, and the ends of its pipes that a worker would have."""

    def __init__(self, *, lowest=0, ends=None):
        self.reads, sends = os.pipe()
        receives, self.writes = os.pipe()
        if lowest:
            for old in (low := [sends, receives]):
                low[low.index(old)] = fcntl.fcntl(old, fcntl.F_DUPFD, lowest)
                os.close(old)
            sends, receives = low
        self.channel = Channel(sends=sends, receives=receives, ends=ends)


@pytest.fixture
def make():
    made = []

    def make(**named):
        made.append(Ends(**named))
        return made[-1]

    yield make
    for ends in made:
        ends.channel.close()
        for descriptor in (ends.reads, ends.writes):
            os.close(descriptor)


def test_messages_are_lines_however_they_are_cut(make):
    ends = make()
    os.write(ends.writes, LOSS + LOSS[:7])
    assert ends.channel.receive(wire.Seen, seconds=9).loss == 0.5
    os.write(ends.writes, LOSS[7:])
    assert ends.channel.receive(wire.Seen, seconds=9).loss == 0.5
    ends.channel.send(wire.Look(), seconds=9)
    assert os.read(ends.reads, 99) == wire.encode(wire.Look())


def test_a_failure_may_stand_in_place_of_any_answer(make):
    ends = make()
    failure = wire.Failure(outcome="oom", reason="none left")
    os.write(ends.writes, wire.encode(failure))
    assert ends.channel.receive(wire.Seen, seconds=9) == failure


@pytest.mark.parametrize(
    ("said", "what"),
    [(b"hello\n", "not JSON"), (b'{"message":"Closed"}\n', "Closed instead of Seen")],
)
def test_what_is_no_answer_is_named(make, said, what):
    ends = make()
    os.write(ends.writes, said)
    with pytest.raises(Malformed, match=what):
        ends.channel.receive(wire.Seen, seconds=9)


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_silence_has_its_limit(make, seconds):
    ends = make()
    os.write(ends.writes, LOSS[:7])
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        ends.channel.receive(wire.Seen, seconds=seconds)
    assert time.monotonic() - begin >= seconds


def test_who_does_not_listen_has_a_limit_too(make):
    ends = make()
    with pytest.raises(TimeoutError):
        ends.channel.send(wire.Failure(outcome="oom", reason="x" * 2**20), seconds=0.05)


def test_a_limit_may_be_longer_than_the_system_can_wait_at_once(make):
    ends = make()
    os.write(ends.writes, LOSS)
    assert ends.channel.receive(wire.Seen, seconds=1e9).loss == 0.5


def test_what_was_said_before_the_end_is_heard(make):
    end, still_open = os.pipe()
    ends = make(ends=end)
    os.write(ends.writes, LOSS)
    os.close(still_open)  # readable from now on, as a process's descriptor is once it has ended
    assert ends.channel.receive(wire.Seen, seconds=9).loss == 0.5
    with pytest.raises(EOFError):
        ends.channel.receive(wire.Seen, seconds=9)


def test_descriptors_may_have_large_numbers(make):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        ends = make(lowest=2000)
        os.write(ends.writes, LOSS)
        assert ends.channel.receive(wire.Seen, seconds=9).loss == 0.5
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_closing_twice_is_closing(make):
    ends = make()
    assert not ends.channel.closed
    ends.channel.close()
    ends.channel.close()
    assert ends.channel.closed


def test_what_was_answered_in_time_counts_however_late_it_is_read(make):
    """mbench itself may have been stopped while the answer arrived."""
    ends = make()
    os.write(ends.writes, LOSS)
    assert ends.channel.receive(wire.Seen, seconds=0).loss == 0.5


def test_an_answer_in_drops_has_the_same_time_limit(make):
    ends = make()
    done = threading.Event()

    def drip():
        while not done.wait(0.01):
            os.write(ends.writes, b"1")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        with pytest.raises(TimeoutError):
            ends.channel.receive(wire.Seen, seconds=0.2)
    finally:
        done.set()
        thread.join()


def test_who_waits_long_looks_around(make, monkeypatch):
    monkeypatch.setattr(transport, "LOOK_SECONDS", 0.01)
    ends, looks = make(), []
    ends.channel._meanwhile = lambda: looks.append(1) or os.write(ends.writes, LOSS)
    assert ends.channel.receive(wire.Seen, seconds=9).loss == 0.5
    assert looks == [1]


def test_what_was_said_unasked_is_no_answer_to_what_is_asked(make):
    ends = make()
    os.write(ends.writes, LOSS + LOSS)
    assert ends.channel.receive(wire.Seen, seconds=9).loss == 0.5
    with pytest.raises(Malformed, match="unrequested: "):
        ends.channel.send(wire.Look(), seconds=9)
