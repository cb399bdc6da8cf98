"""PyTorch proves the representatives that families.py assigns to it."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest
from families import FORMS, assert_divided_proven, assert_form_proven, assert_proven, in_turn

from mbench.cli.builtin import mbench_workloads
from mbench.contract.case import Case
from mbench.scenarios.find import prepared, resolve, work_of
from mbench_pytorch.plugin import PyTorch

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch.runtime import Runtime  # noqa: E402
from mbench_pytorch.vision import import_torchvision  # noqa: E402

DROPPING = ("alexnet", "bert-base", "googlenet", "gpt2-small", "inception_v3", "mnasnet0_5",
            "mobilenet_v2", "squeezenet1_0", "vgg11")  # fmt: skip
"""One model of each family whose dropout masks are observed."""


@pytest.mark.parametrize("model", in_turn("torch"))
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(PyTorch(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize(
    "model", ["small-llama", "small-gpt2", "small-bert", "small-vit", "small-dit"]
)
def test_a_divided_step_is_proven(model, tmp_path, monkeypatch):
    """A divided step has micro-batches, and layers that are computed again."""
    assert_divided_proven(
        PyTorch(), model, folder=tmp_path, monkeypatch=monkeypatch, checkpoint=True
    )


@pytest.mark.parametrize("model", [*FORMS, "small-llama+layers"])
def test_a_longer_form_is_proven(model, tmp_path, monkeypatch):
    assert_form_proven(PyTorch(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", DROPPING)
def test_masks_are_seen_of_one_sample(model):
    """One sample is enough, although PyTorch's batch norm takes no single number.

    The model runs on the meta device, where nothing is computed.
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


@pytest.mark.parametrize(("checkpoint", "times"), [(False, 1), (True, 2)])
def test_the_backward_pass_computes_checkpointed_layers_again(checkpoint, times):
    """No result shows how often a layer runs in a step, so the test counts calls."""
    case = Case(model="llama-6m", workload=mbench_workloads()["llama-6m"], mode="train",
                batch_size=1, precision="fp32", compiler="eager", device="cpu", threads=1,
                sizes={"sequence_length": 4}, checkpoint=checkpoint)  # fmt: skip
    steps = prepared(Runtime(device="cpu", threads=1), work_of(case))
    calls = []
    model = steps.benchmark.model
    model.model.layers[0].input_layernorm.register_forward_hook(lambda *_: calls.append(1))
    steps.benchmark.load_parameters(steps.work.workload.parameters(seed=0))
    steps.run(0)
    assert len(calls) == times
