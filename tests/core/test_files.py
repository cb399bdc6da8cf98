"""Users' files are read within limits and written whole, in the core only by mbench.files."""

from __future__ import annotations

import ast
import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import mbench
from mbench import files
from mbench.files import Unreadable, read_json, read_toml, replacing, small_text, write_whole

CORE = Path(mbench.__file__).parent
CALLS = {"open", "read_bytes", "read_text", "savez", "write_bytes", "write_text"}
WORKERS_SIDE = ("contract", "scenarios", "sdk", "workloads", "worker")
OTHERS = {
    "cli/builtin.py": "opens launchers",
    "cli/env.py": "opens launchers",
    "cli/new.py": "reads what it has just written",
    "cli/scaffold.py": "copies a template of mbench's into an empty folder",
    "console.py": "opens standard streams",
    "engine/cluster.py": "adds to a log",
    "engine/command.py": "adds to a log",
    "engine/handshake.py": "digests the code of mbench",
    "engine/launchers.py": "opens launchers",
    "engine/local.py": "adds to a log, and reads /proc",
    "environments/build.py": "writes a log that it has just removed",
    "measure/preflight.py": "opens launchers",
    "plugins/separate_adapters.py": "reads what is known of mbench's own distribution",
    "explain/page.py": "reads a file of mbench's",
    "files.py": "is where it is done",
    "machine/kernel.py": "reads /proc and /sys",
    "machine/neighbours.py": "reads /proc",
    "machine/process_end.py": "adds to a log",
    "machine/stopped.py": "reads /proc and /sys",
    "cli/data/check.py": "decodes what it has read",
    "cli/data/make.py": "writes to a folder that is renamed when it is whole",
    "environments/contents.py": "reads what is known of installed distributions",
    "learning/data.py": "writes to a temporary file that is renamed",
    "learning/page.py": "reads a file of mbench's",
    "machine/process_tree.py": "reads /proc",
    "machine/processor_time.py": "reads /proc",
    "machine/standing.py": "reads /proc",
    "plugins/description.py": "reads code that is installed",
    "proofs/pixels.py": "writes to a temporary folder",
    "proofs/cache.py": "digests code",
    "proofs/reference.py": "writes to memory",
    "reports/exporters/mlflow.py": "writes to a temporary folder",
    "reports/html/__init__.py": "reads files of mbench's",
    "site/build.py": "writes to a folder that is renamed when it is whole, and digests code",
    "site/index.py": "reads a file of mbench's",
    "site/publish.py": "writes to a folder that is renamed when it is whole",
    "results/readable.py": "writes to a temporary folder",
    "results/store.py": "makes a folder of its own",
}
"""The modules that open files without mbench.files, and why."""


def openings(file: Path) -> list[int]:
    """The lines that open, read or write a file; calls of `os.open` are not counted."""
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name.rpartition(".")[2] in CALLS and name not in ("os.open", "webbrowser.open"):
            found.append(node.lineno)
    return found


def test_only_one_module_opens_files_of_users():
    found = {
        str(file.relative_to(CORE))
        for file in sorted(CORE.rglob("*.py"))
        if file.relative_to(CORE).parts[0] not in (*WORKERS_SIDE, "testing") and openings(file)
    }
    assert found - set(OTHERS) == set(), "use mbench.files, or say why not"
    assert set(OTHERS) - found == set(), "open no file any more"


@pytest.fixture
def place(tmp_path):
    return tmp_path / "file"


def device(path):
    path.symlink_to("/dev/zero")


def loop(path):
    path.symlink_to(path.name)


def long(path):
    path.write_bytes(b" " * (files.SMALL_BYTES + 1))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "it is not a regular file"),
        (device, "it is not a regular file"),
        (Path.mkdir, "directory"),
        (loop, "symbolic links"),
        (long, "it has 1.0 MiB; the limit is 1 MiB"),
        (lambda path: None, "No such file"),
        (lambda path: path.write_text("a", encoding="utf-16"), "is encoded as UTF-16: save it as"),
        (lambda path: path.write_text("a", encoding="utf-32"), "is encoded as UTF-32: save it as"),
        (lambda path: path.write_text("a", encoding="utf-16-le"), "as UTF-16 without a byte order"),
        (lambda path: path.write_bytes(b"a\n\xf6"), "line 2: byte 0xf6 is not UTF-8: save it as"),
    ],
    ids=["FIFO", "device", "folder", "loop", "long", "missing", "UTF-16", "UTF-32", "no BOM",
         "cp1252"],
)  # fmt: skip
def test_what_is_no_small_file_of_text_is_refused_at_once(place, make, said):
    make(place)
    with pytest.raises(Unreadable, match=said) as error:
        small_text(place)
    assert str(place) in str(error.value)
    assert error.value.missing == ("No such" in said)


def test_a_file_that_makes_its_readers_wait_is_refused(place, monkeypatch):
    """Some regular files in /proc make their readers wait."""

    class Waiting:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def fileno(self):
            return 0

        def read(self, _):
            return None

    monkeypatch.setattr(files, "opened", lambda *_, **__: Waiting())
    with pytest.raises(Unreadable, match="reading it would block"):
        small_text(place)


def test_a_byte_order_mark_is_no_part_of_the_text(place):
    place.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_toml(place).content == {"a": 1}


DEEP = "nested more than 32 deep"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 10**5, DEEP),
        ("a = " + "[" * 40 + "]" * 40, DEEP),
        ("a = " + "{b = " * 10**5, DEEP),
        (".".join("a" * 10**5) + " = 1", "has a key of more than 32 parts"),
        ("[" + ' . '.join(['"a"'] * 40) + "]", "has a key of more than 32 parts"),
        ("a = " + "9" * 5000, "holds a number with thousands of digits"),
        ("a = 1\na = 2", "is not valid TOML: Cannot overwrite a value"),
        ("a b", "is not valid TOML"),
    ],
    ids=["brackets", "forty", "tables", "dots", "header", "digits", "twice", "words"],
)  # fmt: skip
def test_toml_that_cannot_be_used_is_refused_in_words(place, text, said):
    place.write_text(text)
    with pytest.raises(Unreadable, match=said):
        read_toml(place)


def test_long_words_and_sentences_take_no_time(place):
    place.write_text(f"# {'a' * 400_000}\n# {'a b. ' * 60_000}\nb = '...'\nc.d.e = 1\n")
    assert read_toml(place).content["b"] == "..."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("t = 5", "line 1, t: should be a table: \\[t\\]"),
        ("[t]\nu = 5", "line 2, t.u: should be a table: \\[t.u\\]"),
        ("\n[[t.u]]\na = 1", "line 2, t.u: should be a table: \\[t.u\\]"),
    ],
)
def test_what_stands_in_place_of_a_table_is_named_with_its_line(place, text, said):
    place.write_text(text)
    with pytest.raises(files.UsageError, match=said):
        read_toml(place).table("t", "u")


@pytest.mark.parametrize(
    ("text", "said"),
    [("[" * 10**5, DEEP), ("[" * 40 + "]" * 40, DEEP), ("9" * 5000, "thousands of digits"),
     ("\n{", "line 2: not valid JSON")],
)  # fmt: skip
def test_json_that_cannot_be_used_is_refused_in_words(place, text, said):
    place.write_text(text)
    with pytest.raises(Unreadable, match=said):
        read_json(place)


def test_what_others_may_have_written_is_not_ours(place):
    place.write_text("{}")
    place.chmod(0o644)
    assert read_json(place, ours=True) == {}
    place.chmod(0o666)
    with pytest.raises(Unreadable, match="others may have written it"):
        read_json(place, ours=True)


def test_a_file_is_replaced_whole_with_its_permissions_and_behind_links(place, tmp_path):
    place.write_text("old")
    place.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(place.name)
    with replacing(link) as fresh:
        fresh.write_text("new")
        assert place.read_text() == "old"
    assert (link.is_symlink(), place.read_text()) == (True, "new")
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    write_whole(link, b" and more", after=True)
    assert place.read_text() == "new and more"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_link_to_nothing_and_a_long_name_are_written(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", b"x")
    assert (tmp_path / "target").read_bytes() == b"x"
    write_whole(tmp_path / ("n" * 255), b"x")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_what_cannot_be_written_leaves_what_was_there(place, monkeypatch, number):
    """A quota, or a file system on a network, may report the error only at fsync."""
    place.write_text("old")

    def full(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=os.strerror(number)) as error:
        write_whole(place, b"new")
    assert error.value.filename == str(place)
    assert place.read_text() == "old"
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EBUSY])
def test_what_cannot_be_replaced_is_written_in_place(place, monkeypatch, number):
    """In some folders only the owner may replace a file, and a file may be a mount of its own."""
    place.write_text("old")

    def refuse(path, target):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", refuse)
    before = place.stat().st_ino
    write_whole(place, b"new")
    assert (place.read_text(), place.stat().st_ino) == ("new", before)
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="takes root")
def test_a_file_in_a_folder_of_another_is_written_in_place(place):
    place.write_text("old")
    place.chmod(0o666)
    place.parent.chmod(0o755)
    child = os.fork()
    if not child:
        try:
            os.setuid(12345)
            write_whole(place, b"new")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    if place.read_text() == "old":
        pytest.skip("no other user can reach this folder")
    assert place.read_text() == "new"


def test_streams_and_pipes_are_written_and_not_replaced(place):
    os.mkfifo(place)
    with subprocess.Popen(["cat", place], stdout=subprocess.PIPE) as reader:
        write_whole(place, b"through")
        assert reader.communicate()[0] == b"through"
    assert stat.S_ISFIFO(place.stat().st_mode)
    write_whole(Path("/dev/null"), b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_stdout_that_is_a_file_stays_that_file(place):
    with place.open("wb") as out:
        code = "import pathlib, mbench.files as f\n"
        code += "f.write_whole(pathlib.Path('/dev/stdout'), b'x')"
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
        assert os.fstat(out.fileno()).st_ino == place.stat().st_ino
    assert place.read_bytes() == b"x"
