"""The tables of benchmarks/lies.py and honest.py, and lies that begin after some honest steps."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from mbench.sdk.benchmark import Prepared

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CASE = {"framework": "tiny", "mode": "train", "precision": "fp32"}


@pytest.fixture
def table(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from liars import table

    return table


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("UNDETECTED: 1.020", "**undetected**, 1.020"),
        ("updates: change of conv1.weight off by 0.84 (gate 1e-09)", "the proof"),
        ("no verdict: a: output logits of batch 6, as timed, off by 0.13 (gate 1e-05)", "outputs"),
        ("no verdict: the first losses as timed lie apart: 6.97 and 7.14", "loss"),
        ("no verdict: a: losses of a batch, as timed, scatter 0.01 times as much", "loss"),
        ("no verdict: a: updates, by norm, after 4 timed steps off by 0.21", "updates"),
        ("no verdict: a: updates of query.weight after 16 timed steps off by 0.3", "updates"),
        ("no verdict: a: layer4 stands still: 13 of its tensors should have moved", "updates"),
        ("no verdict: a: running statistics after 4 timed steps off by 1.1", "statistics"),
        ("no verdict: a: an MFU of 7e+05 %, which is more than this machine can do", "speed"),
        ("no verdict: a: it says 0.5 s where 1 s passed", "clock"),
        ("no verdict: a: 0.9 s of work continued after synchronize", "unfinished"),
        ("no verdict: a: a step takes 0.1 s in a block, but 0.2 s on its own", "merged"),
        ("what nobody has said before", "what nobody has said before"),
    ],
)
def test_a_word_for_what_tells_a_lie(table, said, word):
    assert table.by_what(said) == word


def test_a_column_for_each_case_a_row_for_each_lie_and_its_last_word(table):
    lines = [
        {**CASE, "lie": "half", "told": "UNDETECTED: 1.900"},
        {**CASE, "lie": "slow", "told": "no verdict: a: updates, by norm, off by 0.5"},
        {**CASE, "mode": "inference", "lie": "half", "told": "output logits of batch 1"},
        {**CASE, "lie": "half", "told": "no verdict: a: loss of batch 1 off"},
    ]
    head, rule, slow, half, end = table.rows(lines)
    assert head == "| tiny | What the lie does | train, fp32 | inference, fp32 |"
    assert (rule, end) == ("|---|---|---|---|", "")
    assert half == "| `half` | after the first step, half of each batch | loss | outputs |"
    assert slow == "| `slow` | half the learning rate | updates |  |"


@pytest.fixture
def honest(monkeypatch):
    monkeypatch.delitem(sys.modules, "lies", raising=False)  # that of adapters' tests
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import honest

    return honest


def test_honest_cases_are_frameworks_with_their_compilers_and_played_processors(honest):
    found = honest.cases(["torch@/x/python", "paddle"])
    assert found[:2] == ["torch@/x/python", "torch@/x/python:inductor"]
    assert "torch@/x/python:ATEN_CPU_CAPABILITY=default" in found
    assert found[-1] == "paddle"
    assert honest.shown("torch@/x/python:inductor") == "torch:inductor"
    assert honest.shown("paddle") == "paddle"


def test_what_is_refused_is_listed_with_its_reason(honest):
    case = {**honest.Group("resnet18", "train", "fp32", "1")._asdict()}
    ok, wrong = {**case, "case": "tf", "said": ""}, {**case, "case": "jax", "said": "no verdict"}
    unable = {**case, "case": "lstm", "said": "unsupported: no LSTM"}
    assert list(honest.table([ok, unable])) == ["1 cases, 0 refused; 1 not supported"]
    head, _, row = honest.table([ok, wrong, unable])
    assert head == "2 cases, 1 refused; 1 not supported"
    assert row == "| resnet18 | train | fp32 | 1 | jax | no verdict |"


@pytest.mark.parametrize(
    ("outcome", "equal_work", "reason", "refused"),
    [
        ("ok", "not checked", "slower", False),
        ("ok", "not proven", "no verdict: tf: loss of batch 6", True),
        ("ok", "not checked", "no verdict: outputs: rounding alone may explain it", True),
        ("failed", "not checked", "", True),
    ],
)
def test_a_case_is_refused_if_its_work_is_doubted(honest, outcome, equal_work, reason, refused):
    pair = {"equal_work": equal_work, "reason": reason}
    assert bool(honest.refused(pair, {"outcome": outcome, "reason": ""})) is refused


@pytest.fixture
def later(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from liars import later

    return later


class Recorded(Prepared):
    """A benchmark without a framework, which records the batches it computes."""

    batches = 2

    def __init__(self):
        self.computed = []
        self.call = self.train
        self.keep_results(1)
        batches = [{"images": np.arange(1.0, 5) * (-1) ** at} for at in range(self.batches)]
        self.placed_batches = [self.placed(batch) for batch in batches]

    def train(self, batch):
        self.computed.append(list(batch["images"]))

    def load_parameters(self, arrays):
        """There are no parameters."""


def told_by(lie, steps):
    """A liar that has run `steps` steps, on its two batches in turn."""
    liar = type("Liar", (lie, Recorded), {})()
    for number in range(steps):
        liar.step(number % 2)
    return liar


@pytest.mark.parametrize(
    ("name", "instead"),
    [("half", [1, 2]), ("neighbour", [-1, -2, -3, -4]), ("mirrored", [4, 3, 2, 1])],
)
def test_the_late_form_of_a_lie_is_honest_at_first(later, name, instead):
    lie = later.LATER[f"{name}-late"]
    liar = told_by(lie, later.START + 1)
    honest = [[1, 2, 3, 4], [-1, -2, -3, -4]] * (later.START // 2)
    assert liar.computed == [*honest, instead]
    assert lie.__doc__.startswith("later, ")


def test_a_late_lie_begins_anew_with_each_load(later):
    lie = later.LATER["neighbour-late"]
    liar = told_by(lie, later.START + 1)
    liar.load_parameters([])
    liar.step(0)
    assert liar.computed[-1] == [1, 2, 3, 4]


def test_lies_of_any_framework_are_more_than_thirty(later, monkeypatch):
    from liars.late import LATE, LIES

    anywhere = [name for name, lie in LATE.items() if not hasattr(lie, "frameworks")]
    assert len(anywhere) >= 30
    assert not set(LATE) & set(LIES)  # no two lies share a name
