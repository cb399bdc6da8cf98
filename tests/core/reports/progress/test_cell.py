"""Progress in a notebook with a made-up display."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from mbench.measure.activity import ComparisonBegan, PhaseBegan
from mbench.reports import progress
from mbench.reports.progress import live


@pytest.fixture
def shown(monkeypatch):
    """The texts that a notebook shows, one after another, in the same place."""
    texts = []

    def display(first, *, display_id):
        assert display_id is True
        texts.append(first)
        return SimpleNamespace(update=texts.append)

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display, HTML=str))
    return texts


def test_outside_of_a_notebook_it_is_no_matter(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not live.in_notebook()


def test_ipython_on_a_terminal_is_no_notebook(shown):
    assert not live.in_notebook()


def test_a_cell_shows_the_rows_and_is_empty_in_the_end(shown, monkeypatch):
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    told = progress.open_progress(io.StringIO())
    told.hear(ComparisonBegan("resnet50 <train>", ("one", "two")))
    told.hear(PhaseBegan("one", "warming up"))
    told.close()
    assert shown[0] == shown[-1] == ""
    assert "resnet50 &lt;train&gt;" in shown[1]
    assert "one" in shown[-2]
    assert "warming up" in shown[-2]


def test_a_quiet_notebook_shows_nothing(shown, monkeypatch):
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    told = progress.open_progress(verbosity="quiet")
    told.hear(ComparisonBegan("title", ("one",)))
    told.close()
    assert shown == []
