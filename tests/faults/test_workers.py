"""Workers that end, hang, lie or flood: the case ends by name, the others go on, nothing stays."""

from __future__ import annotations


def test_a_worker_that_dies_is_named_and_the_others_go_on(around):
    done = around.compare("tiny", "rogue.none", "rogue.kill")
    assert done.code == 1, done.err
    ((outcome, reason),) = done.ends.values()
    assert outcome == "crashed"
    assert "SIGKILL" in reason
