"""The page on several machines names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_each_fault_is_shown_by_a_test_that_is_there(pages):
    rows = re.findall(
        r"^\| [^|]+ \| (`(?:core|launchers)/.*`) \|$", pages["docs/clusters.md"], re.M
    )
    assert len(rows) > 15
    for row in rows:
        file = ""
        for named in re.findall(r"`([^`]+)`", row):
            path, _, test = named.partition("::")
            file = path or file
            assert f"def {test}(" in (TESTS / file).read_text(), named
