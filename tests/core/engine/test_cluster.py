"""`Cluster.do` runs a command on each node, without agents."""

from __future__ import annotations

import sys

import pytest
from hosts import Here

from mbench.engine.cluster import Cluster
from mbench.errors import MbenchError

SAYS = "import os; print('built on', os.environ['MBENCH_NODE'])"
FAILS = "import os, sys; sys.exit('no space' if os.environ['MBENCH_NODE'] == '1' else 0)"


@pytest.fixture
def cluster():
    cluster = Cluster(Here(), 2)
    yield cluster
    cluster.close()


def test_each_node_does_it_and_what_they_say_is_told(cluster):
    said = cluster.do([sys.executable, "-c", SAYS])
    assert sorted(said.splitlines()) == ["built on 0", "built on 1"]


def test_where_one_fails_that_is_told(cluster):
    with pytest.raises(MbenchError, match="spread exited with code 1, saying: no space"):
        cluster.do([sys.executable, "-c", FAILS])


def test_an_engine_that_is_not_there(cluster, monkeypatch):
    monkeypatch.setattr(cluster.agents.engine, "command", lambda *_: ["/no/such/engine"])
    with pytest.raises(
        MbenchError, match="spread does not start: /no/such/engine: No such file or directory"
    ):
        cluster.do([sys.executable, "-c", SAYS])
