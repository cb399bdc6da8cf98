"""The integers of int8: how they are computed, and that a digest tells them apart."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case

from mbench.cli.builtin import mbench_workloads
from mbench.contract.quantized import digest, has_integers, integers_of, linear_weights, whole
from mbench.proofs.judge import judge_integers
from mbench.scenarios.find import resolve, work_of
from mbench.workloads.find import find_workload

WEIGHT = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)


def test_a_row_is_about_its_integers_times_its_scale():
    integers, scales = integers_of(WEIGHT)
    assert (integers.dtype, scales.dtype) == (np.int8, np.float32)
    assert (np.abs(integers).max(axis=1) == 127).all(), "each row by itself"
    assert integers.min() >= -127
    error = np.abs(whole(integers, scales) - WEIGHT)
    assert (error <= scales[:, None] * 0.5001).all()


def test_a_row_of_zeros_stays_one():
    integers, scales = integers_of(np.zeros((2, 3), np.float32))
    assert not integers.any()
    assert not whole(integers, scales).any()


def test_what_they_stand_for_has_the_same_integers():
    assert digest(*integers_of(whole(*integers_of(WEIGHT)))) == digest(*integers_of(WEIGHT))


@pytest.mark.parametrize("what", ["an integer", "a scale", "a shape", "a type"])
def test_a_digest_tells_apart(what):
    integers, scales = (array.copy() for array in integers_of(WEIGHT))
    due = digest(integers, scales)
    if what == "an integer":
        integers[3, 4] += 1
    if what == "a scale":
        scales[2] = np.nextafter(scales[2], np.float32(1))
    if what == "a shape":
        integers = integers.reshape(40, 6)
    if what == "a type":
        integers = integers.astype(np.int16)
    assert digest(integers, scales) != due


@pytest.mark.parametrize(
    ("model", "layers", "others"),
    [
        ("bert-base", 12 * 6 + 3, "bert.embeddings.position_embeddings.weight"),
        ("llama-15m", 6 * 7, "model.embed_tokens.weight"),  # its head shares this table
        ("llama-6m", 6 * 7 + 1, "model.norm.weight"),
        ("vit-ti-16", 12 * 4 + 1, "encoder.pos_embedding"),
    ],
)
def test_linear_layers_of_models(model, layers, others):
    workload = find_workload(mbench_workloads()[model], model)
    found = linear_weights(workload)
    assert len(found) == layers
    shapes = {tensor.name: tensor.shape for tensor in workload.tensors()}
    assert not has_integers(others, shapes[others])
    share = sum(one.size for one in found) / workload.parameter_count()
    assert share > 0.35, "of llama-15m, its head has the most"


def case(**changes):
    model = changes.pop("model", "llama-15m")
    return make_case(
        model=model, workload=mbench_workloads()[model], precision="int8",
        **{"mode": "inference", **changes},
    )  # fmt: skip


def test_a_wrong_integer_is_named():
    workload = resolve(case(model="llama-6m"))
    due = {one.name: digest(*integers_of(workload.initial(one, seed=0)))
           for one in linear_weights(workload)}  # fmt: skip
    assert judge_integers(due, workload, seed=0).passed
    name = "model.layers.3.mlp.up_proj.weight"
    for found, said in (
        ({**due, name: "0"}, "has other integers or scales than the core gave"),
        ({key: one for key, one in due.items() if key != name}, "has no integers"),
    ):
        assert str(judge_integers(found, workload, seed=0)) == f"integers: {name} {said}"
    more = judge_integers({**due, "model.norm.weight": "0"}, workload, seed=0)
    assert "model.norm.weight has integers, but should not" in str(more)
    assert not judge_integers(due, workload, seed=1).passed


def test_a_step_of_new_tokens_reads_less_of_integers():
    single = work_of(case(mode="decode").__class__(**{**vars(case(mode="decode")),
                                                      "precision": "fp32"}))  # fmt: skip
    workload = resolve(case(mode="decode"))
    found = work_of(case(mode="decode"))
    numbers = sum(one.size for one in linear_weights(workload))
    scales = sum(one.shape[0] for one in linear_weights(workload))
    saved = workload.config.new_tokens * (3 * numbers - 4 * scales)
    assert single.read_bytes_per_step - found.read_bytes_per_step == saved


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "resnet50"}, "resnet50 has no int8, which applies only to linear layers"),
        ({"mode": "train"}, "int8 applies to inference: use --mode inference"),
    ],
)
def test_what_has_no_integers(changes, said):
    with pytest.raises(ValueError, match=said):
        resolve(case(**changes))
