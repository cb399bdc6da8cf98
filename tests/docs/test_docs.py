"""The documentation says what the code does: nothing left out, nothing that does not exist."""

from __future__ import annotations

import ast
import configparser
import re
import shlex
from pathlib import Path

import click
import pytest

import mbench
from mbench.cli import builtin
from mbench.contract import adapter
from mbench.contract.benchmark import Benchmark
from mbench.contract.device import Device
from mbench.contract.outcome import OUTCOMES
from mbench.contract.precision import PRECISIONS
from mbench.contract.workload import Workload
from mbench.plugins import hooks
from mbench.proofs import tolerances
from mbench.proofs.judge import CHECKS
from mbench.results import changes, later
from mbench.spec.arm import Arm

CORE = Path(mbench.__file__).parent


def written(pages: dict[str, str]) -> str:
    """The text of all of docs/ except the generated pages."""
    made = ("docs/cli.md", "docs/run-file.md")
    return "\n".join(
        text for path, text in pages.items() if path.startswith("docs/") and path not in made
    )


def code_lines(text: str) -> list[str]:
    """The commands of a page's console blocks."""
    blocks = re.findall(r"```(?:console|sh)\n(.*?)```", text, re.DOTALL)
    return [line.removeprefix("$ ").strip() for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("name", ["cli.md", "run-file.md"])
def test_what_follows_from_the_code_is_current(generate, pages, name):
    assert generate.pages()[name] == pages[f"docs/{name}"], "run python docs/generate.py"


def test_every_command_and_option_is_documented(generate, pages):
    for context in generate.contexts():
        assert f"## `{context.command_path}`" in pages["docs/cli.md"]
        if not isinstance(context.command, click.Group):
            assert re.search(rf"{context.command_path}\b", written(pages)), context.command_path
        for parameter in context.command.get_params(context):
            if isinstance(parameter, click.Option):
                for option in [*parameter.opts, *parameter.secondary_opts]:
                    assert option in pages["docs/cli.md"], option


def test_every_option_of_ours_has_a_help_text(generate):
    for context in generate.contexts():
        for parameter in context.command.get_params(context):
            if isinstance(parameter, click.Option) and parameter.name != "format_":
                assert parameter.help, f"{context.command_path} {parameter.opts[0]}"


def test_every_hook_is_documented(pages):
    names = [name for name in vars(hooks) if name.startswith("mbench_")]
    assert names
    for name in names:
        assert f"`{name}`" in pages["docs/architecture.md"], name


def test_every_format_is_documented(pages):
    for name in builtin.FORMATS:
        assert f"`{name}`" in pages["docs/getting-started.md"], name


@pytest.mark.parametrize(
    "protocol",
    [adapter.Adapter, adapter.Runtime, Benchmark, Device, Workload],
)
def test_every_member_of_the_contract_is_documented(protocol, pages):
    members = {name for name in vars(protocol) if not name.startswith("_")}
    members |= set(protocol.__annotations__)
    if protocol is Workload:  # these are provided, and need not be written
        members -= {"copied", "drawn", "flops", "initial", "parameter_count", "parameters",
                    "replace", "trains"}  # fmt: skip
    for name in members:
        assert re.search(rf"`{name}[`(]", pages["docs/writing-an-adapter.md"]), name


def test_every_outcome_precision_and_check_is_documented_as_it_is(pages):
    for name, meaning in OUTCOMES.items():
        assert f"| `{name}` | {meaning} |" in pages["docs/methodology.md"]
    for name, precision in PRECISIONS.items():
        assert f"| `{name}` | {precision.says} |" in pages["docs/methodology.md"]
    for name in CHECKS:
        assert f"| `{name}` |" in pages["docs/equal-work.md"]


def test_the_gates_are_the_documented_ones(pages):
    rows = re.findall(r"^\| (.+?) \| ([\de.-]+) \|", pages["docs/equal-work.md"], re.MULTILINE)
    found = {name: float(value) for name, value in rows}
    timed = {f"`timed`, `{precision}`": gate for precision, gate in tolerances.TIMED.items()}
    others = {
        "everything in float64": tolerances.EXACT,
        "`flops`": tolerances.FLOPS,
        "`parameters`": 0.0,
    }
    others |= {"`dropout`": tolerances.DROPOUT, "growth of updates": tolerances.GROWTH}
    others["updates of each tensor, with dropout and AdamW"] = tolerances.DROPPED_TENSOR
    others["tensors of a part that stands still"] = changes.FEWEST
    others["length of the way since step 16"] = later.HALF
    others["`rule`, parameters in half precision"] = tolerances.RULE["bf16"]
    for names, *gates in (
        ("losses, {}", "`fp32`", "`amp-bf16` and `bf16`", "`tf32` and `amp-fp16`"),
        ("outputs of a batch, {}", "`amp-bf16` and `bf16`", "`tf32`, `amp-fp16` and `fp16`"),
    ):
        known = tolerances.TIMED_LOSSES if "losses" in names else tolerances.TIMED_OUTPUTS
        for precisions in gates:
            of = {known[precision] for precision in re.findall("`(.+?)`", precisions)}
            (others[names.format(precisions)],) = of
    others["outputs of a batch (inference), `fp32`"] = tolerances.TIMED_OUTPUTS["fp32"]
    assert found == {**timed, **others}
    single, half = tolerances.CHANGES["fp32"], tolerances.CHANGES["amp-bf16"]
    said = f"a tensor {single.short} too small; an eighth of the model: {single.shorter} in size, "
    assert f"{said}{single.direction} in direction" in pages["docs/equal-work.md"]
    said = f"a tensor {half.short} too small; an eighth of the model: {half.shorter} too small, "
    said += f"{half.longer} too large |"
    assert said in pages["docs/equal-work.md"]
    for precision, (norm, direction) in tolerances.CHANGED.items():
        said = f"{norm:.1e}, {direction:.1e}".replace(".0e", "e").replace("e-0", "e-")
        assert precision == "fp64" or f"| {said} |" in pages["docs/equal-work.md"], precision
    assert tolerances.DRIFT == 0.1, "the text says so"
    assert tolerances.UPDATE_FLOOR == 0.01, "the text says so"


TIER_FILES = sorted(CORE.parents[1].glob("adapters/*/mbench_*/tiers.py"))


@pytest.mark.parametrize("file", TIER_FILES, ids=lambda file: file.parent.name)
def test_the_sources_of_every_tier_are_documented(file, pages):
    """docs/fairness.md has the titles that the tier names."""
    sources = [
        ast.literal_eval(keyword.value)
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "source"
    ]
    page = " ".join(pages["docs/fairness.md"].split())
    assert len(sources) >= 2
    for title in re.findall('"(.+?)"', " ".join(sources)):
        assert title in page, f"add {title!r} to docs/fairness.md"


def test_every_variable_is_documented(pages):
    sources = "".join(path.read_text(encoding="utf-8") for path in CORE.rglob("*.py"))
    variables = set(re.findall(r"\bMBENCH_[A-Z_]+", sources))
    assert variables
    for name in variables:
        assert f"| `{name}` |" in pages["docs/getting-started.md"], name


def test_commands_in_the_pages_can_be_typed(generate, pages):
    root = next(generate.contexts())
    seen = 0
    for path, text in pages.items():
        for line in code_lines(text):
            for part in line.split("&&"):
                words = shlex.split(part)
                if words and Path(words[0]).name == "mbench":
                    words = [word for word in words if word != "--no-external-plugins"]
                    check(root, words[1:], where=f"{path}: {line}")
                    seen += 1
    assert seen > 20


def check(parent: click.Context, words: list[str], *, where: str) -> None:
    """Parse `words` as the command line would; nothing runs."""
    group = parent.command
    assert isinstance(group, click.Group)
    command = group.get_command(parent, words[0])
    assert command is not None, where
    if isinstance(command, click.Group):
        check(click.Context(command, info_name=words[0], parent=parent), words[1:], where=where)
        return
    try:
        context = command.make_context(words[0], list(words[1:]), parent=parent)
    except click.ClickException as error:
        pytest.fail(f"{where}: {error.format_message()}")
    for framework in context.params.get("frameworks", ()):
        Arm(framework)


def test_links_lead_somewhere(pages, root):
    for path, text in pages.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (root / path).parent / name if name else root / path
            assert file.exists(), f"{path}: {target}"
            if anchor:
                titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                assert anchor in map(slug, titles), f"{path}: {target}"


def slug(title: str) -> str:
    """The anchor that mkdocs gives a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


TERM = re.compile(r"^(.+)\n:   ", re.MULTILINE)


def test_a_word_is_explained_once_and_in_the_glossary(pages):
    terms = [
        term
        for line in TERM.findall(pages["docs/glossary.md"])
        for term in line.lower().split(", ")
    ]
    assert {"tolerance", "ratio", "block", "process pair", "interval", "axis"} < set(terms)
    assert len(terms) == len(set(terms)) <= 40
    elsewhere = {path for path, text in pages.items() if TERM.search(text)}
    assert elsewhere == {"docs/glossary.md"}


def test_every_page_is_in_the_navigation(root, pages):
    config = (root / "mkdocs.yml").read_text(encoding="utf-8")
    listed = {f"docs/{name}" for name in re.findall(r": (\S+\.md)$", config, re.MULTILINE)}
    assert listed == {path for path in pages if path.startswith("docs/")}


def test_excerpts_are_those_of_the_example(root, pages):
    page = pages["docs/adding-a-model.md"]
    found = re.findall(r"<!-- (\S+) -->\n```\w+\n(.*?)```", page, re.DOTALL)
    assert len(found) > 4
    for source, excerpt in found:
        assert packed(excerpt) in packed((root / source).read_text(encoding="utf-8")), excerpt


def packed(code: str) -> str:
    """`code` without indentation and blank lines, in which an excerpt may differ."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


def test_the_readme_runs_the_main_job_and_the_tests(root, pages):
    readme = pages["README.md"]
    install = "python3 -m venv .venv && .venv/bin/pip install"
    for command in (
        f"{install} . && .venv/bin/mbench compare torch tf --models resnet18 --fast",
        f"{install} tox && .venv/bin/tox run-parallel --parallel 2",
    ):
        assert command in code_lines(readme), command
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(root / "tox.ini")
    for name in re.findall(r"tox -e ([\w,]+)", "\n".join(pages.values())):
        for environment in name.split(","):
            known = re.split(r"[,\s]+", settings["tox"]["env_list"])
            assert environment in known or f"testenv:{environment}" in settings, environment
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"optional-dependencies\]\n(.*?)\n\n", project, re.DOTALL)
    assert extras is not None
    for extra in re.findall(r"^(\w+) =", extras[1], re.MULTILINE):
        assert f"`{extra}`" in pages["docs/getting-started.md"], extra


def test_the_readme_is_read_in_two_minutes_and_shows_a_comparison_first(pages):
    readme = pages["README.md"]
    assert len(readme.split()) <= 500
    before, _, after = readme.partition("<!-- output -->\n```text\n")
    assert len(before.splitlines()) < 15, "the output is within the first screen"
    assert after.index("<!-- /output -->") < after.index("## Install") < after.index("## Why")


def test_every_test_that_a_page_names_is_there(pages):
    named = re.findall(r"`([\w/]+\.py)::(\w+)(?:\[\.\.\.\])?`", pages["docs/reliability.md"])
    assert len(named) > 50
    tests = Path(__file__).parents[1]
    for file, name in named:
        found = [path for path in tests.rglob(Path(file).name) if str(path).endswith(file)]
        assert any(f"def {name}(" in path.read_text() for path in found), f"{file}::{name}"
