"""BERT-Base pre-training as published: its counts, its names, its data."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from mbench.workloads.bert import BERT_BASE


def at(sequence_length):
    return BERT_BASE.resized(sequence_length=sequence_length)


def test_parameter_count_is_the_reference_implementations():
    assert BERT_BASE.parameter_count() == 110_106_428


def test_parameters_by_an_independent_count():
    hidden, inner, vocabulary = 768, 3072, 30522
    norm = 2 * hidden
    embeddings = (vocabulary + 512 + 2) * hidden + norm
    attention = 4 * (hidden * hidden + hidden) + norm
    feed_forward = hidden * inner + inner + inner * hidden + hidden + norm
    pooler = hidden * hidden + hidden
    heads = vocabulary + (hidden * hidden + hidden + norm) + 2 * hidden + 2
    count = embeddings + 12 * (attention + feed_forward) + pooler + heads
    assert BERT_BASE.parameter_count() == count


def test_flops_by_an_independent_count():
    """Matrix products of one sequence, as (rows, inner, columns)."""
    length, hidden, inner, head = 128, 768, 3072, 64
    products = 12 * (
        [(length, hidden, hidden)] * 4
        + [(length, hidden, inner), (length, inner, hidden)]
        + 12 * [(length, head, length), (length, length, head)]
    )
    products += [(20, hidden, hidden), (20, hidden, 30522)]
    products += [(1, hidden, hidden), (1, hidden, 2)]
    assert BERT_BASE.forward_flops() == sum(2 * r * i * c for r, i, c in products)


def test_canonical_names_are_those_of_the_reference_implementation():
    tensors = {tensor.name: tensor for tensor in BERT_BASE.tensors()}
    assert len(tensors) == len(BERT_BASE.tensors()) == 5 + 12 * 16 + 2 + 1 + 4 + 2
    expected = {
        "bert.embeddings.word_embeddings.weight": (30522, 768),
        "bert.embeddings.LayerNorm.weight": (768,),
        "bert.encoder.layer.11.attention.self.query.weight": (768, 768),
        "bert.encoder.layer.0.intermediate.dense.weight": (3072, 768),
        "bert.encoder.layer.0.output.dense.weight": (768, 3072),
        "bert.pooler.dense.bias": (768,),
        "cls.predictions.bias": (30522,),
        "cls.predictions.transform.LayerNorm.bias": (768,),
        "cls.seq_relationship.weight": (2, 768),
    }
    assert {name: tensors[name].shape for name in expected} == expected


def test_weight_decay_spares_biases_and_norms_alone():
    for tensor in BERT_BASE.tensors():
        spared = tensor.name.endswith("bias") or "LayerNorm" in tensor.name
        assert tensor.decay is not spared


def test_masked_positions_are_distinct_sorted_and_within():
    batch = at(32).batch(200, seed=0)
    positions = batch["masked_positions"]
    assert positions.shape == (200, 20)
    assert (np.diff(positions, axis=1) > 0).all()
    assert positions.min() == 0
    assert positions.max() == 31


def test_batch():
    batch = BERT_BASE.batch(50, seed=0)
    assert {name: array.shape for name, array in batch.items()} == {
        "input_ids": (50, 128),
        "token_type_ids": (50, 128),
        "masked_positions": (50, 20),
        "masked_labels": (50, 20),
        "next_sentence_labels": (50,),
    }
    assert all(array.dtype == np.int64 for array in batch.values())
    for name, below in (("input_ids", 30522), ("masked_labels", 30522)):
        assert 0 <= batch[name].min() <= batch[name].max() < below
        assert batch[name].max() > 30000
    assert set(batch["next_sentence_labels"].tolist()) == {0, 1}
    assert batch["token_type_ids"][0].tolist() == [0] * 64 + [1] * 64


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("input_ids", "2c05708cfb7302d5"),
        ("token_type_ids", "68c0e9db53592c8d"),
        ("masked_positions", "851756e9ef5af5e5"),
        ("masked_labels", "6447245b7442e81c"),
        ("next_sentence_labels", "814dd7b9784d57c1"),
    ],
)
def test_data_never_changes(name, expected):
    array = BERT_BASE.batch(2, seed=3)[name].astype("<i8")
    assert hashlib.sha256(array.tobytes()).hexdigest()[:16] == expected


def test_the_first_and_the_last_token_are_there_and_repeated():
    for name in ("input_ids", "masked_labels"):
        assert BERT_BASE.batch(2, seed=0)[name][0, :4].tolist() == [0, 30521, 0, 30521]


@pytest.mark.parametrize("length", [20, 64, 128, 512])
def test_other_lengths_keep_the_parameters(length):
    resized = at(length)
    assert resized.parameter_count() == BERT_BASE.parameter_count()
    assert resized.is_standard() is (length == 128)
    assert resized.batch(1, seed=0)["masked_positions"].max() < length


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"sequence_length": 19}, "predicts 20 of 19 tokens: make the sequence longer"),
        ({"sequence_length": 513}, "must be 1 to 512, not 513"),
        ({"image_size": 224}, "no size image_size; it has sequence_length"),
    ],
)
def test_sizes_that_do_not_fit(sizes, said):
    with pytest.raises(ValueError, match=said):
        BERT_BASE.resized(**sizes)


def test_no_size_is_the_standard_one():
    assert BERT_BASE.resized() is BERT_BASE


def test_dropout_off():
    assert BERT_BASE.config.dropout == 0.1
    assert BERT_BASE.config.without_dropout().dropout == 0.0
