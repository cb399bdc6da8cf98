"""Baselines are written and read, and nodes are judged by them."""

from __future__ import annotations

import json

import pytest
from fleets import fleet_of

from mbench.errors import MbenchError
from mbench.fleet.baseline import baseline_of, read_baseline, written
from mbench.fleet.diagnose import diagnose


@pytest.fixture
def kept(tmp_path):
    """The file of a healthy fleet's baseline."""
    path = tmp_path / "baseline.json"
    path.write_text(written(baseline_of(fleet_of(16, software={"torch": "2.1"}))))
    return path


def test_a_baseline_holds_values_spread_software_and_date(kept):
    body = json.loads(kept.read_text())
    (metric,) = body["metrics"]
    assert (metric["nodes"], len(metric["values"])) == (16, 16)
    assert metric["values"] == sorted(metric["values"])
    assert 0 < metric["spread"] < 0.01
    assert metric["software"] == {"torch": "2.1"}
    assert body["made"][:2] == "20"


def test_a_single_node_is_judged_by_a_baseline(kept):
    baseline = read_baseline(kept)
    healthy = diagnose(fleet_of(1, seed=7, software={"torch": "2.1"}), baseline=baseline)
    assert (healthy.counts, healthy.exit_code) == ({"normal": 1}, 0)
    slow = fleet_of(1, seed=7, software={"torch": "2.1"}, slow=0.1, runs=2)
    found = diagnose(slow, baseline=baseline)
    assert found.counts == {"slow": 1}
    assert found.findings[0].cells[0].conformal_p == 1 / 17
    assert "conformal p-values are of no use here" in found.remarks[0]


def test_a_fleet_that_is_slower_as_a_whole_accuses_no_node(kept):
    fleet = fleet_of(16, seed=7, software={"torch": "2.1"}, slow=0.1)
    found = diagnose(fleet, baseline=read_baseline(kept))
    assert [one.code for one in found.findings] == ["F501"]
    assert found.counts == {"normal": 16}
    assert found.exit_code == 1


def test_other_software_than_the_baselines_is_not_compared(kept):
    found = diagnose(fleet_of(8, software={"torch": "2.2"}), baseline=read_baseline(kept))
    assert found.counts == {"different software": 8}
    assert found.exit_code == 1


def test_too_few_nodes_make_no_baseline():
    with pytest.raises(MbenchError, match="a baseline needs at least 5 nodes"):
        baseline_of(fleet_of(4))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: "[]",
        lambda text: "{",
        lambda text: text.replace('"schema": 1', '"schema": 9'),
        lambda text: text.replace('"nodes": 16', '"nodes": 1' + 400 * "0"),
        lambda text: text.replace('"spread": ', '"spread": 1' + 400 * "0" + ", "),
        lambda text: text.replace('"spread": ', '"spread": -'),
        lambda text: text.replace('"median": ', '"median": -'),
        lambda text: text.replace('"better": "higher"', '"better": "<b>\\u001b[2J"'),
        lambda text: text.replace('"values": [', '"values": ["x",'),
        lambda text: 5000 * "[",
    ],
)
def test_what_is_not_a_baseline_is_refused_in_one_line(kept, change):
    kept.write_text(change(kept.read_text()))
    with pytest.raises(MbenchError) as error:
        read_baseline(kept)
    assert "\n" not in str(error.value)
    assert "\x1b" not in str(error.value)
