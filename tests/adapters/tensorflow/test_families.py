"""TensorFlow proves the representatives that families.py assigns to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from families import FORMS, assert_divided_proven, assert_form_proven, assert_proven, in_turn

from mbench.contract.case import Case
from mbench.scenarios.find import prepared, work_of
from mbench_tensorflow.plugin import TensorFlow

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

from mbench_tensorflow.models import vit
from mbench_tensorflow.runtime import Runtime

VIT = Case(model="small-vit", workload="proven:MODELS", mode="train", batch_size=1,
           precision="fp32", compiler="eager", device="cpu", threads=2)  # fmt: skip


@pytest.mark.parametrize("model", in_turn("tf"))
def test_a_model_is_proven(model, tmp_path, monkeypatch):
    assert_proven(TensorFlow(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize("model", ["small-llama", "small-vit", "small-dit"])
def test_a_divided_step_is_proven(model, tmp_path, monkeypatch):
    """A divided step has micro-batches, and layers that are computed again."""
    assert_divided_proven(
        TensorFlow(), model, folder=tmp_path, monkeypatch=monkeypatch, checkpoint=True
    )


@pytest.mark.parametrize("model", [*FORMS, "small-llama+layers"])
def test_a_longer_form_is_proven(model, tmp_path, monkeypatch):
    assert_form_proven(TensorFlow(), model, folder=tmp_path, monkeypatch=monkeypatch)


@pytest.mark.parametrize(("checkpoint", "times"), [(False, 1), (True, 2)])
def test_the_backward_pass_computes_checkpointed_layers_again(monkeypatch, checkpoint, times):
    """No result shows how often a layer runs in a step, so the test counts calls."""
    calls, honest = [], vit.SelfAttention.call
    monkeypatch.setattr(
        vit.SelfAttention, "call", lambda self, x: calls.append(self) or honest(self, x)
    )
    case = replace(VIT, checkpoint=checkpoint)
    steps = prepared(Runtime(device="cpu", threads=2), work_of(case))
    steps.benchmark.load_parameters(steps.work.workload.parameters(seed=0))
    calls.clear()
    steps.run(0)
    assert len(calls) == 2 * times, "of two layers"
