"""The slowdowns that benchmarks/planted.py plants, and the rows of its table."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import planted

    return planted


def difference(value, half):
    return {"value": value, "low": value - half, "high": value + half, "shown": abs(value) > half}


def document(*stages, rest=(0.1, 0.5)):
    rows = [
        {"stage": f"layer{at}", "difference_ms": difference(*one)}
        for at, one in enumerate(stages, start=1)
    ]
    return {"differences": [{
        "difference_ms": difference(4.0, 0.5), "stages": rows, "sets": 5,
        "rest": {"difference_ms": difference(*rest)}, "unattributed_ms": difference(0.1, 0.4),
    }]}  # fmt: skip


@pytest.mark.parametrize(
    ("stages", "found", "elsewhere"),
    [
        (((0.1, 0.2), (3.9, 0.4)), "yes", "nowhere"),
        (((0.1, 0.2), (3.9, 4.4)), "no", "nowhere"),
        (((0.5, 0.2), (-3.9, 0.4)), "no", "layer1 0.50 (0.30 .. 0.70)"),
    ],
)
def test_a_plant_is_found_where_its_own_stage_leaves_0_out(
    planted, monkeypatch, stages, found, elsewhere
):
    asked = []

    def explained(arms, more):
        asked.extend(arms)
        return document(*stages), 90.0

    monkeypatch.setattr(planted, "explained", explained)
    row = planted.plant("torch@/a/python", "copy-2-80", [])
    assert asked == ["torch@/a/python", "planted-torch@/a/python:PLANT=copy-2-80"]
    assert (row["found"], row["elsewhere"], row["minutes"]) == (found, elsewhere, "1.5")


def test_ten_plants_are_in_all_stages_of_two_frameworks(planted, monkeypatch):
    from plants.asked import asked

    found = []
    for _, text in planted.PLANTS:
        monkeypatch.setenv("PLANT", text)
        found.append(asked())
    assert len(found) == 10
    assert {one.kind for one in found} == {"atan", "copy", "layout", "sync", "sleep"}
    assert {one.stage for one in found} == {1, 2, 3, 4}
    assert found[0].is_in("layer3.0")
    assert not any(found[0].is_in(name) for name in ("layer3", "layer3.0.conv1", "layer2.0"))
    monkeypatch.delenv("PLANT")
    assert asked() is None
