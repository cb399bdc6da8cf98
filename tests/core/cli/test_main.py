"""The command line: every mistake gives one line with the fix, before anything is measured."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import click
import pytest

import mbench
from mbench import cli
from mbench.cli.explain import REFUSED
from mbench.cli.grouped import GROUPS
from mbench.cli.late import COMMANDS
from mbench.cli.main import group


def commands():
    """Every command and subcommand as the words that call it."""
    context = click.Context(group)
    found = []

    def walk(parent, words):
        for name in parent.list_commands(context):
            child = parent.get_command(context, name)
            found.append((*words, name))
            if isinstance(child, click.Group):
                walk(child, (*words, name))

    walk(group, ())
    return found


def test_every_module_with_a_command_is_listed():
    modules = [import_module(one.name) for one in iter_modules(cli.__path__, "mbench.cli.")]
    found = {one.command.name for one in modules if hasattr(one, "command")}
    assert found == COMMANDS.keys()


def test_the_help_imports_no_command_and_no_library_that_takes_long():
    program = (
        "import atexit, sys; sys.argv = ['mbench', '--help']; from mbench.cli.main import main; "
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "MBENCH_DISABLE_EXTERNAL_PLUGINS": "1"},
    )  # fmt: skip
    assert "compare    Measure frameworks against each other." in done.stdout
    loaded = set(done.stderr.split())
    assert "mbench.cli.main" in loaded
    late = {f"mbench.cli.{name}" for name in COMMANDS}
    assert not loaded & {*late, "numpy", "rich", "jinja2", "mbench.reports", "mbench.results.run"}


def test_all_commands_are_there():
    names = {words[0] for words in commands()}
    assert {"compare", "run", "verify", "show", "list", "env"} <= names
    assert ("env", "create") in commands()


@pytest.mark.parametrize("words", [(), *commands()], ids=" ".join)
def test_the_help_of_every_command_has_examples_that_call_it(command, words):
    code, out, err = command(*words, "--help")
    assert (code, err) == (0, "")
    examples = out.partition("Example")[2].partition("\n\n")[0].splitlines()[1:]
    called = [line for line in examples if line.strip().startswith(" ".join(["mbench", *words]))]
    assert called, out


@pytest.mark.parametrize("words", [(), *commands()], ids=" ".join)
def test_short_help_is_help(command, words):
    assert command(*words, "-h") == command(*words, "--help")


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_option_is_described(words):
    context = click.Context(group)
    found = group
    for word in words:
        found = found.get_command(context, word)
    lacking = [
        option.opts[-1]
        for option in found.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert lacking == []


@pytest.mark.parametrize("words", [(), ("compare",), ("env", "create")], ids=" ".join)
def test_help_is_a_command_too(command, words):
    assert command("help", *words) == command(*words, "--help")


@pytest.mark.parametrize(
    "words", [["tiny", "flaky"], ["tiny,flaky"], ["--frameworks", "tiny,flaky"]]
)
def test_frameworks_are_named_as_arguments_or_as_an_option(command, words):
    rest = ["--models", "tiny-model", "--device", "cpu", "--dry-run"]
    code, out, _ = command("compare", *words, *rest)
    assert code == 0
    assert ": tiny (eager), flaky (eager): at most " in out


@pytest.mark.parametrize("option", ["--version", "-v", "-V", "version"])
def test_version(command, option):
    code, out, err = command(option)
    assert (code, out, err) == (0, f"mbench, version {mbench.__version__}\n", "")


GROUPED = ["compare", "run", "verify", "explain", "calibrate"]


@pytest.mark.parametrize("name", GROUPED)
def test_the_usual_options_come_first_in_groups_and_all_with_help_all(command, name):
    def options(text):
        return re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)

    _, few, _ = command(name, "--help")
    code, whole, _ = command(name, "--help-all")
    assert code == 0
    assert len(options(few)) == 12, "ten, --help and --help-all"
    assert set(options(few)) < set(options(whole))
    found = group.get_command(click.Context(group), name)
    typed = {max(one.opts, key=len) for one in found.params
             if isinstance(one, click.Option) and one.name not in found.refused}  # fmt: skip
    assert typed <= set(options(whole))
    refused = {f"--{name.replace('_', '-')}" for name in found.refused}
    assert not refused & set(options(whole))
    sections = re.findall(r"^([A-Z][a-z ]+):$", whole, re.MULTILINE)
    assert [one for one in sections if one in (*GROUPS, "Options")] == [
        one for one in GROUPS if one in sections
    ]
    assert {"What", "Where", "Equal work", "Output", "Expert"} <= set(sections)


@pytest.mark.parametrize("name", REFUSED)
def test_explain_refuses_the_options_that_it_does_not_show(command, name):
    value = {"rigorous": [], "protocol": ["nvidia"], "until": ["2%"], "operators": ["tiny-model"]}
    option = f"--{name.replace('_', '-')}"
    code, _, err = command("explain", "tiny", "flaky", "--models", "tiny-model", option,
                           *value.get(name, ["7"]))  # fmt: skip
    assert code == 2
    assert option in err


def test_the_ways_to_type_a_comparison(command):
    rest = ["--batch", "8", "--budget", "5m", "--models", "Tiny_Model", "--device", "cpu"]
    code, out, _ = command("compare", "tiny", "flaky", *rest, "--mode", "both", "--dry-run")
    assert code == 0
    assert "tiny-model train, batch 8" in out
    assert "tiny-model inference, batch 8" in out
    assert "at most 5 min" in out


def test_no_arguments_show_the_help(command):
    code, out, err = command()
    assert code == 2
    assert "compare" in out + err


COMPARE = ["compare", "--frameworks", "tiny,tiny", "--models", "tiny-model", "--device", "cpu"]
MISTAKES = [
    (["comparee"], "unknown command 'comparee'; did you mean compare?"),
    (["zzz"], "unknown command 'zzz'; mbench --help shows them all"),
    (["compare"], "compare needs two or more frameworks"),
    (["compare", "tiny"], "compare needs two or more frameworks"),
    (["compare", "tiny", "tinny"], "unknown framework 'tinny'; did you mean tiny?"),
    (["compare", "tiny", "--frameworks", "tiny,flaky"],
     "tiny and --frameworks tiny,flaky both name frameworks; give one of them"),
    (["verify"], "verify needs at least one framework"),
    (["help", "comparee"], "unknown command 'comparee'; did you mean compare?"),
    (["help", "show", "run"], "unknown command 'show run'; none are available"),
    ([*COMPARE, "--fast", "--protocol", "dlperf"], "--fast is for the protocol adaptive, not for"),
    (["compare", "--frameworks", "tiny"], "compare needs two or more frameworks"),
    (["compare", "--frameworks", "tinny,tiny"], "unknown framework 'tinny'; did you mean tiny?"),
    (["compare", "tiny", "tensorflo"], "unknown framework 'tensorflo'; did you mean tensorflow?"),
    (["run", "pytorhc"], "unknown framework or suite 'pytorhc'; did you mean pytorch"),
    (["run", "tinny"], "unknown framework or suite 'tinny'; did you mean tiny?"),
    (["run", "quik"], "unknown framework or suite 'quik'; did you mean quick?"),
    (["verify", "--frameworks", "flakey"], "unknown framework 'flakey'; did you mean flaky?"),
    (["env", "create", "flakey"], "unknown framework 'flakey'; did you mean flaky?"),
    (["compare", "--frameworks", "tiny,,tiny"], "'tiny,,tiny' contains an empty item"),
    (["compare", "--frameworks", "tiny==,tiny"], "is not a framework"),
    (["run"], "Missing argument 'FRAMEWORK|SUITE'"),
    (["run", "tiny", "flaky"], "unexpected extra argument (flaky)"),
    ([*COMPARE, "--models", "resnet51"], "unknown model 'resnet51'; did you mean resnet50"),
    ([*COMPARE, "--mode", "trian"], "unknown mode 'trian'; did you mean train?"),
    ([*COMPARE, "--precision", "fp33"], "unknown precision 'fp33'; did you mean fp32"),
    ([*COMPARE, "--compiler", "eagre"], "unknown compiler 'eagre'; did you mean eager?"),
    ([*COMPARE, "--xla"], "unknown compiler 'xla'"),
    ([*COMPARE, "--format", "tabel"], "unknown format 'tabel'; did you mean table"),
    (["show", "--format", "xlsx"], "unknown format 'xlsx'; available: csv, details, html, "),
    (["verify", "--frameworks", "tiny", "--format", "csv"], "'csv' is not one of 'table', 'json'"),
    ([*COMPARE, "--device", "tpu"], "'tpu' is not one of 'auto', 'cpu', 'cuda'"),
    ([*COMPARE, "--framewrks", "x"], "--framewrks"),
    ([*COMPARE, "--round", "3"], "--rounds"),
    ([*COMPARE, "--batch-size", "0"], "'0' is not a whole number of 1 or more"),
    ([*COMPARE, "--batch-size", "-1"], "'-1' is not a whole number of 1 or more"),
    ([*COMPARE, "--batch-size", "x"], "'x' is not a whole number of 1 or more"),
    ([*COMPARE, "--batch-size", "8,1.5"], "'1.5' is not a whole number of 1 or more"),
    ([*COMPARE, "--batch-size", "\u00b2"], "is not a whole number of 1 or more"),
    ([*COMPARE, "--batch-size", "8,,16"], "'8,,16' contains an empty item"),
    ([*COMPARE, "--batch-size", ""], "contains an empty item"),
    ([*COMPARE, "--threads", "0"], "'0' is not a whole number of 1 or more"),
    ([*COMPARE, "--processes", "0"], "'0' is not a whole number of 1 or more"),
    ([*COMPARE, "--rounds", "many"], "'many' is not a whole number of 1 or more"),
    ([*COMPARE, "--budget", "0"], "'0' is not a time above 0 like 90, 90s, 5m or 1h"),
    ([*COMPARE, "--budget", "nan"], "'nan' is not a time above 0 like 90, 90s, 5m or 1h"),
    ([*COMPARE, "--block", "inf"], "'inf' is not a time above 0 like 90, 90s, 5m or 1h"),
    ([*COMPARE, "--timeout", "-1"], "'-1' is not a time above 0 like 90, 90s, 5m or 1h"),
    ([*COMPARE, "--seed", "-1"], "'-1' is not a whole number of 0 or more"),
    ([*COMPARE, "--image-size", "96"], "size image_size fits none of the models tiny-model; they "),
    ([*COMPARE, "--image-size", "x"], "'x' is not a whole number of 1 or more"),
    ([*COMPARE, "--size", "96"], "'96' is not a size like image_size=96"),
    ([*COMPARE, "--size", "n=0"], "'n=0' is not a size like image_size=96"),
    (
        [*COMPARE, "--models", "resnet50,bert-base", "--size", "pixels=96"],
        "size pixels fits none of the models resnet50, bert-base; they take image_size, pred",
    ),
    (
        [*COMPARE, "--image-size", "96", "--size", "image_size=64"],
        "image_size is given as 64 and as 96; give one of them",
    ),
    ([*COMPARE, "--models", "resnet50", "--image-size", "9"], "of resnet50 must be 32 or more"),
    (
        [*COMPARE, "--models", "bert-base", "--sequence-length", "513"],
        "sequence_length of bert-base must be 1 to 512, not 513",
    ),
    (
        [*COMPARE, "--amp", "--precision", "fp32"],
        "--amp contradicts --precision fp32; give one of them",
    ),
    (
        [*COMPARE, "--no-amp", "--precision", "amp-bf16,fp32"],
        "--no-amp contradicts --precision amp-bf16,fp32; give one of them",
    ),
    (
        [*COMPARE, "--xla", "--compiler", "eager"],
        "--xla contradicts --compiler eager; give one of them",
    ),
    (
        [*COMPARE, "--no-xla", "--compiler", "xla"],
        "--no-xla contradicts --compiler xla; give one of them",
    ),
    ([*COMPARE, "--output", "no/such/report.md"], "there is no folder no/such"),
    (["verify", "--frameworks", "tiny", "--output", "no/such/report.json"], "no folder no/such"),
    (["verify", "--frameworks", "tiny", "--output", "x.md"], "x.md would hold markdown"),
    (["show", "--output", "no/such/report.md"], "there is no folder no/such"),
    ([*COMPARE, "--output", "."], "is a directory"),
    ([*COMPARE, "--budget", "2"], "a budget of 2 s for 10 workers"),
    ([*COMPARE, "--resume", "nowhere", "--dry-run"], "no runs in"),
    (["show"], "no runs in"),
    (["show", "2026"], "no runs in"),
    (["list", "frameworkz"],
     "'frameworkz' is not one of 'all', 'frameworks', 'models', 'operators', 'modes', 'suites', "
     "'tasks', 'launchers', 'runs'"),
    (["env", "creat"], "creat"),
    (["env", "remove", "nothing"], "nothing"),
    (["env", "create", "tiny@/usr/bin/python3"], "there is nothing to build"),
    (["compare", "--frameworks", "tiny@/no/such/python,tiny", "--models", "tiny-model"],
     "/no/such/python"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=lambda value: None)
def test_mistakes_are_one_line_and_exit_code_two(command, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = command(*arguments)
    assert (code, out) == (2, ""), err
    assert said in err
    assert err.startswith("mbench: ")
    assert err.count("\n") == 1, err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("words", [COMPARE, ["verify", *COMPARE[1:]], ["run", "tiny"]])
def test_a_device_that_is_not_there_ends_before_anything_begins(
    command, tmp_path, monkeypatch, words
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mbench.machine.records.Machine.device", lambda self, name: None)
    code, _, err = command(*words, "--device", "cuda")
    assert (code, err.count("\n")) == (2, 1)
    assert "no NVIDIA GPU is visible on this machine" in err
    assert os.listdir(tmp_path) == []


def test_a_mistake_in_a_commands_options_points_to_its_help(command):
    assert "(see mbench compare --help)" in command("compare", "--no-such-option")[2]


def test_lists(command):
    code, out, err = command("list")
    assert code == 0
    assert err == ""
    assert "resnet50" in out
    assert "Tiny" in out
    listed = command("list", "models")[1]
    assert "25,557,032" in listed
    assert "not proven yet" not in listed, "one word for each of 59 models says nothing"
    assert re.search(r"models proven here, out of \d+: .*tiny \d+.*; mbench verify", listed)
    for what, there, absent in (
        ("frameworks", "Tiny", "resnet50"),
        ("suites", "nvidia-inference", "Tiny"),
        ("launchers", "by mpirun", "resnet50"),
        ("models", "resnet50", "Tiny "),
    ):
        code, out, _ = command("list", what)
        assert code == 0
        assert there in out
        assert absent not in out
    assert "no runs" in command("list", "runs")[1]


def test_what_is_known_of_one_framework_is_listed(command):
    code, out, err = command("list", "TINY")
    assert (code, err) == (0, "")
    for name, said in (
        ("title", "Tiny"),
        ("plugin", "mbench-tiny"),
        ("runs in", "this Python"),
        ("compiler", "eager: "),
        ("lacks", "this compiler does not exist (compiler imaginary)"),
    ):
        assert re.search(rf"^{name} +.*{re.escape(said)}", out, re.MULTILINE), (name, out)


@pytest.mark.parametrize(
    "typed",
    [
        ["--image-size", "96", "--sequence-length", "64"],
        ["--size", "image_size=96", "--size", "sequence_length=64"],
        ["--image-size", "96", "--size", "sequence_length=64", "--size", "image_size=96"],
    ],
)
def test_sizes_by_their_options_and_by_name_are_the_same(command, monkeypatch, typed):
    from mbench.cli import compare

    seen = []
    monkeypatch.setattr(compare, "preflight_of", lambda _, experiment: seen.append(experiment))
    monkeypatch.setattr(compare, "measure", lambda context, checked: 0)
    assert command(*COMPARE, *typed)[0] == 0
    assert seen[0].sweeps[0].sizes == {"image_size": 96, "sequence_length": 64}


def test_ctrl_c_while_libraries_are_loaded_is_one_line(tmp_path):
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "mbench", "list"], env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "mbench: interrupted\n")
