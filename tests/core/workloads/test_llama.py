"""Llama: FLOPs as others count them, its rotations, and which tokens a mode takes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mbench.cli.builtin import mbench_workloads
from mbench.contract.case import Case
from mbench.scenarios.find import resolve, work_of
from mbench.workloads.llama import LARGE, MODELS, RotaryScaling


def case(mode, model="llama-15m", **sizes):
    return Case(model=model, workload=mbench_workloads()[model], mode=mode, batch_size=2,
                precision="fp32", compiler="eager", device="cpu", threads=1,
                sizes=sizes)  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_flops_of_training_are_torchtitans(name):
    """6 (N - N_emb) + 12 L H h T per token, without norms, which are not products."""
    model, config = MODELS[name], MODELS[name].config
    norms = (2 * config.layers + 1) * config.hidden
    inside = model.parameter_count() - norms - config.vocabulary * config.hidden * (not config.tied)
    due = 6 * inside + 12 * config.layers * config.hidden * config.sequence_length
    assert model.flops(training=True) / config.sequence_length == pytest.approx(due, rel=1e-12)


def test_the_published_figure_of_8b_at_8192():
    whole = replace(MODELS["llama3.2-1b"], config=LARGE)
    assert whole.parameter_count() == 8_030_261_248
    assert whole.flops(training=True) / 8192 == pytest.approx(57.9e9, rel=1e-3)


def test_the_published_figure_with_halved_attention():
    """MaxText counts attention in this way."""
    whole = replace(MODELS["llama3.2-1b"], config=LARGE)
    causal = whole.flops(training=True) - 3 * whole.masked_flops()
    assert causal / 8192 == pytest.approx(51.5e9, rel=1e-3)


def test_what_a_mask_discards_is_half_the_attention_of_each_pass():
    config = MODELS["llama-15m"].config
    whole = 4 * config.layers * config.hidden * 16**2
    masked = {mode: work_of(case(mode, sequence_length=16)).masked_flops_per_sample
              for mode in ("train", "inference", "forward", "backward")}  # fmt: skip
    assert masked == {"train": 1.5 * whole, "inference": whole / 2, "forward": whole / 2,
                      "backward": 1.5 * whole}  # fmt: skip
    prompt = work_of(case("prefill", prompt_length=16))
    assert prompt.masked_flops_per_sample == whole / 2
    assert work_of(case("decode", prompt_length=5)).masked_flops_per_sample == 0


@pytest.mark.parametrize(("model", "rows"), [("llama-15m", 0), ("llama-6m", 2 - 2048)])
def test_new_tokens_read_all_weights_and_what_the_cache_holds(model, rows):
    """Of a table that is used for lookup only, just the rows of the batch's tokens are read."""
    work = work_of(case("decode", model, prompt_length=5, new_tokens=3))
    workload = work.workload
    config = workload.config
    weights = workload.parameter_count() + rows * config.hidden
    cache = 2 * config.layers * config.key_value_heads * config.width * (6 + 7 + 8)
    assert work.read_bytes_per_step == 4 * (3 * weights + 2 * cache)
    mixed = replace(case("decode", model, prompt_length=5, new_tokens=3), precision="amp-bf16")
    assert work_of(mixed).read_bytes_per_step == 4 * 3 * weights + 2 * 2 * cache
    assert work_of(case("prefill", model, prompt_length=5)).read_bytes_per_step is None


def test_new_tokens_cost_what_they_attend_to():
    work = work_of(case("decode", prompt_length=5, new_tokens=3))
    config = work.workload.config
    inside = 15_191_712 - 13 * config.hidden
    attention = 4 * config.layers * config.hidden * (6 + 7 + 8)
    assert work.flops_per_sample == 2 * 3 * inside + attention
    assert work.samples_per_item == 3
    prompt = work_of(case("prefill", prompt_length=5))
    words = config.vocabulary * config.hidden
    whole = 4 * config.layers * config.hidden * 5 * 5
    assert prompt.flops_per_sample == 2 * 5 * (inside - words) + 2 * words + whole
    assert prompt.samples_per_item == 5


def test_modes_take_the_first_tokens_of_one_sequence():
    whole = resolve(case("inference", sequence_length=16)).batch(2, seed=3)
    decoded = resolve(case("decode", prompt_length=11, new_tokens=5))
    assert (decoded.batch(2, seed=3)["input_ids"] == whole["input_ids"]).all()
    assert (decoded.config.sequence_length, decoded.config.logits_to_keep) == (16, 5)
    read = resolve(case("prefill", prompt_length=11))
    assert (read.config.sequence_length, read.config.logits_to_keep) == (11, 1)
    assert read.batch(2, seed=3)["labels"].shape == (2, 1)


def test_rotations_by_their_formula():
    config = replace(MODELS["llama-15m"].config, sequence_length=7)
    cosines, sines = config.rotations()
    assert cosines.shape == sines.shape == (7, config.width // 2)
    angle = 6 * 10000 ** (-2 * 5 / config.width)
    assert (cosines[6, 5], sines[6, 5]) == pytest.approx((math.cos(angle), math.sin(angle)))
    assert (cosines[0] == 1).all()


def test_long_waves_are_slowed_down_and_short_ones_stay():
    """As transformers' rope_type "llama3" does, with its figures for Llama 3.1 8B."""
    scaling = RotaryScaling(factor=8.0)
    assert scaling.scaled(1.0) == 1.0
    assert scaling.scaled(1e-5) == 1.25e-6
    wave = 8192 / 2.5  # half way between the factors 1 and 4
    frequency = 2 * math.pi / wave
    assert scaling.scaled(frequency) == pytest.approx(0.5 * frequency / 8 + 0.5 * frequency)


def test_parameters_are_drawn_so_that_rotations_show():
    workload = replace(MODELS["llama-6m"].resized(sequence_length=8))
    names = [tensor.name for tensor in workload.tensors()]
    assert names[1] == "model.layers.0.self_attn.q_proj.weight"
    assert names[-1] == "lm_head.weight"
    assert "lm_head.weight" not in [t.name for t in MODELS["llama-15m"].tensors()]
    norms = [tensor for tensor in workload.tensors() if "norm" in tensor.name]
    assert len(norms) == 13
    assert not any(tensor.decay for tensor in norms)
    assert np.std(workload.initial(norms[0], seed=0)) > 0.01


def test_a_batch_of_the_last_tokens_labels_only():
    workload = MODELS["llama-6m"].resized(sequence_length=8, logits_to_keep=3)
    batch = workload.batch(2, seed=0)
    assert batch["labels"].shape == (2, 3)
    assert (batch["labels"][:, :-1] == batch["input_ids"][:, -2:]).all()
    assert workload.kept == 3
