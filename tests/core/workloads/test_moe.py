"""Mixtures of experts: what a token costs and reads, and that the router decides clearly."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case

from mbench.scenarios.find import resolve, work_of
from mbench.workloads.moe import MODELS


def case(mode, model, **sizes):
    return make_case(
        model=model, workload="mbench.workloads.moe:MODELS", mode=mode, batch_size=2, sizes=sizes
    )


@pytest.mark.parametrize("name", MODELS)
def test_flops_are_of_the_experts_that_are_chosen(name):
    """6 (N_active - N_emb) + 12 L H h T per token, with the router, but without norms."""
    model, config = MODELS[name], MODELS[name].config
    expert = 3 * config.hidden * config.intermediate
    norms = (2 * config.layers + 1) * config.hidden
    idle = config.layers * (config.experts - config.chosen) * expert
    inside = model.parameter_count() - norms - idle
    inside -= config.vocabulary * config.hidden * (not config.tied)
    due = 6 * inside + 12 * config.layers * config.hidden * config.sequence_length
    assert model.flops(training=True) / config.sequence_length == pytest.approx(due, rel=1e-12)


def test_mixtral_has_the_published_number_of_active_parameters():
    """Mistral states 12.9 billion active parameters of 46.7 billion."""
    model = MODELS["mixtral-8x7b"]
    config = model.config
    idle = config.layers * 6 * 3 * config.hidden * config.intermediate
    assert model.parameter_count() == 46_702_792_704
    assert model.parameter_count() - idle == 12_879_925_248


def test_new_tokens_read_the_experts_that_one_token_chooses():
    work = work_of(case("decode", "moe-9m", prompt_length=5, new_tokens=3))
    workload = work.workload
    config = workload.config
    idle = config.layers * 6 * 3 * config.hidden * config.intermediate
    cache = 2 * config.layers * config.key_value_heads * config.width * (6 + 7 + 8)
    due = 3 * (workload.parameter_count() - idle) + 2 * cache
    assert work.read_bytes_per_step == 4 * due


def test_tensors_are_those_of_transformers_5():
    names = [tensor.name for tensor in MODELS["moe-9m"].tensors()]
    assert names[5:8] == [
        "model.layers.0.mlp.gate.weight",
        "model.layers.0.mlp.experts.gate_up_proj",
        "model.layers.0.mlp.experts.down_proj",
    ]
    assert not [name for name in names if "gate_proj" in name]


def test_few_scores_of_the_router_are_nearly_equal():
    """Otherwise, rounding would choose experts. Scores of states of unit variance deviate by 1."""
    workload = resolve(case("inference", "moe-9m"))
    (gate,) = (one for one in workload.tensors() if one.name == "model.layers.0.mlp.gate.weight")
    states = np.random.default_rng(0).standard_normal((1000, workload.config.hidden))
    scores = np.sort(states @ workload.initial(gate, seed=0).T)
    assert 0.9 < scores.std() < 1.1
    assert np.mean(scores[:, -2] - scores[:, -3] < 1e-4) < 1e-2


def test_frameworks_cannot_count_what_depends_on_the_tokens():
    assert not MODELS["moe-9m"].countable()
