"""Each verdict on made-up fleets, what it needs, and what it must not depend on."""

from __future__ import annotations

import json
import math
import random as shuffling
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fleets import fleet_of, name_of, node_of, run_of, with_node

from mbench.fleet.diagnose import diagnose
from mbench.fleet.diagnosis import CODES, VERDICTS
from mbench.fleet.nodes import CASE_FAILED, IMPOSSIBLE, MISSING, Fleet, Node, NodeRun, Reading
from mbench.fleet.report import FORMATS, answer


def codes(found):
    return sorted(one.code for one in found.findings)


def verdict(found, node):
    return next(one.verdict for one in found.nodes if one.name == node)


def test_a_healthy_fleet_is_normal_and_says_what_would_have_shown():
    found = diagnose(fleet_of())
    assert found.counts == {"normal": 12}
    assert (codes(found), found.exit_code) == ([], 0)
    assert answer(found).startswith("all 12 nodes are normal; a node ")
    assert 0.02 < found.metrics[0].finds < 0.1


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_slow_node_is_suspected_until_a_second_run_confirms_it(better):
    once = diagnose(fleet_of(odd={3: {"slow": 0.08}}, better=better))
    assert (verdict(once, "n3"), codes(once), once.exit_code) == ("suspect", ["F302"], 1)
    assert once.findings[0].command == "mbench run x"
    twice = diagnose(fleet_of(odd={3: {"slow": 0.08, "runs": 2}}, better=better))
    assert twice.counts == {"slow": 1, "normal": 11}
    assert answer(twice).startswith("1 of 12 nodes is slow: n3, ")
    cell = twice.findings[0].cells[0]
    assert cell.low < 0.08 < cell.high
    assert len(cell.runs) == 2


def test_a_node_that_is_slow_at_times_is_never_passed_by_its_first_success():
    fleet = fleet_of(odd={3: {"slow": 0.08}})
    again = run_of(np.random.default_rng(9), "again 2026-01-02")
    nodes = [replace(one, runs=(*one.runs, again)) if one.name == "n3" else one
             for one in fleet.nodes]  # fmt: skip
    found = diagnose(Fleet.of(nodes))
    assert (verdict(found, "n3"), codes(found)) == ("cannot tell", ["F303"])
    assert found.exit_code == 1


def test_what_is_within_the_margin_is_of_no_interest():
    odd = {3: {"slow": 0.015, "runs": 2}}
    given = {"noise": 0.0005, "count": 12, "odd": odd}
    assert diagnose(fleet_of(**given)).exit_code == 0
    assert diagnose(fleet_of(**given), margin=0.005).named("slow") == ["n3"]


def test_metrics_that_move_together_are_one_finding():
    found = diagnose(fleet_of(16, metrics=10, odd={3: {"slow": 0.08, "runs": 2}}))
    (one,) = found.findings
    assert one.nodes == ["n3"]
    assert len(one.cells) == 11, "all metrics, and their mean"
    assert one.cells[0].case == "all metrics together"
    assert "10 of 10 metrics by themselves" in one.text


def test_a_node_that_is_slow_in_one_metric_is_found_by_that():
    found = diagnose(fleet_of(32, metrics=5, odd={3: {"slow": {2: 0.1}, "runs": 2}}))
    assert found.named("slow") == ["n3"]
    assert found.findings[0].cells[0].case == "case 2"


def test_several_slow_nodes_do_not_hide_each_other():
    odd = {at: {"slow": 0.1, "runs": 2} for at in (1, 4, 7)}
    assert diagnose(fleet_of(16, odd=odd)).named("slow") == ["n1", "n4", "n7"]


def test_half_a_fleet_is_never_called_slow():
    found = diagnose(fleet_of(16, odd={at: {"slow": 0.1, "runs": 2} for at in range(8)}))
    assert codes(found) == ["F403"]
    assert found.counts == {"two groups": 16}
    assert "8 nodes about 10.0 % below the other 8" in found.findings[0].text.replace("9.9", "10.0")
    assert found.exit_code == 1


def test_a_faster_node_is_a_note_and_no_reason_to_fail():
    found = diagnose(fleet_of(odd={3: {"slow": -0.2}}))
    assert (codes(found), found.exit_code, verdict(found, "n3")) == (["F305"], 0, "normal")


def test_a_node_whose_own_processes_scatter_cannot_be_judged():
    fleet = fleet_of()
    wild = Reading(values=(500.0, 1500.0, 900.0, 1800.0, 650.0), unit="images/s")
    found = diagnose(with_node(fleet, 3, readings={name_of(): wild}))
    assert (verdict(found, "n3"), codes(found), found.exit_code) == ("cannot tell", ["F304"], 1)


@pytest.mark.parametrize(
    ("reading", "verdict_", "code"),
    [
        (Reading(problem=CASE_FAILED, reason="crashed: gone"), "failed", "F201"),
        (Reading(problem=IMPOSSIBLE, reason="the value is nan"), "missing", "F204"),
        (Reading(problem=MISSING, reason="no value"), "missing", "F203"),
        (None, "missing", "F203"),
    ],
)
def test_what_is_not_measured_is_never_accepted(reading, verdict_, code):
    readings = {name_of(): reading} if reading else {}
    found = diagnose(with_node(fleet_of(), 3, readings=readings))
    assert (verdict(found, "n3"), codes(found), found.exit_code) == (verdict_, [code], 1)
    node = found.nodes[3]
    assert (node.judged, node.not_judged) == (0, 1)


def test_what_no_node_has_is_to_be_measured_on_all():
    """If no node has a metric, none can be told to measure what the others measured."""
    lacking = Reading(problem=MISSING, reason="no value")
    fleet = fleet_of(6)
    for at in range(6):
        fleet = with_node(fleet, at, readings={name_of(): lacking})
    found = diagnose(Fleet.of([*fleet.nodes, Node(name="n90")]))
    assert {one.action for one in found.findings if one.code == "F203"} == {
        "measure it on all nodes: none has it"
    }
    (one,) = diagnose(with_node(fleet_of(), 3, readings={name_of(): lacking})).findings
    assert one.action == "measure on the node what the others measured"


def test_a_node_without_runs_is_missing_and_one_that_cannot_be_read_has_failed():
    fleet = fleet_of()
    empty, broken = Node(name="n90"), Node(name="n91", runs=(NodeRun(run="x", problem="cut"),))
    found = diagnose(Fleet.of([*fleet.nodes, empty, broken]))
    assert (verdict(found, "n90"), verdict(found, "n91")) == ("missing", "failed")
    assert codes(found) == ["F202", "F203"]


def test_other_software_and_other_machines_are_not_compared():
    fleet = fleet_of(software={"torch": "2.1"}, machine={"processor": "A"}, memory_bytes=2**34)
    assert diagnose(fleet).exit_code == 0
    other = diagnose(with_node(fleet, 3, software={"torch": "2.2"}))
    assert (verdict(other, "n3"), codes(other)) == ("different software", ["F401"])
    assert other.findings[0].text == "n3: torch 2.2, the others 2.1"
    other = diagnose(with_node(fleet, 3, machine={"processor": "B"}))
    assert (verdict(other, "n3"), codes(other)) == ("different machine", ["F402"])
    other = diagnose(with_node(fleet, 3, memory_bytes=2**33))
    assert (verdict(other, "n3"), codes(other)) == ("different machine", ["F402"])


def test_enough_nodes_with_other_software_are_judged_among_themselves():
    odd = {at: {"software": {"torch": "2.2"}, "slow": 0.2} for at in range(8)}
    fleet = fleet_of(20, odd=odd, software={"torch": "2.1"})
    found = diagnose(fleet)
    assert codes(found) == ["F401"]
    assert all(node.judged for node in found.nodes)


def test_threads_of_a_slow_node_are_told():
    fleet = fleet_of(threads={"case 0": 8})
    slow = run_of(np.random.default_rng(9), "slow 2026-01-01", slow=0.3, threads={"case 0": 4})
    nodes = [replace(one, runs=(slow,)) if one.name == "n3" else one for one in fleet.nodes]
    found = diagnose(Fleet.of(nodes))
    assert codes(found) == ["F302", "F404"]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_too_few_nodes_are_not_judged(count):
    found = diagnose(fleet_of(count))
    assert (codes(found), found.exit_code) == (["F502"], 3)
    assert found.counts == {"cannot tell": count}
    assert answer(found).startswith("no node could be judged: ")


def test_single_values_are_judged_by_the_spread_of_the_fleet():
    found = diagnose(fleet_of(32, processes=1, odd={3: {"slow": 0.1, "runs": 2}}))
    assert found.named("slow") == ["n3"]


def test_shuffled_input_gives_the_same_output_byte_for_byte():
    fleet = fleet_of(9, metrics=3, odd={3: {"slow": 0.1}, 5: {"slow": 0.2, "runs": 2}})
    for seed in range(3):
        nodes = list(fleet.nodes)
        shuffling.Random(seed).shuffle(nodes)
        mixed = [replace(node, runs=tuple(map(reversed_run, node.runs))) for node in nodes]
        for name, render in FORMATS.items():
            if name != "table":
                assert render(diagnose(Fleet.of(mixed))) == render(diagnose(fleet))


def reversed_run(run):
    return replace(run, readings=dict(reversed(run.readings.items())))


def test_names_of_nodes_are_escaped_everywhere():
    name = "<script>alert(1)</script>\x1b[2J\n|`"
    bad = node_of(np.random.default_rng(2), name, slow=0.2, runs=2)
    found = diagnose(Fleet.of([*fleet_of().nodes, bad]))
    assert found.named("slow") == [name]
    for kind, render in FORMATS.items():
        if kind == "table":
            continue
        text = render(found)
        assert "\x1b" not in text
        if kind != "json":
            assert "<script" not in text
    assert "\x1b" not in answer(found)
    assert "\n" not in answer(found)


def test_the_document_is_plain_json_with_every_number_finite():
    found = diagnose(fleet_of(odd={3: {"slow": 0.1, "runs": 2}}))
    document = json.loads(FORMATS["json"](found), parse_constant=pytest.fail)
    assert document["exit_code"] == 1
    assert document["counts"] == {"slow": 1, "normal": 11}
    assert document["findings"][0]["code"] == "F301"


def test_three_hundred_nodes_take_work_in_proportion():
    """Measuring the growth would take minutes; this only checks that a large fleet is judged."""
    found = diagnose(fleet_of(300, metrics=4, odd={7: {"slow": 0.1, "runs": 2}}))
    assert found.named("slow") == ["n7"]


def test_every_code_has_a_verdict_that_is_known():
    assert {code.verdict for code in CODES.values()} <= {*VERDICTS, ""}
    assert all(name == code.code for name, code in CODES.items())


@pytest.mark.parametrize("kind", ["normal", "heavy"])
def test_healthy_fleets_raise_no_more_alarms_than_asked_for(kind):
    """5 % of 200 fleets are 10; by chance, 22 or more happen less than once in a thousand times."""
    random = np.random.default_rng(5)
    alarms = 0
    for _ in range(200):
        draw = random.standard_t(3, 16) if kind == "heavy" else random.standard_normal(16)
        readings = [Reading(values=(1000 * math.exp(0.02 * float(one)),)) for one in draw]
        nodes = [Node(name=f"n{at}", runs=(NodeRun(run=f"r{at}", readings={name_of(): one}),))
                 for at, one in enumerate(readings)]  # fmt: skip
        alarms += diagnose(Fleet.of(nodes)).exit_code == 1
    assert alarms < 22


def test_the_page_has_every_code():
    page = (Path(__file__).parents[3] / "docs" / "fleet.md").read_text()
    for code in CODES.values():
        row = f"| {code.code} | {code.severity} | {code.verdict or '-'} | {code.says} |"
        assert row in page


def test_nodes_that_differ_wildly_are_not_called_normal():
    found = diagnose(fleet_of(8, odd={at: {"slow": 1 - 3.0**-at} for at in range(8)}))
    assert "normal" not in found.counts
    assert found.exit_code in (1, 3)


@pytest.mark.parametrize(
    ("name", "folder"), [("n10", "/f/n10"), ("a; touch x", "/f/'a; touch x'"), ("$", "/f/'$'")]
)
def test_a_node_without_a_run_is_measured_into_its_own_folder(name, folder):
    fleet = fleet_of(6)
    own = [
        replace(
            node, runs=(replace(node.runs[0], command=f"mbench run n1 --results /f/{node.name}"),)
        )
        for node in fleet.nodes
    ]
    found = diagnose(Fleet.of([*own, Node(name=name)])).findings
    (missing,) = [one for one in found if one.code == "F203"]
    assert missing.command == f"mbench run n1 --results {folder}"
