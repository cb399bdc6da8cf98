"""What `mbench env create` reports while it builds and afterwards, and what `env list` shows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from mbench.cli.main import group
from mbench.environments import locate
from mbench.errors import EnvironmentUnavailable


@pytest.fixture
def create(monkeypatch):
    def provide(spec, adapter, interpreter, *, report):
        report("Building it")
        if spec.name == "flaky":
            raise EnvironmentUnavailable("it could not be built", outcome="failed")
        return SimpleNamespace(python=Path("/environments/made/bin/python"))

    monkeypatch.setattr(locate, "provide", provide)
    return lambda *words: CliRunner().invoke(group, ["env", "create", *words])


def test_progress_tells_what_is_done_and_output_where_it_lies(create):
    result = create("tiny")
    assert result.exit_code == 0
    assert result.stdout == "tiny: /environments/made\n"
    lines = [line.partition(" ")[2] for line in result.stderr.splitlines()]
    assert lines == ["== environments: tiny", "tiny: Building it", "tiny: built"]


def test_what_was_built_is_told_where_another_fails(create):
    result = create("tiny", "flaky")
    assert result.exit_code == 1
    assert result.stdout == "tiny: /environments/made\n"
    assert "could not be built" in result.stderr + str(result.exception)


def test_the_list_has_a_total(tmp_path, monkeypatch):
    monkeypatch.setenv("MBENCH_ENVIRONMENTS", str(tmp_path))
    for name in ("tiny-py3.11-0123456789ab", "tiny-py3.12-0123456789ab"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "large").write_bytes(b"x" * 2**20)
    result = CliRunner().invoke(group, ["env", "list"])
    assert result.exit_code == 0
    assert f"2 MiB in {tmp_path}" in " ".join(result.stdout.split())
