"""The description of TensorFlow 1, which must be right without it, and its distribution."""

from __future__ import annotations

import ast
import itertools
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cases import make_case
from packaging.specifiers import SpecifierSet

pytest.importorskip("mbench_tensorflow1", reason="TensorFlow 1's adapter is not installed here")

import mbench_tensorflow1
from mbench_tensorflow1.plugin import TensorFlow1

from mbench.cli.builtin import mbench_workloads
from mbench.contract.adapter import Adapter
from mbench.plugins.adapter_metadata import size
from mbench.plugins.manager import Plugins

ROOT = Path(__file__).parents[3]
FILES = sorted(Path(mbench_tensorflow1.__file__).parent.rglob("*.py"))
RESNET = {"model": "resnet50", "workload": "mbench.workloads.resnet:RESNET50", "compiler": "graph"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_files_have_the_syntax_of_its_python(file):
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 7))
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    code = tree.body[1:]
    assert not code or "annotations" in {alias.name for node in imported for alias in node.names}
    assert not [node for node in ast.walk(tree) if keyword(node, "strict")], "zipped has it"


def keyword(node, name):
    return isinstance(node, ast.Call) and any(given.arg == name for given in node.keywords)


@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_requirements_are_pinned(accelerator):
    first, *others = TensorFlow1().requirements(None, accelerator)
    assert first == "tensorflow==1.15.5"
    assert {other.split("==")[0] for other in others} == {"numpy", "protobuf"}
    assert TensorFlow1().requirements("1.15.0", accelerator)[0] == "tensorflow==1.15.0"


@pytest.mark.parametrize("version", ["1.14.0", "2.21.0", "1.15", "newest", ""])
def test_requirements_reject_other_versions(version):
    with pytest.raises(ValueError, match="not supported"):
        TensorFlow1().requirements(version, "cpu")


def test_its_workers_have_a_python_that_mbench_has_not():
    wanted = SpecifierSet(TensorFlow1().python(None))
    assert wanted.contains("3.7.16")
    assert not wanted.contains("3.8.0")


def test_it_comes_in_as_a_strangers_does():
    """Its entry point is in its own distribution, not in mbench's."""
    (entry,) = [e for e in entry_points(group="mbench") if e.value == "mbench_tensorflow1.plugin"]
    assert entry.dist is not None
    assert entry.dist.name == "mbench-dl-tensorflow1"
    assert "tensorflow1" not in (ROOT / "pyproject.toml").read_text().partition("[tool.")[0]


def test_it_goes_with_the_newer_one():
    plugins = Plugins()
    assert {"tf", "tf1"} <= set(plugins.adapters.unique())
    assert plugins.aliases["tensorflow"] == "tf"
    assert plugins.aliases["tensorflow1"] == "tf1"


def test_a_description_is_complete():
    assert isinstance(TensorFlow1(), Adapter)
    assert next(iter(TensorFlow1().compilers)) == "graph"
    assert size(TensorFlow1(), "cpu").startswith("downloads up to ")


def test_xla_is_for_the_cpu_too_where_a_session_turns_it_on():
    found = TensorFlow1().variables(threads=3, device="cpu")
    assert found["TF_XLA_FLAGS"] == "--tf_xla_cpu_global_jit"


def test_variables_of_other_tools_are_none_of_its():
    """Terraform's variables start with TF_, too, and may be secrets."""
    prefixes = tuple(TensorFlow1().tuned_by)
    assert "TF_XLA_FLAGS".startswith(prefixes)
    assert not "TF_CLI_CONFIG_FILE".startswith(prefixes)
    assert not "TF_VAR_password".startswith(prefixes)


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_it_says_that_it_has_the_whole_zoo(mode):
    for model, workload in mbench_workloads().items():
        case = make_case(model=model, workload=workload, mode=mode, compiler="graph")
        # Newer than TensorFlow 1, whose development has ended.
        newer = model.startswith(("dit", "dlrm", "llama", "mixtral", "moe", "vit"))
        assert TensorFlow1().supports(case).supported is not newer, model


@pytest.mark.parametrize(
    ("precision", "compiler", "mode"),
    list(itertools.product(("fp32", "fp64"), ("graph", "xla"), ("train", "inference"))),
)
def test_says_yes(precision, compiler, mode):
    given = {**RESNET, "precision": precision, "compiler": compiler, "mode": mode}
    answer = TensorFlow1().supports(make_case(**given))
    assert answer.supported, answer.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "tf32"}, "CUDA"),
        ({"precision": "fp16"}, "use fp32"),
        ({"precision": "bf16"}, "use fp32"),
        ({"precision": "amp-bf16"}, "on GPUs only"),
        ({"precision": "amp-fp16"}, "on GPUs only"),
        ({"device": "cuda"}, "CUDA 10.0"),
        ({"compiler": "eager"}, "no compiler eager"),
    ],
)
def test_says_no_with_the_reason(changes, reason):
    answer = TensorFlow1().supports(make_case(**{**RESNET, **changes}))
    assert not answer.supported
    assert reason in answer.reason
