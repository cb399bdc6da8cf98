"""Tests that the descriptions of all adapters have in common."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
import types
from importlib.metadata import requires

import pytest
from cases import make_case
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from mbench.contract.adapter import Adapter
from mbench.plugins.adapter_metadata import size
from mbench.plugins.manager import Plugins
from mbench.workloads.find import find_workload
from mbench.workloads.resnet import RESNET50

ADAPTERS = Plugins(external=False).adapters.unique()
NAMES = {  # title, and compiler by default
    "torch": ("PyTorch", "eager"),
    "tf": ("TensorFlow", "graph"),
    "mxnet": ("MXNet", "hybrid"),
    "paddle": ("PaddlePaddle", "eager"),
    "jax": ("JAX", "jit"),
}
BOTH = ("train", "inference")
LSTM = {"model": "lstm", "workload": "mbench.workloads.lstm:MODELS"}

SUPPORTED = (
    ("torch", {"precision": ("fp32", "fp64", "amp-bf16", "bf16"),
               "compiler": ("eager", "inductor", "xla"), "mode": BOTH}),
    ("torch", {"device": ("cuda",), "precision": ("fp32", "tf32", "amp-fp16", "fp16")}),
    ("tf", {"precision": ("fp32", "fp64", "amp-bf16", "bf16"),
            "compiler": ("graph", "xla", "eager"), "mode": BOTH}),
    ("tf", {"device": ("cuda",), "precision": ("fp32", "tf32", "amp-fp16", "fp16")}),
    ("mxnet", {"precision": ("fp32", "fp64", "amp-bf16"), "compiler": ("hybrid", "eager"),
               "mode": BOTH}),
    ("mxnet", {"precision": ("fp32", "fp64"), "compiler": ("onednn",), "mode": ("inference",)}),
    ("mxnet", {"device": ("cuda",), "precision": ("fp32", "fp64", "amp-fp16", "fp16")}),
    ("paddle", {"precision": ("fp32", "fp64"), "compiler": ("eager", "static", "cinn"),
                "mode": BOTH}),
    ("paddle", {"precision": ("fp32", "fp64", "bf16"), "compiler": ("engine",),
                "mode": ("inference",)}),
    ("paddle", {"device": ("cuda",),
                "precision": ("fp32", "tf32", "amp-fp16", "amp-bf16", "fp16", "bf16")}),
    ("jax", {"precision": ("fp32", "fp64", "amp-bf16", "bf16"), "compiler": ("jit", "eager"),
             "mode": BOTH}),
    ("jax", {"device": ("cuda",),
             "precision": ("fp32", "tf32", "fp64", "amp-bf16", "bf16", "fp16")}),
)  # fmt: skip
REFUSED_BY_ALL = (
    ({"precision": "int3"}, "no precision int3"),
    ({"compiler": "sloth"}, "no compiler sloth"),
    ({"device": "tpu"}, "no device tpu"),
    ({"mode": "dream"}, "no mode dream"),
)
REFUSED = (
    ("torch", {"precision": "tf32"}, "CUDA"),
    ("torch", {"precision": "fp16"}, "use bf16"),
    ("torch", {"precision": "amp-fp16"}, "use amp-bf16"),
    ("torch", {"compiler": "xla", "device": "cuda"}, "no CUDA since"),
    ("tf", {"precision": "tf32"}, "CUDA"),
    ("tf", {"precision": "fp16"}, "use bf16"),
    ("tf", {"precision": "amp-fp16"}, "use amp-bf16"),
    ("mxnet", {"precision": "tf32"}, "no switch for TensorFloat-32"),
    ("mxnet", {"precision": "tf32", "device": "cuda"}, "no switch for TensorFloat-32"),
    ("mxnet", {"precision": "bf16"}, "use amp-bf16"),
    ("mxnet", {"precision": "fp16"}, "use amp-bf16"),
    ("mxnet", {"precision": "amp-fp16"}, "use amp-bf16"),
    ("mxnet", {"precision": "amp-bf16", "device": "cuda"}, "use amp-fp16"),
    ("mxnet", {**LSTM, "precision": "amp-bf16"}, "no bfloat16"),
    ("mxnet", {"compiler": "onednn"}, "for inference"),
    ("mxnet", {"compiler": "onednn", "mode": "inference", "device": "cuda"}, "for CPU"),
    ("mxnet", {"compiler": "onednn", "mode": "inference", "precision": "amp-bf16"}, "amp-bf16"),
    ("paddle", {"precision": "tf32"}, "CUDA"),
    ("paddle", {"precision": "fp16"}, "use bf16 with engine"),
    ("paddle", {"precision": "amp-fp16"}, "AMP does nothing on CPU"),
    ("paddle", {"precision": "amp-bf16"}, "AMP does nothing on CPU"),
    ("paddle", {"compiler": "engine", "mode": "inference", "precision": "amp-bf16"}, "use bf16"),
    ("paddle", {"compiler": "engine", "mode": "inference", "precision": "amp-fp16",
                "device": "cuda"}, "no autocast: use fp16"),
    ("paddle", {"precision": "bf16"}, "in its inference engine only"),
    ("paddle", {"precision": "bf16", "compiler": "static", "mode": "inference"}, "engine only"),
    ("paddle", {**LSTM, "precision": "amp-bf16", "device": "cuda"}, "float32 and float64 only"),
    ("paddle", {"compiler": "engine"}, "does not train: use eager or static"),
    ("jax", {"precision": "tf32"}, "CUDA"),
    ("jax", {"precision": "fp16"}, "use bf16"),
    ("jax", {"precision": "amp-fp16"}, "use amp-bf16"),
    ("jax", {"precision": "amp-fp16", "device": "cuda"}, "use amp-bf16"),
    ("jax", {"compiler": "xla"}, "no compiler xla"),
)  # fmt: skip


def case(name, **changes):
    resnet = {"model": "resnet50", "workload": "mbench.workloads.resnet:RESNET50"}
    return make_case(**{**resnet, "compiler": NAMES[name][1], **changes})


def test_the_frameworks_that_come_with_mbench_are_there_and_nothing_is_wrong_with_them():
    plugins = Plugins(external=False)
    assert set(plugins.adapters.unique()) == set(NAMES)
    assert plugins.problems == []


def extra(name, python):
    """The requirements that the extra brings on that version of Python."""
    found = set()
    for text in requires("mbench-dl") or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if (
            marker
            and "extra" in str(marker)
            and marker.evaluate({"extra": name, "python_version": python})
        ):
            requirement.marker = None
            found.add(str(requirement))
    return found


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_extra_is_what_the_adapter_requires(name):
    pins = {str(Requirement(text)) for text in ADAPTERS[name].requirements(None, "cpu")}
    assert extra(name, "3.11") == pins, "all of them run on 3.11"
    for python in ("3.10", "3.12", "3.13"):
        allowed = SpecifierSet(ADAPTERS[name].python(None)).contains(python)
        assert extra(name, python) == (pins if allowed else set()), python


def test_the_other_names_of_a_framework_are_extras_too():
    """This makes `pip install '.[pytorch]'` and `--frameworks pytorch` go together."""
    aliases = Plugins(external=False).aliases
    assert aliases == {"pytorch": "torch", "tensorflow": "tf", "paddlepaddle": "paddle"}
    for alias, name in aliases.items():
        assert extra(alias, "3.11") in (extra(name, "3.11"), {f"mbench-dl[{name}]"})


@pytest.mark.parametrize("name", ADAPTERS)
def test_it_is_told_how_much_is_downloaded(name):
    assert size(ADAPTERS[name], "cpu").startswith("downloads ")


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_description_is_complete(name):
    adapter = ADAPTERS[name]
    assert isinstance(adapter, Adapter)
    assert (adapter.name, adapter.title, next(iter(adapter.compilers))) == (name, *NAMES[name])
    assert "eager" in adapter.compilers
    for version in (None, "9.9"):
        assert adapter.python(version).startswith(">=3.")


@pytest.mark.parametrize("name", ADAPTERS)
def test_what_a_tier_says_holds_under_any_compiler(name):
    """How steps run is stated by compiler, so that a named compiler is not called another."""
    for tier in ADAPTERS[name].tiers.values():
        assert set(tier.executes) >= set(tier.compilers)
        assert not [compiler for compiler in ADAPTERS[name].compilers
                    if compiler in tier.says.split(", ")]  # fmt: skip


def test_what_a_listing_needs_imports_no_framework_and_no_numpy():
    code = (
        "import sys; from mbench.plugins.manager import Plugins; p = Plugins(external=False);"
        "from mbench.spec.selection import load_workload;"
        "[a.variables(threads=1, device='cpu') for a in p.adapters.unique().values()];"
        "[load_workload(w, n).parameter_count() for n, w in p.workloads.unique().items()];"
        "print(sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(answer.stdout.replace("'", "").strip("[]\n").split(", "))
    assert not loaded & {"torch", "tensorflow", "keras", "mxnet", "paddle", "jax", "numpy"}


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize("mode", BOTH)
def test_every_adapter_says_that_it_has_the_whole_zoo(name, mode):
    """MXNet is the exception: it is older than some models of the zoo."""
    refused = {}
    for model, workload in Plugins(external=False).workloads.unique().items():
        answer = ADAPTERS[name].supports(case(name, model=model, workload=workload, mode=mode))
        if not answer.supported:
            refused[find_workload(workload, model).family] = answer.reason
    assert set(refused) == ({"dit", "dlrm", "moe"} if name == "mxnet" else set()), refused
    for family, reason in refused.items():
        said = f"not provided: MXNet's adapter has no {family} model"
        assert reason == f"{said}: MXNet's development ended in 2022"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (name, dict(zip(axes, values, strict=True)))
        for name, axes in SUPPORTED
        for values in itertools.product(*axes.values())
    ],
)
def test_says_yes(name, changes):
    answer = ADAPTERS[name].supports(case(name, **changes))
    assert answer.supported, answer.reason


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [*((name, *refusal) for name in ADAPTERS for refusal in REFUSED_BY_ALL), *REFUSED],
)
def test_says_no_with_the_reason(name, changes, reason):
    answer = ADAPTERS[name].supports(case(name, **changes))
    assert not answer.supported
    assert reason in answer.reason


@pytest.mark.parametrize("name", ADAPTERS)
def test_says_no_to_a_family_without_a_model_file(name, monkeypatch):
    strange = types.SimpleNamespace(MODEL=dataclasses.replace(RESNET50, family="strange"))
    monkeypatch.setitem(sys.modules, "strange", strange)
    answer = ADAPTERS[name].supports(case(name, workload="strange:MODEL"))
    assert not answer.supported
    assert "no strange model" in answer.reason
