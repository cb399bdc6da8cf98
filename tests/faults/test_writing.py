"""Runs while they are written: one writer, whole lines, full disks, files that go away."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.experiments import measured_by
from surroundings import PATIENCE, one_line

from mbench.contract.reading import Malformed
from mbench.errors import MbenchError
from mbench.machine.system import describe_system
from mbench.results import events, runfile
from mbench.results.run import load_run, pick_run, remains
from mbench.results.runfile import RunFile
from mbench.results.seal import examine_file
from mbench.results.store import RunWriter
from mbench.spec.adaptive import Adaptive


def test_a_run_that_is_being_measured_cannot_be_resumed(mbench, store):
    name = store.folder.name
    size = (store.folder / "run.jsonl").stat().st_size
    code, _, err = mbench(
        "compare", "--frameworks", "tiny,flaky", "--models", "tiny-model", "--results",
        store.folder.parent, "--resume", name,
    )  # fmt: skip
    assert (code, one_line(err)) == (1, True)
    assert "is still being measured" in err
    assert (store.folder / "run.jsonl").stat().st_size == size
    store.close()
    RunFile(store.folder / "run.jsonl").close()


@pytest.mark.parametrize("lost", [1, 5])
def test_a_run_goes_on_after_its_last_whole_line(store, lost):
    path = store.folder / "run.jsonl"
    store.close()
    os.truncate(path, path.stat().st_size - lost)
    run = load_run(path)
    assert run.cut_off == (lost > 1)
    RunWriter.reopen(RunFile(path), run, arguments=["mbench"], protocol=run.protocol).end(
        "complete"
    )
    again = load_run(path)
    assert (again.status, again.cut_off) == ("complete", False)
    assert len(again.cases[0].processes[0].blocks) == (0 if lost > 1 else 1)


def test_a_full_disk_leaves_whole_lines(store, monkeypatch):
    path = store.folder / "run.jsonl"
    before = path.read_bytes()
    write = os.write

    def fill(descriptor, data):
        if len(data) < 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data[:10])

    with monkeypatch.context() as full:
        full.setattr(os, "write", fill)
        with pytest.raises(OSError, match="No space left on device") as caught:
            store.append(events.Memory(case=0, process=0, peak_bytes=1, idle_look=1))
    assert caught.value.filename == path
    assert path.read_bytes() == before
    store.append(events.Memory(case=0, process=0, peak_bytes=1, idle_look=1))
    assert load_run(path).cases[0].processes[0].peak_bytes == 1


def test_nothing_is_written_that_could_not_be_read(store, monkeypatch):
    path = store.folder / "run.jsonl"
    monkeypatch.setattr(runfile, "LONGEST_LINE", 4000)
    with pytest.raises(Malformed, match="in one event, at most 4000 can be read"):
        store.append(events.Comparison(comparison=1, title="x" * 4000))
    monkeypatch.setattr(runfile, "LARGEST_BYTES", path.stat().st_size + runfile.SPARE_BYTES)
    with pytest.raises(MbenchError, match=r"is full.*in a separate run"):
        store.append(events.Memory(case=0, process=0, peak_bytes=1, idle_look=1))
    store.end("interrupted")
    assert load_run(path).status == "interrupted"


MEMORY = {"case": 0, "process": 0, "peak_bytes": 1, "idle_look": 1}


def unlinked(path):
    path.unlink()


def moved(path):
    path.parents[1].rename(path.parents[2] / "elsewhere")


def swapped(path):
    moved(path)
    path.parents[1].symlink_to("/tmp")


def hidden(path):
    """Makes the name lead to another file, as a file system that is mounted over it would."""
    path.rename(path.with_name("aside"))
    path.write_bytes(path.with_name("aside").read_bytes())


def emptied(path):
    path.write_bytes(b"")


def shortened(path):
    os.truncate(path, path.stat().st_size - 1)


def lengthened(path):
    with path.open("ab") as file:
        file.write(b"garbage\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (unlinked, "was removed while it was being written, so nothing more is measured"),
        (moved, "was moved to .*/elsewhere/.*/run.jsonl while it was being written, so nothing"),
        (swapped, "was moved to .*/elsewhere/.*/run.jsonl while it was being written, so nothing"),
        (hidden, "was moved to .*aside while it was being written, so nothing more is measured"),
        (emptied, "something else truncated .* to 0 of its .* bytes, so nothing more is measured:"),
        (shortened, "something else truncated .* bytes, so nothing more is measured: measure"),
        (lengthened, "something else added 8 bytes to .*; --resume removes them and measures"),
    ],
)
def test_a_run_whose_file_is_changed_by_others_stops_at_once(store, change, said):
    path = store.folder / "run.jsonl"
    change(path)
    with pytest.raises(MbenchError, match=said):
        store.append(events.Memory(**MEMORY))
    store.end("interrupted")


def test_last_words_are_true(store):
    path = store.folder / "run.jsonl"
    name = store.id
    said = remains(store.folder, name)
    assert said.endswith(f"in {store.folder}, and the same command with --resume {name} measures "
                         "the rest")  # fmt: skip
    assert f"mbench show {store.folder} shows it" in remains(store.folder, name, shown=True)
    store.end("complete")
    assert "--resume" not in remains(store.folder, name, shown=True)
    emptied(path)
    assert remains(store.folder, name) == (
        f"what was measured cannot be read back: {path} is empty: nothing was measured"
    )


def test_a_damaged_run_goes_on_before_the_damage_and_what_stood_there_is_kept(store):
    path = store.folder / "run.jsonl"
    whole = path.read_bytes()
    store.append(events.Memory(**MEMORY))
    store.close()
    rest = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + b"garbage\n" + rest)
    run = load_run(path)
    assert (run.damage.line, run.damage.offset, run.cut_off) == (6, len(whole), False)
    RunWriter.reopen(RunFile(path), run, arguments=["mbench"], protocol=run.protocol).end(
        "complete"
    )
    again = load_run(path)
    assert (again.status, again.damage) == ("complete", None)
    assert path.read_bytes().startswith(whole)
    assert path.with_name("run.jsonl.cut").read_bytes() == b"garbage\n" + rest
    assert examine_file(path).reason == ""


def test_two_runs_may_make_the_folder_of_results_at_once(tmp_path, monkeypatch):
    of = {"experiment": measured_by(Adaptive()), "system": describe_system({}), "arguments": []}
    RunWriter(tmp_path / "results", **of).close()
    monkeypatch.setattr(Path, "exists", lambda path: False)  # as it was a moment ago
    RunWriter(tmp_path / "results", **of).close()


def test_a_run_may_be_named_by_its_file_and_resumed_there(store):
    path = store.folder / "run.jsonl"
    store.close()
    run = load_run(pick_run(store.folder.parent, str(path)))
    assert run.folder == store.folder


def test_a_limit_on_files_ends_a_run_in_one_line_that_says_how_to_go_on(around):
    limited = ["bash", "-c", 'ulimit -f 6; exec "$@"', "-", sys.executable, "-m", "mbench"]
    done = subprocess.run(
        [*limited, "compare", "--frameworks", "tiny,tiny", "--models", "tiny-model", "--processes",
         "1", "--rounds", "20", "--block", "0.005", "--no-mfu", "--no-verify"],
        env=around.variables, cwd=around.folder, capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    (folder,) = around.results.glob("2*")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert "File too large; what was measured is in" in last
    assert f"--resume {folder.name}" in last
    assert not load_run(folder).cut_off
