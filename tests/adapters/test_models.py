"""Model files of all adapters: what the cache of proofs and their readers rely on."""

from __future__ import annotations

import ast
from pathlib import Path

import proven
import pytest
from families import QUICK, REPRESENTATIVES
from lies import WORKLOADS

from mbench.cli.builtin import mbench_workloads
from mbench.workloads.find import find_workload

ADAPTERS = Path(__file__).parents[2] / "adapters"
FUNCTIONS = {
    "keras": {"build"}, "onnxruntime": {"forward"}, "openvino": {"forward"},
    "tinygrad": {"build", "forward"},
}  # fmt: skip
"""The functions of model files where they are not the usual ones: Keras runs its models itself,
adapters that do not train build graphs in the forward pass, and tinygrad has losses of the SDK.
"""
LOSSLESS = {"operators.py", "collectives.py"}
"""Files without a loss: they are differentiated along given directions, or not at all."""
DIVIDED = {"llama", "vit"}
"""Families whose divided steps every adapter's tests prove, see families.py."""
FILES = sorted(file for file in ADAPTERS.glob("*/*/models/*.py") if file.name != "__init__.py")


def test_there_are_model_files_of_every_adapter():
    assert {file.parts[-4] for file in FILES} == {path.name for path in ADAPTERS.iterdir()}


def test_every_family_is_proven_by_a_model_of_it_in_two_frameworks_or_by_lies():
    models = {**mbench_workloads(), **dict.fromkeys(proven.MODELS, "proven:MODELS")}
    family = {name: find_workload(reference, name).family for name, reference in models.items()}
    by_lies = {find_workload(reference, name).family for name, reference in WORKLOADS.items()}
    by_lies |= DIVIDED
    assert by_lies | {family[name] for name in REPRESENTATIVES} == set(family.values())
    for name, (_, *frameworks) in REPRESENTATIVES.items():
        quick = find_workload(models[name], name).parameter_count() < QUICK
        assert len({*frameworks, *(["torch"] if quick else [])}) >= 2, name


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-4::3]))
def test_a_model_file_stands_alone_and_has_its_functions(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    package = f"{file.parts[-3]}.models"
    assert not [name for name in imported if name and name.startswith(package)]
    usual = {"build", "forward"} if file.name in LOSSLESS else {"build", "forward", "loss"}
    assert FUNCTIONS.get(file.parts[-4], usual) <= set(bound(tree))
    documented = ast.get_docstring(tree)
    assert documented is not None
    shared = any(name and name.startswith("mbench.sdk.networks.") for name in imported)
    assert "Shapes:" in documented or shared


def bound(tree):
    """Yields the names that a module defines as functions, assigns or imports."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


ATTENTIVE = [file for file in FILES if file.stem in ("bert", "dit", "gpt2", "llama", "moe", "vit")]


@pytest.mark.parametrize(
    "file",
    ATTENTIVE,
    ids=lambda file: "/".join(file.parts[-4::3]),
)
def test_what_computes_attention_is_named_among_the_differences(file):
    named = [one for one in texts(ast.Name("DIFFERENCES"), file) if one.startswith("attention is ")]
    assert len(named) == 1, file


@pytest.mark.parametrize(
    "file", [file for file in FILES if file.stem == "dlrm"], ids=lambda file: file.parts[-4]
)
def test_whether_an_update_of_tables_is_dense_is_said(file):
    """Only frameworks that train have such an update."""
    if "loss" in bound(ast.parse(file.read_text(encoding="utf-8"))):
        assert "each step updates all" in " ".join(texts(ast.Name("DIFFERENCES"), file))


def texts(node, file):
    """Yields the texts of a module's constant, by its source: no framework is here to import it."""
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(text for part in node.values for text in texts(part, file))
    elif isinstance(node, ast.Tuple):
        for one in node.elts:
            yield from texts(one, file)
    elif isinstance(node, (ast.Starred, ast.FormattedValue)):
        yield from texts(node.value, file)
    elif isinstance(node, ast.Attribute):  # of a module
        yield from texts(ast.Name(node.attr), imported(node.value.id, file))
    else:
        yield from texts(*definition(node.id, file))


def definition(name, file):
    """The node that a name is assigned, in `file` or where it is imported from; and that file."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and name in [one.id for one in node.targets]:
            return node.value, file
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return ast.Name(alias.name), module(node.module, file)
    raise LookupError(f"{name} in {file}")


def imported(name, file):
    """The file of the module `name`, which `file` imports from its package."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and name in [one.name for one in node.names]:
            return module(f"{node.module}.{name}", file)
    raise LookupError(f"{name} in {file}")


def module(name, file):
    """The file of the module `name` in the adapter that has `file`."""
    (adapter, *_) = file.relative_to(ADAPTERS).parts
    return ADAPTERS / adapter / f"{name.replace('.', '/')}.py"
