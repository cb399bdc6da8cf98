"""What every worker is asked, wherever its processes run."""

from __future__ import annotations

import pytest
from cases import make_case

from mbench.contract import wire
from mbench.engine.worker import Worker


class Asked(Worker):
    """Notes what it is asked."""

    def ask(self, message, answer, *, timeout=None):
        self.message = message

    ask_all = start = run = stop = resume = close = kill = None


@pytest.mark.parametrize(("asked", "told"), [(None, 1e-5), (0.5, 0.5), (0.0, 0.0)])
def test_a_timed_case_names_its_learning_rate_as_a_proof_does(asked, told):
    worker = Asked()
    worker.prepare(make_case(learning_rate=asked))
    assert worker.message == wire.Prepare(case=make_case(learning_rate=told))
