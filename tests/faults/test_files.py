"""Files of runs that are damaged, hostile, huge or not files at all: they are harmless, and
reported in one line.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from surroundings import one_line

from mbench.cli.builtin import FORMATS, LAYOUTS
from mbench.plugins.manager import Plugins
from mbench.results import events, runfile
from mbench.results.run import load_run

ESCAPE = "\x1b[31m\x1b]0;owned\x07"
NAME = "20260101-000000-aaaa"


@pytest.fixture
def whole(store):
    """The bytes of the run's file when it is complete."""
    store.append(events.ComparisonEnd(comparison=0, reason="all processes measured"))
    store.end("complete")
    return (store.folder / "run.jsonl").read_bytes()


@pytest.fixture
def put(tmp_path):
    """A function that puts files in a folder of results, oldest first, and returns the first."""

    def put(*files):
        results = tmp_path / "made"
        for number, content in enumerate(files):
            folder = results / f"{NAME}{number}"
            folder.mkdir(parents=True)
            (folder / "run.jsonl").write_bytes(content)
        return results / f"{NAME}0" / "run.jsonl"

    return put


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw + b"\0" * 100,
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.replace(b'"label":"tiny"', b'"label":"ti\xffny"'),
        lambda raw: raw.replace(b'"label":"tiny"', '"label":"ti\u2028ny"'.encode()),
        lambda raw: raw.replace(b'"label":"tiny"', b'"label":"ti\\ud800ny"'),
        lambda raw: raw[:-1],
        lambda raw: raw[:-9],
    ],
    ids=["NUL", "CRLF", "no UTF-8", "U+2028", "half a surrogate", "no line feed", "cut off"],
)
def test_what_can_be_read_is_shown(mbench, put, whole, damage):
    file = put(damage(whole))
    for arguments in (["show"], ["list", "runs"]):
        code, out, err = mbench(*arguments, "--results", file.parent.parent)
        assert (code, "ny" in out, "Traceback" in err) == (0, True, False), err


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_file_is_readable_wherever_it_ends(put, whole, cut):
    last = whole[:-1].rfind(b"\n") + 1
    file = put(whole[: last + cut * (len(whole) - last) // 12])
    run = load_run(file)
    assert run.cut_off
    assert run.cases[0].processes[0].blocks


def nested(path, raw):
    head, _, rest = raw.partition(b"\n")
    path.write_bytes(head + b"\n" + b"[" * 10**5 + b"\n" + rest)


def huge(path, raw):
    os.truncate(path, 200 * 2**20)


def endless(path, raw):
    with path.open("ab") as file:
        file.truncate(len(raw) + runfile.LONGEST_LINE + 2)
        file.seek(0, os.SEEK_END)
        file.write(b"\n{}\n")


def changed(change):
    def rewrite(path, raw):
        path.write_bytes(b"".join(change(raw.splitlines(keepends=True))))

    return rewrite


BLOCK_AGAIN = b'{"event":"block","case":0,"process":0,"round":1,"each":false,"steps":1,'


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (nested, "line 2 is damaged (it is nested too deeply)"),
        (endless, "is damaged (it is longer than any that mbench writes)"),
        (changed(lambda lines: [*lines[:-2], b"garbage\n", *lines[-2:]]),
         "line 6 is damaged (it is not JSON)"),
        (changed(lambda lines: [*lines[:-2], b"\n", *lines[-2:]]),
         "line 6 is damaged (it is not JSON)"),
        (changed(lambda lines: [lines[0], lines[4], *lines[1:4], *lines[5:]]),
         "line 2 is damaged (block of case 0, which is not there yet)"),
        (changed(lambda lines: [*lines[:2], *lines[3:]]),
         "line 3 is damaged (process of case 0, which is not there yet)"),
        (changed(lambda lines: [lines[0], *lines[2:]]),
         "line 2 is damaged (case of comparison 0, which is not there yet)"),
        (changed(lambda lines: [*lines[:3], *lines[4:]]),
         "line 4 is damaged (block of process 0 of case 0, which is not there yet)"),
        (changed(lambda lines: [lines[0], *lines]), "line 2 is damaged (a second run begins th"),
        (changed(lambda lines: lines * 2), "is damaged (a second run begins there)"),
        (changed(lambda lines: [one for line in lines for one in (line, line)]),
         "line 2 is damaged (a second run begins there)"),
        (changed(lambda lines: [lines[0], *(one for line in lines[1:] for one in (line, line))]),
         "is damaged (it repeats the line before it)"),
        (changed(lambda lines: [*lines, lines[4]]), "is damaged (it follows the end of the run)"),
        (changed(lambda lines: [*lines, lines[-1]]), "is damaged (it follows the end of the run)"),
        (changed(lambda lines: [*lines[:4], b'{"event":"memory","case":0,"process":0,'
                                b'"peak_bytes":%s}\n' % (b"9" * 10000), *lines[4:]]),
         "line 5 is damaged (it holds a number with thousands of digits)"),
        (changed(lambda lines: [*lines[:5], BLOCK_AGAIN + b'"start":7,"nanoseconds":[1000]}\n',
                                BLOCK_AGAIN.replace(b'd":1', b'd":2')
                                + b'"start":5,"nanoseconds":[1000]}\n',
                                *lines[5:]]),
         "1 block of its file begins before the preceding one: a clock was set back, or the file"),
    ],
    ids=["nested", "endless", "garbage", "empty line", "other order", "no case", "no comparison",
         "no process", "two headers", "file twice", "lines twice", "lines but the first twice",
         "after the end", "two ends", "digits", "backwards"],
)  # fmt: skip
def test_a_bad_line_costs_what_comes_after_it_and_is_named_in_words(
    mbench, put, whole, damage, said
):
    """Row 30, row 31 of the table of faults, see test_table.py."""
    file = put(whole, whole)
    damage(file, whole)
    for words in (["show"], ["show", "--format", "json"], ["show", "--format", "markdown"]):
        code, out, err = mbench(*words, file)
        assert code == 0, err
        assert said in err
        assert "Error" not in err
        assert said.partition(" (")[2] in out, "reports say it too"
    code, out, err = mbench("list", "runs", "--results", file.parent.parent)
    assert code == 0, err


def test_a_schema_that_was_never_written_is_refused(mbench, put, whole):
    """Row 31 of the table of faults, see test_table.py."""
    file = put(whole.replace(b'"schema":1', b'"schema":0', 1))
    code, out, err = mbench("show", file)
    assert (code, out, one_line(err)) == (1, "", True)
    assert "has schema 0, which no mbench has written" in err


def instead(make):
    def replace(path, raw):
        path.unlink()
        make(path)

    return replace


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (lambda path, raw: path.write_bytes(b"\xef\xbb\xbf" + raw), "is not a run of mbench"),
        (lambda path, raw: path.write_bytes(b"PK\x03\x04"), "is not a run of mbench"),
        (lambda path, raw: path.write_bytes(b""), "is empty"),
        (huge, "it has 200 MiB, but a run may have at most 128; mbench export"),
        (instead(Path.mkdir), "directory"),
        (instead(os.mkfifo), "it is not a regular file"),
        (instead(lambda path: path.symlink_to("/dev/zero")), "it is not a regular file"),
        (instead(lambda path: path.symlink_to(path.name)), "Too many levels of symbolic links"),
        (instead(lambda path: path.symlink_to("nowhere")), "No such file"),
    ],
    ids=["BOM", "zip", "empty", "huge", "folder", "pipe", "device", "loop", "broken link"],
)  # fmt: skip
def test_what_is_no_run_is_refused_in_one_line_and_hides_no_other(mbench, put, whole, place, said):
    file = put(whole, whole)
    place(file, whole)
    for named in (file, file.parent):
        code, out, err = mbench("show", named)
        assert (code, out, one_line(err)) == (1, "", True), err
        assert said in err
    code, out, err = mbench("list", "runs", "--results", file.parent.parent)
    assert (code, out.count("complete")) == (0, 1), err


def test_nothing_that_a_run_holds_steers_a_terminal(mbench, put, whole, tmp_path):
    made = [json.loads(line) for line in whole.splitlines()]
    for event in made:
        for name, value in event.items():
            if isinstance(value, str) and name != "event":
                event[name] = ESCAPE + value
    made[0]["system"]["hostname"] = made[2]["axes"]["model"] = ESCAPE
    raw = "".join(json.dumps(event) + "\n" for event in made).encode()
    file = put(raw, raw[:-20])
    cut_off = file.parents[1] / f"{NAME}1"
    said = []
    for name in FORMATS:
        said.append(mbench("show", file, "--format", name))
    for name in LAYOUTS:
        said += [mbench("show", file, "--layout", name, "--format", f) for f in ("table", "csv")]
    said += [mbench("list", "runs", "--results", file.parents[1]), mbench("show", cut_off)]
    said.append(mbench("diff", file, file, "--output", tmp_path / "diff.txt"))
    said += [mbench("show", "--results", ESCAPE), mbench("run", f"{ESCAPE}.toml"),
             mbench("show", ESCAPE), mbench("compare", "--frameworks", f"{ESCAPE},tiny"),
             mbench("env", "remove", ESCAPE), mbench(ESCAPE)]  # fmt: skip
    assert any("tiny" in out for _, out, _ in said)
    assert any(err for _, _, err in said)
    assert not [one for one in said if "\x1b" in one[1] + one[2] or "\x07" in one[1] + one[2]]


def test_no_cell_of_csv_is_a_formula(mbench, put, whole):
    file = put(whole.replace(b'"label":"tiny"', b'"label":"=cmd|/c calc"'))
    for layout in ([], ["--layout", "dlperf"]):
        _, out, _ = mbench("show", file, "--format", "csv", *layout)
        assert "'=cmd" in out
        assert not [
            cell for line in out.splitlines() for cell in line.split(",") if cell[:1] == "="
        ]


def test_what_a_run_names_is_neither_imported_nor_opened(mbench, put, whole, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("open(__file__ + '.sprung', 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    traversing = (
        b'{"event":"outcome","case":0,"outcome":"crashed","reason":"x","log":"../../log"}\n'
    )
    file = put(whole.replace(b"mbench_tiny:TINY", b"trap:X").replace(
        b'"id":"20', b'"id":"../../../outside') + traversing)  # fmt: skip
    before = sorted(tmp_path.rglob("*"))
    for name in FORMATS:
        assert mbench("show", file, "--format", name)[0] == 0
    assert sorted(path for path in tmp_path.rglob("*") if "__pycache__" not in str(path)) == before


@pytest.mark.parametrize("content", ["[" * 10**5, "\ud800", "\0", "x" * 10**5, "[[sweep]]\na=" * 9])
def test_a_suite_that_is_none_is_one_line(mbench, tmp_path, content):
    file = tmp_path / "suite.toml"
    file.write_bytes(content.encode(errors="surrogatepass"))
    code, out, err = mbench("run", file)
    assert (code, out, one_line(err)) == (2, "", True), err


def test_rounds_in_thousands_are_shown_as_fast_as_they_are_read(store):
    from mbench.results.summary import analyse

    for number in range(1, 3000):
        store.append(
            events.Block(
                case=0, process=0, round=number, each=False, steps=1, start=0,
                nanoseconds=[1000 + number],
            )
        )  # fmt: skip
    store.end("complete")
    run = load_run(store.folder)
    begun = os.times().user
    assert analyse(run).to_json()["cases"][0]["rounds"] == 3000
    assert os.times().user - begun < 5


def test_these_tests_know_every_format():
    offered = Plugins(external=False).reports.unique()
    assert set(FORMATS) == set(offered)


def test_a_word_of_any_length_is_drawn(mbench, put, whole):
    file = put(whole.replace(b'"label":"tiny"', b'"label":"' + b"x" * 10**5 + b'"'))
    begun = os.times().user
    code, out, _ = mbench("show", file)
    assert (code, len(out) > 10**5) == (0, True)
    assert os.times().user - begun < 5


CONFIGURATION = "mbench.toml"


def fifo(path):
    os.mkfifo(path)


def zeros(path):
    path.symlink_to("/dev/zero")


def holding(text):
    return lambda path: path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (fifo, "cannot read mbench.toml: it is not a regular file"),
        (zeros, "cannot read mbench.toml: it is not a regular file"),
        (lambda path: path.symlink_to("nowhere"), "cannot read mbench.toml: No such file"),
        (Path.mkdir, "cannot read mbench.toml: "),
        (holding("x = " + "[" * 10**5), "nested more than 32 deep"),
        (holding("seed = 1\n".encode("utf-16")), "is encoded as UTF-16: save it as UTF-8"),
        (holding("help = true"), "line 1, help: applies to a single call, so it cannot be"),
        (holding("[[compare]]"), "line 1, compare: should be a table: [compare]"),
        (holding("rouns = 1"), "line 1, rouns: unknown key; did you mean rounds?"),
        (holding('"a\\nb" = 1'), "a b: unknown key; mbench compare --help-all shows them all"),
        (holding(f"{'k' * 10**5} = 1"), f"{'k' * 60}...: unknown key; mbench compare"),
    ],
    ids=["FIFO", "device", "broken link", "folder", "nested", "UTF-16", "help", "array",
         "mistyped", "line feed", "long"],
)  # fmt: skip
def test_a_broken_file_of_defaults_is_one_line_and_help_can_be_had(
    mbench, tmp_path, monkeypatch, make, said
):
    """Row 7, row 21, row 23, row 25, row 42 of the table of faults, see test_table.py."""
    monkeypatch.chdir(tmp_path)
    make(tmp_path / CONFIGURATION)
    code, out, err = mbench("compare", "tiny", "tiny")
    assert (code, out, one_line(err), len(err) < 300) == (2, "", True, True), err
    assert said in err
    for words in (["help"], ["help", "compare"], ["compare", "--help"], ["doctor", "--help"],
                  ["run", "--help-all"], ["compare", "-h"]):  # fmt: skip
        code, out, err = mbench(*words)
        assert (code, "Usage" in out, err) == (0, True, "")
    code, out, err = mbench("list", "launchers")
    assert (code, "mpi" in out, one_line(err)) == (0, True, True)
    assert "continuing without that file's defaults" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# mbench\ntool = 5", "pyproject.toml, line 2, tool: should be a table: [tool]"),
        ("[tool]\nmbench = 5", "pyproject.toml, line 2, tool.mbench: should be a table"),
        ("[[tool.mbench]]\nseed = 1", "pyproject.toml, line 1, tool.mbench: should be a table"),
        ("# [tool.mbench]\nx = " + "[" * 10**5, "pyproject.toml is nested more than 32 deep"),
        ("[tool.mbench]\nrouns = 1", "pyproject.toml, line 2, rouns: unknown key; did you mean r"),
        ("[tool.mbench.compare]\nrouns = 1", "pyproject.toml, line 2, rouns: unknown key"),
    ],
)
def test_tables_of_ours_in_a_shared_file_are_tables(mbench, tmp_path, monkeypatch, text, said):
    """Row 22 of the table of faults, see test_table.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)
    code, out, err = mbench("compare", "tiny", "tiny")
    assert (code, out, one_line(err)) == (2, "", True), err
    assert said in err


@pytest.mark.parametrize("make", [fifo, zeros, holding("[tool.other"), Path.mkdir])
def test_a_shared_file_that_is_no_business_of_ours_is_none(mbench, tmp_path, monkeypatch, make):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "pyproject.toml")
    code, _, err = mbench("list", "launchers")
    assert (code, err) == (0, "")


@pytest.mark.parametrize("make", [fifo, zeros])
def test_files_of_suites_hosts_and_proofs_keep_nobody_waiting(mbench, tmp_path, monkeypatch, make):
    """Row 8, row 9 of the table of faults, see test_table.py."""
    from mbench.proofs import cache
    from mbench.results import calibration

    file = tmp_path / "file.toml"
    make(file)
    hosts = ["--launcher", "mpi", "--hosts", f"@{file}"]
    for words in (["run", file, "--frameworks", "tiny"], ["compare", "tiny", "tiny", *hosts]):
        code, out, err = mbench(*words)
        assert (code, out, one_line(err)) == (2, "", True), err
        assert "it is not a regular file" in err
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    make(tmp_path / "name.json")
    assert cache.recall("name") is None
    monkeypatch.setattr(calibration, "file", lambda identity: tmp_path / "name.json")
    assert calibration.recall(None) is None


@pytest.mark.parametrize("make", [fifo, zeros, holding("[" * 10**5), holding("9" * 5000)])
def test_an_environments_record_keeps_nobody_waiting(tmp_path, monkeypatch, make):
    from mbench.environments import managed

    monkeypatch.setenv("MBENCH_ENVIRONMENTS", str(tmp_path))
    name = "tiny-py3.11-0123456789ab"
    (tmp_path / name).mkdir()
    make(managed.record_file(tmp_path / name))
    found, held = managed.use(name)
    held.release()
    assert found.broken.startswith("environment.json is not readable: ")
    managed.remove(name)
    assert managed.entries() == []
