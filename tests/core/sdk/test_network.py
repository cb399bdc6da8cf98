"""The network interface that has an address."""

from __future__ import annotations

import socket
import sys

import pytest

from mbench.sdk.network import interface_of, split


@pytest.mark.skipif(sys.platform != "linux", reason="interfaces are told by Linux's ioctl")
def test_the_loopback_has_its_address():
    assert interface_of("127.0.0.1") == "lo"
    assert interface_of("localhost") == "lo"


def test_an_address_that_no_interface_has():
    assert interface_of("192.0.2.1") == ""  # of TEST-NET-1, RFC 5737


def test_a_name_that_there_is_not():
    with pytest.raises(socket.gaierror):
        interface_of("no-such-host.invalid")


def test_a_peer_is_an_address_and_a_port():
    assert split("10.0.0.2:5000") == ("10.0.0.2", 5000)
