"""The defaults of an adapter's description, and the answers of its table of lacks."""

from __future__ import annotations

import dataclasses
import sys
import types

import pytest
from cases import make_case
from mbench_tiny import TINY

from mbench.contract.adapter import Adapter
from mbench.sdk.plugin import AdapterBase, Lack

CASE = make_case()


class Small(AdapterBase):
    name = "tiny"
    title = "Small"
    imports = ("numpy",)
    runtime = "small:Runtime"
    compilers = {"eager": "one by one", "graph": "whole"}  # noqa: RUF012
    lacks = (
        Lack("no training in graphs", compilers=("graph",), modes=("train",)),
        Lack("no graphs in fp64", precisions=("fp64",), compilers=("graph",)),
        Lack("no tiny models on CUDA", devices=("cuda",), families=("tiny",)),
    )

    def requirements(self, version, accelerator):
        return ["numpy==2.0"]


def test_the_base_has_every_member_but_those_that_an_author_must_give():
    assert isinstance(Small(), Adapter)
    assert (Small().python(None), Small().variables(threads=1, device="cpu")) == (">=3.10", {})
    assert [Small().mixed(device) for device in ("cpu", "cuda")] == ["amp-bf16", "amp-fp16"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"compiler": "graph", "mode": "inference"}, ""),
        ({"compiler": "graph"}, "no training in graphs"),
        ({"compiler": "graph", "precision": "fp64"}, "no training in graphs"),
        ({"compiler": "graph", "precision": "fp64", "mode": "inference"}, "no graphs in fp64"),
        ({"device": "cuda"}, "no tiny models on CUDA"),
        ({"precision": "int3"}, "Small has no precision int3; available: fp32, "),
        ({"device": "tpu"}, "Small has no device tpu; available: cpu, cuda"),
        (
            {"mode": "dream"},
            "there is no mode dream; available: train, inference, forward, backward, load, "
            "prefill, decode",
        ),
        ({"compiler": "xyz"}, "Small has no compiler xyz; available: eager, graph"),
    ],
)
def test_the_first_row_that_fits_is_the_reason(changes, reason):
    answer = Small().supports(dataclasses.replace(CASE, **changes))
    assert answer.supported is not bool(reason)
    assert answer.reason.startswith(reason)


def test_rows_that_name_what_is_not_given_do_not_fit():
    assert Small().lacking(device="cuda", precision="fp64") == ""


def test_an_operator_is_of_the_family_that_bears_its_kinds_name():
    said = "no tiny models on CUDA"
    assert Small().lacking(device="cuda", family="operators", operator="tiny") == said
    assert Small().lacking(device="cuda", family="operators", operator="add") == ""


@pytest.mark.parametrize("models", ["", "no_such_package", "mbench_tiny"])
def test_a_model_without_a_module_is_not_provided(models, monkeypatch):
    strange = types.SimpleNamespace(MODEL=dataclasses.replace(TINY, family="odd", model_files={}))
    monkeypatch.setitem(sys.modules, "strange", strange)
    monkeypatch.setattr(Small, "models", models)
    answer = Small().supports(dataclasses.replace(CASE, workload="strange:MODEL"))
    assert answer.reason == "not provided: Small's adapter has no odd model"
