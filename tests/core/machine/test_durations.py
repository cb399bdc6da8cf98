"""A predicted duration is the last one that was measured on the same machine."""

from __future__ import annotations

import socket

import pytest

from mbench.machine import durations


def test_the_last_time_is_foretold(tmp_path):
    folder = tmp_path / "not there yet"
    assert durations.foretold(folder, "a proof") == "not timed on this machine yet"
    for seconds in (10.0, 41.2):
        durations.keep(folder, "a proof", seconds)
    assert durations.foretold(folder, "a proof") == "about 41 s, as last time"
    assert durations.last(folder, "another proof") is None


def test_another_machine_that_shares_the_folder_has_its_own(tmp_path, monkeypatch):
    durations.keep(tmp_path, "a proof", 10.0)
    monkeypatch.setattr(socket, "gethostname", lambda: "other")
    assert durations.last(tmp_path, "a proof") is None


@pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "-1", "0", "1" * 10_000_000])
def test_what_is_no_time_is_not_known(tmp_path, text):
    durations.keep(tmp_path, "a proof", 10.0)
    (file,) = tmp_path.iterdir()
    file.write_text(text)
    assert durations.last(tmp_path, "a proof") is None


def test_where_it_cannot_be_kept_it_is_forgotten(tmp_path):
    (tmp_path / "file").touch()
    durations.keep(tmp_path / "file" / "folder", "a proof", 10.0)
    assert durations.last(tmp_path / "file" / "folder", "a proof") is None
