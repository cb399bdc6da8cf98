"""Listing and removing environments."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mbench.environments import managed
from mbench.environments.managed import locked
from mbench.errors import MbenchError, UsageError

NAME = "toy-py3.11-0123456789ab"


@pytest.fixture
def folder(root: Path) -> Path:
    """An environment on disk, of which nothing but the record is real."""
    folder = root / NAME
    (folder / "bin").mkdir(parents=True)
    managed.python_in(folder).write_bytes(b"x" * 100_000)
    whole = managed.Record(
        adapter="toy",
        requirements=["toy==1.0"],
        python="3.11.7",
        packages={"toy": "1.0"},
        created="2026-01-01T00:00:00+00:00",
        mbench="0.1.0",
    )
    managed.write_record(whole, folder=folder)
    (root / f"{NAME}.log").touch()
    return folder


def test_the_folder_is_the_users_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MBENCH_ENVIRONMENTS", "~/kept")
    assert managed.root() == Path.home() / "kept"
    monkeypatch.delenv("MBENCH_ENVIRONMENTS")
    assert managed.root().parts[-2:] == ("mbench", "environments")


def test_the_key_tells_environments_apart() -> None:
    key = managed.key("toy", requirements=["toy==1.0"], python="3.11")
    assert key.startswith("toy-py3.11-")
    assert key == managed.key("toy", requirements=["toy==1.0"], python="3.11")
    others = {
        managed.key("toy", requirements=["toy==1.1"], python="3.11"),
        managed.key("toy", requirements=["toy==1.0"], python="3.12"),
        managed.key("other", requirements=["toy==1.0"], python="3.11"),
    }
    assert len(others - {key}) == 3


def test_list(root: Path, folder: Path) -> None:
    (root / "somebody-elses").mkdir()
    (root / f"{NAME}.tmp-abc").mkdir()
    whole, leftover = managed.entries()
    assert (whole.name, whole.folder, whole.broken) == (NAME, folder, "")
    assert whole.record is not None
    assert whole.record.requirements == ["toy==1.0"]
    assert 100_000 <= whole.size_bytes() < 200_000
    assert (leftover.name, leftover.record) == (f"{NAME}.tmp-abc", None)
    assert leftover.broken == "it has no environment.json"
    assert leftover.size_bytes() == 0


def test_nothing_to_list() -> None:
    assert managed.entries() == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not readable"),
        ("[]", "not readable"),
        ("[" * 100_000, "not readable"),
        ("{}", "not readable"),
        ('{"schema": 99, "digest": ""}', "unknown schema 99"),
        ('{"schema": 1, "digest": "", "more": 1}', "not readable"),
    ],
)
def test_a_broken_record(folder: Path, text: str, reason: str) -> None:
    (folder / "environment.json").write_text(text)
    (entry,) = managed.entries()
    assert entry.record is None
    assert reason in entry.broken


def test_a_changed_record(folder: Path) -> None:
    file = folder / "environment.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "packages": {"toy": "2.0"}}))
    assert managed.entry(NAME).broken == "environment.json does not match its digest"


def test_a_python_that_is_gone(folder: Path) -> None:
    managed.python_in(folder).unlink()
    managed.python_in(folder).symlink_to("/no/such/python")
    assert managed.entry(NAME).broken == "the Python it uses is gone"


@pytest.mark.parametrize("suffix", ["", ".tmp-abc"])
def test_remove(root: Path, folder: Path, suffix: str) -> None:
    (root / f"{NAME}.tmp-abc").mkdir()
    managed.remove(NAME + suffix)
    assert [entry.name for entry in managed.entries()] != [NAME + suffix]
    assert len(managed.entries()) == 1


@pytest.mark.parametrize("name", ["toy", "..", f"../{NAME}", f"{NAME}/bin"])
def test_remove_only_what_is_listed(folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"available: {NAME}"):
        managed.remove(name)
    assert folder.exists()


def test_what_others_keep_is_refused_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "a.lock")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(MbenchError, match=f"cannot lock {NAME}: Permission denied: a.lock"):
        managed.remove(NAME)
    assert folder.exists()


def test_not_while_it_is_used(folder: Path) -> None:
    entry, first = managed.use(NAME)
    _, second = managed.use(NAME)
    assert entry.record is not None
    for use in (first, second):
        with pytest.raises(MbenchError, match="in use"):
            managed.remove(NAME)
        use.release()
    managed.remove(NAME)
    assert not folder.exists()


def test_of_a_link_only_the_link_is_removed(root: Path, folder: Path) -> None:
    folder.rename(root / "elsewhere")
    folder.symlink_to(root / "elsewhere")
    managed.remove(NAME)
    assert not folder.is_symlink()
    assert managed.read_record(root / "elsewhere").adapter == "toy"


def test_a_lock_that_is_a_link_is_not_followed(root: Path, folder: Path) -> None:
    managed.lock_file(NAME).symlink_to(root / "somebody-elses")
    with pytest.raises(MbenchError, match=f"cannot lock {NAME}"):
        managed.remove(NAME)
    assert not (root / "somebody-elses").exists()
    assert folder.exists()


def test_not_while_it_is_built(folder: Path) -> None:
    with (
        locked(managed.lock_file(NAME), busy=lambda: pytest.fail("nobody else has the lock")),
        pytest.raises(MbenchError, match="being built"),
    ):
        managed.remove(NAME)
    assert folder.exists()
    assert os.listdir(folder)


def test_a_folder_that_cannot_be_read_is_answered_with_where_else(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_dir", refuse)
    with pytest.raises(MbenchError, match=f"cannot read {root}.*MBENCH_ENVIRONMENTS sets"):
        managed.entries()
