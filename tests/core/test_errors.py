"""What a user can mend, told by commands that work where mbench is installed."""

from __future__ import annotations

import sys

import pytest

from mbench import errors
from mbench.errors import MbenchError, lacking


@pytest.mark.parametrize(
    ("pip", "command"),
    [
        (object(), f"{sys.executable} -m pip install 'duckdb>="),
        (None, f"uv pip install --python {sys.executable} 'duckdb>="),
    ],
)
def test_what_an_extra_brings_is_installed_into_the_python_that_runs_mbench(
    monkeypatch, pip, command
):
    monkeypatch.setattr(errors, "find_spec", lambda _: pip)
    error = lacking("DuckDB", extra="analysis")
    assert isinstance(error, MbenchError)
    assert f"this needs DuckDB, of mbench's extra analysis: {command}" in str(error)
    assert "pandas" in str(error)
    assert "extra ==" not in str(error)
