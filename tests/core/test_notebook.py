"""The notebook of the documentation, run with fast frameworks."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
FIRST = """\
frameworks = ["tiny", "flaky"]
case = {"models": "tiny-model", "threads": 1}
limits = {"processes": 3, "rounds": 1, "block": 0.02, "mfu": False}
"""


def run_cell(source, names):
    """Run a cell and return what a notebook would show."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements, last = [*statements, last], None
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    html = getattr(value, "_repr_html_", None)
    return html() if html else repr(value)


@pytest.mark.extras
def test_every_cell_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    first, *rest = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    run_cell(first, names)
    assert set(names) - {"__builtins__"} == {"frameworks", "case", "limits"}
    run_cell(FIRST, names)
    shown = [run_cell(cell, names) for cell in rest]
    assert "proven" in shown[0]
    assert "<table" in shown[1]
    assert shown[-1] == "True"
    assert "Flaky" in capsys.readouterr().out
    assert Path("report.html").read_text().startswith("<!doctype html>")
