"""Which package may import which, and that the core knows no framework, in files and in runs."""

from __future__ import annotations

import ast
import functools
import graphlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mbench
from mbench.plugins.manager import Plugins, hooks

CORE = Path(mbench.__file__).parent
ADAPTERS = Path(__file__).parents[2] / "adapters"
FILES = sorted(CORE.rglob("*.py"))
WORKERS_SIDE = ("contract", "scenarios", "sdk", "workloads", "worker")
FRAMEWORKS = ("torch", "pytorch", "tensorflow", "tf", "keras", "mxnet", "paddle", "paddlepaddle",
              "jax", "flax", "oneflow", "mindspore", "megengine", "onnxruntime", "tf1",
              "tinygrad")  # fmt: skip
COMPILERS = (
    "cinn",
    "dynamo",
    "hybridize",
    "inductor",
    "openvino",
    "tensorrt",
    "torchscript",
    "xla",
)
EVERYDAY = ("eager", "engine", "freezing", "graph", "hybrid", "jit", "max-autotune", "onednn",
            "static")  # fmt: skip
"""Compilers named by everyday words, or after a library that several frameworks share."""
PHRASES = ("can't allocate memory", "failed to allocate", "oom when", "outofmemory",
           "resourceexhausted", "resource_exhausted", "trying to allocate")  # fmt: skip
"""Phrases in which frameworks report a lack of memory."""
WORDS = "|".join(map(re.escape, (*FRAMEWORKS, *COMPILERS, *PHRASES)))
NAMES_ONE = re.compile(rf"(?<![a-z0-9])({WORDS})(?![a-z0-9])", re.IGNORECASE)

ALL = pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CORE)))


@functools.cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def room(file: Path) -> str:
    """The package of mbench that a file belongs to, or its own name at the top level."""
    return file.relative_to(CORE).parts[0].removesuffix(".py")


def imports(file: Path, *, typed: bool = False) -> set[str]:
    """All modules that a file imports when it runs, early or late, by full name.

    With `typed`, also those that only its annotations need.
    """
    found = set()

    def visit(node: ast.AST) -> None:
        if not typed and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            assert node.module is not None
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(parsed(file))
    return found


def named(file: Path) -> set[str]:
    """The packages of mbench that a file names in imports, also for annotations, or in strings."""
    parts = [module.split(".") for module in imports(file, typed=True)]
    strings = {n.value for n in ast.walk(parsed(file))
               if isinstance(n, ast.Constant) and isinstance(n.value, str)}  # fmt: skip
    parts += [text.partition(":")[0].split(".") for text in strings if MODULE.fullmatch(text)]
    return {p[1] for p in parts if p[0] == "mbench" and len(p) > 1 and p[1] in ROOMS}


MODULE = re.compile(r"mbench(\.\w+)+(:\w+)?")


def test_these_tests_see_what_they_should():
    assert len(FILES) > 60
    file = CORE / "engine" / "single.py"
    assert "mbench.contract.wire" in imports(file)
    assert "contract" in named(file)
    assert "collections.abc" not in imports(file), "imports for type checkers do not count"
    assert "collections.abc" in imports(file, typed=True)


PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
ROOMS = sorted({room(file) for file in FILES} - {"__init__", "__main__"})


def layers() -> list[set[str]]:
    """The packages of each layer, from the bottom up, as the page lists them."""
    table = PAGE.read_text().partition("## Layers")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \d+ \|(.*?)\|", table, re.MULTILINE)
    return [set(re.findall(r"`(\w+)/?`", row)) for row in rows]


LAYERS = layers()
LEVEL = {name: number for number, names in enumerate(LAYERS) for name in names}


def test_the_page_has_every_package_in_one_layer():
    assert sorted(name for names in LAYERS for name in names) == ROOMS
    assert len(ROOMS) <= 27


def test_no_package_has_the_name_of_a_public_function():
    """Importing such a package would replace the function."""
    assert not set(mbench.__all__) & set(ROOMS)


def test_nothing_imports_a_higher_layer():
    """Imports for annotations count too, and so do strings that name a module."""
    found = {
        f"{file.relative_to(CORE)} -> {name}"
        for file in FILES
        if room(file) in LEVEL
        for name in named(file)
        if LEVEL[name] > LEVEL[room(file)]
    }
    assert found == set()


def test_packages_of_one_layer_do_not_import_each_other_in_a_circle():
    graph = {
        name: {other for file in FILES if room(file) == name for other in named(file)
               if other != name and LEVEL[other] == LEVEL[name]}
        for name in ROOMS
    }  # fmt: skip
    list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize(
    "file",
    [file for file in FILES if room(file) in WORKERS_SIDE],
    ids=lambda file: str(file.relative_to(CORE)),
)
def test_a_workers_side_imports_the_standard_library_and_numpy_only(file):
    tops = {module.partition(".")[0] for module in imports(file)}
    assert tops - sys.stdlib_module_names <= {"numpy", "mbench"}


@pytest.mark.parametrize(
    "package", [CORE, *sorted(ADAPTERS.glob("*/mbench_*"))], ids=lambda package: package.name
)
def test_no_files_import_each_other_in_a_circle(package):
    """Imports for annotations count too."""
    names = {module_of(file, package.parent): file for file in sorted(package.rglob("*.py"))}
    graph = {
        name: {found for module in imports(file, typed=True) if (found := within(module, names))}
        - {name}
        for name, file in names.items()
    }
    list(graphlib.TopologicalSorter(graph).static_order())


def module_of(file: Path, root: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def within(module: str, names: dict[str, Path]) -> str | None:
    """`module` if it is one of the files; None if it is a package, or a name within a module."""
    return module if module in names and not names[module].name.startswith("__init__") else None


@ALL
def test_no_file_speaks_of_a_framework(file):
    """No identifier or string names a framework or a framework's compiler, or has its words for a
    lack of memory. Documentation may: strings that stand as a statement, and what is passed as
    `help`.
    """
    tree = parsed(file)
    documentation = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    documentation |= {
        id(part)
        for n in ast.walk(tree)
        if isinstance(n, ast.keyword) and n.arg == "help"
        for part in ast.walk(n.value)
    }
    named = []
    for node in ast.walk(tree):
        words = []
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = [] if id(node) in documentation else [node.value]
        for attribute in ("id", "attr", "arg", "name", "module", "asname"):
            value = getattr(node, attribute, None)
            words += [value] if isinstance(value, str) else []
        named += [word for word in words if NAMES_ONE.search(word)]
    assert named == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("import torch", True), ("pytorch_version", True), ("TF", True), ("is tf here?", True),
        ("mbench_tensorflow.runtime", True), ("tf32", False), ("TensorFloat-32", False),
        ("torchlight", False), ("after", False), ("--xla", True), ("OOM when allocating", True),
        ("relax", False), ("out of memory", False),
    ],
)  # fmt: skip
def test_what_counts_as_naming_one(text, named):
    assert bool(NAMES_ONE.search(text)) is named


def test_every_compiler_of_our_adapters_is_such_a_word_or_an_everyday_one():
    adapters = Plugins(external=False).adapters.unique().values()
    found = {name for adapter in adapters for name in adapter.compilers}
    assert found >= {"eager", "graph"}
    assert found <= {*COMPILERS, *EVERYDAY}


@ALL
def test_nothing_is_unpickled_evaluated_or_given_to_a_shell(file):
    tree = parsed(file)
    assert not {"pickle", "marshal", "shelve"} & {m.partition(".")[0] for m in imports(file)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            assert not (isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec"))
            assert ast.unparse(node.func) not in ("os.system", "os.popen")
            passed = {k.arg: ast.unparse(k.value) for k in node.keywords}
            assert passed.get("shell", "False") == "False"
            assert passed.get("allow_pickle", "False") == "False"


STARTERS = {
    "engine/command.py": "an engine, such as mpirun, that holds agents",
    "engine/local.py": "workers of this machine",
    "engine/ray.py": "an agent, in a task on a node",
    "machine/helper.py": "all other programs",
    "machine/process_tree.py": "watchers",
    "site/build.py": "its own work, on all cores",
}
"""The files that start processes, and what they start."""
STARTING = re.compile(
    r"^(subprocess\.(run|call|check_call|check_output|getoutput|getstatusoutput|Popen)|"
    r"os\.(system|popen|fork|forkpty|posix_spawnp?|spawn\w+|exec\w+)|pty\.(spawn|fork)|"
    r"(asyncio\.)?create_subprocess_\w+|multiprocessing\.Process|"
    r"(concurrent\.futures\.)?ProcessPoolExecutor)$"
)


def test_only_these_files_start_processes():
    """So every helper program is bounded in time and output: see machine/helper.py."""
    found = {
        str(file.relative_to(CORE))
        for file in FILES
        for node in ast.walk(parsed(file))
        if (isinstance(node, ast.Call) and STARTING.match(ast.unparse(node.func)))
        or (isinstance(node, ast.ImportFrom) and any(
            STARTING.match(f"{node.module}.{one.name}") for one in node.names))
    }  # fmt: skip
    assert found == set(STARTERS)


@ALL
def test_every_module_says_what_it_is_for(file):
    says = (ast.get_docstring(parsed(file)) or "").partition("\n\n")[0]
    assert says.endswith((".", "?")), says


HOOKS = {name: hook for name, hook in vars(hooks).items() if hasattr(hook, "mbench_spec")}


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_documented_in_one_sentence(name):
    hook = HOOKS[name]
    assert name.startswith("mbench_")
    assert name.endswith("s"), "a plural noun"
    says = inspect.getdoc(hook) or ""
    assert re.fullmatch(r"[A-Z][^\n]*[^\s.]\.", says), says
    assert not re.search(r"\. [A-Z]", says), "one sentence"
    assert "return" in hook.__annotations__


def test_there_are_hooks():
    assert {"mbench_adapters", "mbench_workloads", "mbench_reports"} <= set(HOOKS)


TELL = """
import json, sys
sys.argv = ["mbench", *sys.argv[1:]]
from mbench.cli.main import main
try:
    main()
except SystemExit as end:
    print(json.dumps({"code": end.code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""


@pytest.fixture
def modules(tmp_path):
    """Runs mbench where importing a framework is an error; returns the modules that it imported."""
    lair = tmp_path / "frameworks"
    lair.mkdir()
    for name in FRAMEWORKS:
        (lair / f"{name}.py").write_text("raise SystemError('a framework was imported')\n")

    def modules(code: str, *arguments: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, "PYTHONPATH": str(lair)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "SystemError" not in done.stderr, done.stderr
        said = json.loads(done.stderr.splitlines()[-1])
        assert said["code"] == 0, done.stderr
        return set(said["modules"])

    return modules


BEGUN = ["compare", "tiny", "tiny", "--models", "tiny-model", "--results", "none", "--dry-run"]
"""A command that does all that comes before a measurement, and then stops."""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["compare", "--help"], ["list"], ["list", "frameworks"], BEGUN],
)
def test_simple_commands_import_no_framework_and_nothing_slow(modules, arguments):
    found = modules(TELL, *arguments)
    assert "mbench.cli.main" in found
    tops = {module.partition(".")[0] for module in found}
    assert not tops & {*FRAMEWORKS, "scipy", "pandas", "matplotlib", "virtualenv"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["compare", "--help"]])
def test_help_imports_next_to_nothing(modules, arguments):
    found = modules(TELL, "--no-external-plugins", *arguments)
    tops = {module.partition(".")[0] for module in found}
    assert not tops & {"numpy", "rich", "psutil", "packaging", "filelock", "platformdirs"}
    assert not any(m.startswith(("mbench.measure", "mbench.engine")) for m in found)
    if arguments == ["--help"]:
        assert "mbench.scenarios.find" not in found


def test_a_worker_imports_nothing_of_the_parents_side(modules):
    found = modules(
        "import json, sys, mbench.worker.session, mbench.workloads.resnet, mbench.workloads.bert\n"
        "print(json.dumps({'code': 0, 'modules': sorted(sys.modules)}), file=sys.stderr)"
    )
    ours = {module.split(".")[1] for module in found if module.startswith("mbench.")}
    assert ours == {"contract", "scenarios", "worker", "workloads"}
    tops = {module.partition(".")[0] for module in found}
    assert not tops & {"click", "pluggy", "rich", "scipy", "psutil", "packaging", "platformdirs"}
