"""No two files of adapters share much code: that belongs in `sdk/` or `workloads/`."""

from __future__ import annotations

import ast
import io
import tokenize
from itertools import combinations
from pathlib import Path

ADAPTERS = Path(__file__).parents[2] / "adapters"
MOST = 20
"""Two files with so many equal lines are too much alike."""
RUN = 4
"""Equal lines count from so many in a row: fewer are just how Python or a framework is written."""


def statements(source: str) -> list[str]:
    """The lines of a file without blank ones, comments, imports and docstrings."""
    dropped = set()
    for node in ast.walk(ast.parse(source)):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docstring or isinstance(node, (ast.Import, ast.ImportFrom)):
            dropped |= set(range(node.lineno, node.end_lineno + 1))
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    kept = (line.strip() for row, line in enumerate(lines, 1) if row not in dropped)
    return [line for line in kept if line]


def shared(first: list[str], second: list[str]) -> int:
    """How many lines of `first` are in `second`, too, in runs of RUN or more."""
    runs = {tuple(second[at : at + RUN]) for at in range(len(second) - RUN + 1)}
    found: set[int] = set()
    for at in range(len(first) - RUN + 1):
        if tuple(first[at : at + RUN]) in runs:
            found |= set(range(at, at + RUN))
    return len(found)


def alike(files: dict[str, list[str]]) -> dict[tuple[str, str], int]:
    """How many lines each pair of files shares, the most first."""
    found = {pair: shared(*(files[name] for name in pair)) for pair in combinations(files, 2)}
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def test_what_is_the_same_but_for_blank_lines_comments_and_imports_is_found():
    one = "import a\n\nx = 1  # of a\ny = 2\nfor z in x:\n    print(z)\nend = 3\n"
    other = 'from b import a\n"""Text."""\nx = 1\ny = 2\nfor z in x:\n\n    print(z)\nother = 3\n'
    assert statements(one) == ["x = 1", "y = 2", "for z in x:", "print(z)", "end = 3"]
    assert shared(statements(one), statements(other)) == 4


def test_no_two_files_of_adapters_share_twenty_lines():
    files = {
        str(file.relative_to(ADAPTERS)): statements(file.read_text(encoding="utf-8"))
        for file in sorted(ADAPTERS.glob("*/mbench_*/**/*.py"))
    }
    assert len(files) > 100
    found = {pair: count for pair, count in alike(files).items() if count >= MOST}
    assert not found, found
