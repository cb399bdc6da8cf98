"""A digest of what a proof in float64 depends on; renaming and rewording do not change it.

It covers the model's facts as data, its reference file, the tolerances in float64, and the source
of the adapter. Of the source, only what is executed counts: not comments, docstrings, annotations,
imports or error messages. Files count by their content, not by their names. No framework is
imported.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbench.cli.builtin import mbench_workloads
from mbench.proofs import tolerances
from mbench.proofs.reference import folder_of
from mbench.workloads.find import find_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.workload import Workload

__all__ = ["FOLDERS", "code_of", "facts_of", "normalized", "sources"]

ROOT = Path(__file__).parents[1]
FOLDERS = {"torch": "pytorch", "tf": "tensorflow", "mxnet": "mxnet", "paddle": "paddle",
           "jax": "jax"}  # fmt: skip
"""Folders below adapters/ of the adapters whose proofs are recorded."""
NOT_PROVEN = {"plugin", "tiers", "profiler", "parallel", "collectives", "inputs"}
"""Modules that describe an adapter, or serve several devices, profiles or input pipelines, which
are proven by their pixels."""
SHARED = "mbench.sdk.networks"
"""Model files that adapters share."""
PLANS = "mbench.workloads"
"""Modules in this package count if a model file imports them, since it builds from a plan in them.
What they import in turn does not count, since the model's facts cover it."""
TOLERANCES = ("EXACT", "UPDATE_FLOOR", "FLOPS")


def code_of(framework: str, model: str) -> str:
    """12 hexadecimal digits for a cell of the zoo; empty if it is not recorded there, or has no
    model file.
    """
    if framework not in FOLDERS or model not in mbench_workloads():
        return ""
    if not any((ROOT / "adapters" / FOLDERS[framework]).glob(f"*/models/{family(model)}.py")):
        return ""
    exact = [getattr(tolerances, name) for name in TOLERANCES]
    whole = [facts_of(model), exact, *implementation(framework, family(model))]
    return digest(json.dumps(whole, sort_keys=True).encode())[:12]


def rule_of(workload: Workload) -> dict[str, Any]:
    """The workload's optimizer as data; without `spared` if that is empty, as in all of the zoo."""
    found = asdict(workload.optimizer)
    if not found["spared"]:
        del found["spared"]
    return found


@functools.cache
def facts_of(model: str) -> str:
    """A digest of the model, at the size at which it is proven, and of its reference file; empty if
    the model is not in the zoo.
    """
    if model not in mbench_workloads():
        return ""
    proven, whole = at_proof(model)
    reference = folder_of(mbench_workloads()[model]) / f"{model}.npz"
    smallest = min(proven.tensors(), key=lambda tensor: tensor.size)
    size = proven.proof["batch_size"]
    said = [
        asdict(proven.config), rule_of(proven), proven.proof,
        [asdict(tensor) for tensor in proven.tensors()],
        [asdict(tensor) for tensor in whole.tensors()],
        proven.forward_flops(),
        {name: of_array(array) for name, array in proven.batch(size, seed=0).items()},
        of_array(proven.initial(smallest, seed=0)),
    ]  # fmt: skip
    with np.load(reference, allow_pickle=False) as arrays:
        said.append({name: of_array(arrays[name]) for name in arrays.files if name != "made"})
    return digest(json.dumps(said, sort_keys=True).encode())[:12]


def at_proof(model: str) -> tuple[Workload, Workload]:
    """The workload of a model's proof, and that with all its layers."""
    whole = find_workload(mbench_workloads()[model], model)
    whole = whole.replace(config=whole.config.without_dropout())
    proof = whole.proof
    proven = whole.resized(**proof["sizes"])
    optimizer = replace(proven.optimizer, learning_rate=proof["learning_rate"])
    config: Any = proven.config
    if "layers" in proof:
        config = replace(config, layers=proof["layers"])
    return proven.replace(optimizer=optimizer, config=config), whole


def family(model: str) -> str:
    return at_proof(model)[1].family


@functools.cache
def implementation(framework: str, family: str) -> list[str]:
    """A digest of each source file, in an order that does not depend on names."""
    return sorted(digest(normalized(path).encode()) for path in sources(framework, family))


def sources(framework: str, family: str) -> list[Path]:
    """The files that implement a family of models in a framework, found by their imports."""
    (package,) = (ROOT / "adapters" / FOLDERS[framework]).glob("mbench_*/runtime.py")
    top = package.parent
    found: dict[Path, None] = {}
    waiting = [package, top / "models" / f"{family}.py"]
    while waiting:
        path = waiting.pop()
        if path in found or path.stem in NOT_PROVEN or path.name == "__init__.py":
            continue
        found[path] = None
        if not path.is_relative_to(ROOT / "core" / PLANS.replace(".", "/")):
            waiting += imported(path, top)
    return list(found)


def imported(path: Path, top: Path) -> Iterator[Path]:
    """The files that a module imports from its package, shared model files and plans."""
    for node in executed(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
            if name.startswith(f"{top.name}."):
                file = top.parent / f"{name.replace('.', '/')}.py"
            elif name.startswith((f"{SHARED}.", f"{PLANS}.")):
                file = ROOT / "core" / f"{name.replace('.', '/')}.py"
            else:
                continue
            if file.exists():
                yield file


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes except those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and is_type_checking(child.test)):
            yield child
            yield from executed(child)


def is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def normalized(path: Path) -> str:
    """The source as nested lists of what is executed, the same from every version of Python."""
    return json.dumps(plain(ast.parse(path.read_text(encoding="utf-8"))))


LEFT_OUT = {"annotation", "returns", "type_comment", "type_params", "type_ignores", "kind", "ctx"}


def plain(value: object) -> Any:
    if isinstance(value, list):
        return [plain(one) for one in value if not (isinstance(one, ast.stmt) and is_idle(one))]
    if isinstance(value, ast.Raise):
        raised = value.exc.func if isinstance(value.exc, ast.Call) else value.exc
        return ["Raise", plain(raised)]
    if isinstance(value, ast.AST):
        parts = {name: plain(part) for name, part in ast.iter_fields(value) if name not in LEFT_OUT}
        kept = {name: part for name, part in sorted(parts.items()) if part not in (None, [])}
        return [type(value).__name__, kept]
    return value if isinstance(value, str) or value is None else repr(value)


def is_idle(statement: ast.stmt) -> bool:
    """Whether a statement does not affect what is computed."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(statement, ast.If):
        return is_type_checking(statement.test)
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
        return bool(names & {"__all__", "DIFFERENCES"})
    return False


def of_array(array: np.ndarray) -> str:
    return digest(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
