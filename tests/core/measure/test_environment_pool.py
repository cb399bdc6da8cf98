"""Environments are built only where something is left to compare."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mbench.engine.outcome import CaseEnded
from mbench.errors import EnvironmentUnavailable
from mbench.measure import environment_pool
from mbench.spec.arm import parse


@pytest.fixture
def asked(monkeypatch):
    """Maps each framework looked for to whether it may be built; "lost" is never found."""
    asked = {}

    def find(spec, adapter, *, provision, why_not, **_):
        asked[spec.text] = provision
        if spec.name.startswith("lost") or not provision:
            raise EnvironmentUnavailable(f"{spec.text}: {why_not}", outcome="failed")
        return spec.text

    monkeypatch.setattr(environment_pool, "find", find)
    return asked


def environments_of(*comparisons, provision=True):
    made = [
        SimpleNamespace(
            entries=[SimpleNamespace(spec=parse(text), adapter=None, label=text) for text in texts]
        )
        for texts in comparisons
    ]
    found = environment_pool.EnvironmentPool(
        comparisons=made, accelerator="cpu", provision=provision, listener=None
    )
    for one in made:
        for entry in one.entries:
            try:
                found.environment_for(entry)
            except CaseEnded as end:
                entry.end = end
    return [[getattr(entry, "end", None) for entry in one.entries] for one in made]


@pytest.mark.parametrize(
    ("comparisons", "built"),
    [
        ([["lost", "tiny"]], False),
        ([["lost", "lost==1", "tiny"]], False),
        ([["lost", "tiny", "flaky"]], True),
        ([["lost", "tiny"], ["lost", "tiny"]], False),
        ([["lost", "tiny"], ["tiny"]], True),
        ([["lost", "tiny", "tiny"]], True),
        ([["tiny"]], True),
        ([["tiny", "lost"]], True),
    ],
)
def test_nothing_is_built_that_is_left_alone(asked, comparisons, built):
    ends = environments_of(*comparisons)
    assert asked["tiny"] is built
    last = ends[0][comparisons[0].index("tiny")]
    assert (last is None) is built
    if not built:
        assert "there is no other framework left to compare it with" in last.reason


def test_without_provision_the_reason_is_that(asked):
    ((end,),) = environments_of(["tiny"], provision=False)
    assert "--no-provision" in end.reason
