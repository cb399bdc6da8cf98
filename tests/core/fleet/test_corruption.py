"""Results that are not identical bit for bit, although their nodes are alike."""

from __future__ import annotations

from dataclasses import replace

from fleets import fleet_of, printed, with_node

from mbench.fleet.corruption import corruption
from mbench.fleet.diagnose import diagnose

RIGHT = (1.25,)
WRONG = (1.2500000000000002,)


def healthy(count=6, **more):
    return fleet_of(count, computed=printed(RIGHT, RIGHT), **more)


def codes(fleet):
    return [(one.code, one.nodes) for one in corruption(fleet)]


def test_equal_results_say_nothing():
    assert codes(healthy()) == []


def test_a_node_that_differs_by_one_bit_is_named():
    fleet = with_node(healthy(), 3, computed=printed(WRONG, WRONG))
    (found,) = corruption(fleet)
    assert (found.code, found.nodes) == ("F102", ["n3"])
    assert "is 1.2500000000000002, but 1.25 on the other nodes" in found.text
    diagnosed = diagnose(fleet)
    assert diagnosed.named("wrong") == ["n3"]
    assert diagnosed.exit_code == 1


def test_one_process_of_a_node_is_enough():
    (found,) = corruption(with_node(healthy(), 3, computed=printed(RIGHT, WRONG)))
    assert (found.code, found.nodes) == ("F102", ["n3"])
    assert "1.2500000000000002 in some of its processes, but 1.25 on the other" in found.text


def test_nodes_that_may_differ_are_not_compared():
    for changes in ({"software": {"torch": "2"}}, {"machine": {"processor": "B"}},
                    {"threads": {"case 0": 3}}):  # fmt: skip
        fleet = with_node(healthy(), 3, computed=printed(WRONG), **changes)
        assert codes(fleet) == []


def test_without_a_majority_nobody_is_accused():
    fleet = with_node(healthy(2), 1, computed=printed(WRONG))
    assert codes(fleet) == [("F103", ["n0", "n1"])]


def test_results_that_differ_on_most_nodes_are_not_reproducible():
    fleet = fleet_of(6, computed=printed((1.0,), (2.0,)))
    assert codes(fleet) == [("F503", [])]
    assert diagnose(fleet).exit_code == 0


def test_the_reference_says_who_is_wrong_whatever_the_others_say():
    fleet = with_node(healthy(2), 1, computed=printed(WRONG, wrong="loss off by 0.1"))
    assert codes(fleet) == [("F101", ["n1"])]


def test_a_framework_that_fails_its_proof_everywhere_accuses_no_node():
    for runs in (1, 3):
        fleet = fleet_of(6, runs=runs, computed=printed(RIGHT, wrong="loss off by 0.1"))
        assert codes(fleet) == [], runs


def test_all_runs_of_a_node_count():
    fleet = healthy()
    node = fleet.nodes[3]
    later = replace(node.runs[0], run="again", computed=printed(WRONG))
    nodes = [replace(node, runs=(*node.runs, later)) if one is node else one for one in fleet.nodes]
    assert codes(type(fleet).of(nodes)) == [("F102", ["n3"])]
