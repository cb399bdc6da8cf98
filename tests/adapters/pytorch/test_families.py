"""Models of the families whose turn it is are proven in PyTorch."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest
from families import FORMS, assert_form_proven, assert_proven, in_turn

from mbench.cli.builtin import mbench_workloads
from mbench.contract.case import Case
from mbench.scenarios.find import resolve
from mbench_pytorch.plugin import PyTorch

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch.vision import import_torchvision  # noqa: E402

DROPPING = ("alexnet", "bert-base", "googlenet", "gpt2-small", "inception_v3", "mnasnet0_5",
            "mobilenet_v2", "squeezenet1_0", "vgg11")  # fmt: skip
"""One of each family whose masks of dropout are seen."""


@pytest.mark.parametrize("model", in_turn("torch"))
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(PyTorch(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", FORMS)
def test_a_longer_form_is_proven(model, tmp_path, monkeypatch):
    assert_form_proven(PyTorch(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", DROPPING)
def test_masks_are_seen_of_one_sample(model):
    """PyTorch's batch norm takes no single number. It is asked on the meta device, where nothing is
    computed.
    """
    case = Case(model=model, workload=mbench_workloads()[model], mode="train", batch_size=1,
                precision="fp32", compiler="eager", device="cpu", threads=1)  # fmt: skip
    keep = import_torchvision()
    usual = resolve(case)
    sizes = usual.mask_sizes or usual.proof["sizes"]
    workload = resolve(replace(case, sizes=sizes))
    files = import_module(f"mbench_pytorch.models.{workload.family}")
    with torch.device("meta"):
        network = files.build(workload.config).train()
    arrays = workload.batch(1, seed=0)
    batch = {name: torch.from_numpy(array).to("meta") for name, array in arrays.items()}
    assert workload.masks()
    assert files.forward(network, batch)
    del keep
