"""DLRM: its FLOPs and bytes, what interacts with what, and its data."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import make_case

from mbench.scenarios.find import work_of
from mbench.workloads.dlrm import MODELS


def case(mode, model, **sizes):
    return make_case(
        model=model, workload="mbench.workloads.dlrm:MODELS", mode=mode, batch_size=2, sizes=sizes
    )


def test_flops_of_dlrm_small_by_its_formula():
    """2 x inputs x outputs of each layer, and the product of 27 vectors with themselves."""
    bottom = 13 * 512 + 512 * 256 + 256 * 16
    top = (16 + 27 * 26 // 2) * 512 + 512 * 256 + 256
    assert MODELS["dlrm-small"].forward_flops() == 2 * (bottom + top + 27 * 27 * 16)


def test_flops_of_dlrm_v2_by_its_formula():
    bottom = 13 * 512 + 512 * 256 + 256 * 128
    cross = 3 * 2 * 27 * 128 * 512
    top = 27 * 128 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256
    assert MODELS["dlrm-v2"].forward_flops() == 2 * (bottom + cross + top)


def test_the_tables_of_dlrm_v2_are_mlperfs():
    config = MODELS["dlrm-v2"].config
    assert (len(config.tables), len(config.bags)) == (26, 26)
    assert sum(config.table_rows) == 204_184_588
    assert sum(config.bags) == 214
    assert 4 * sum(config.table_rows) * config.width == pytest.approx(104.5e9, rel=1e-3)
    few = MODELS["dlrm-v2"].resized(rows=100).config
    assert max(few.table_rows) == 100
    assert min(few.table_rows) == 3


def test_each_vector_meets_all_before_it_and_not_itself():
    config = replace(MODELS["dlrm-small"].config, tables=(9,) * 3, bags=(1,) * 3)
    assert config.pairs == [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    assert config.interactions == 16 + 6


def test_a_batch_has_numbers_of_rows_that_are_there():
    workload = MODELS["dlrm-v2"].resized(rows=50)
    batch = workload.batch(8, seed=3)
    config = workload.config
    assert batch["continuous"].shape == (8, 13)
    assert batch["categories"].shape == (8, 214)
    assert set(batch["labels"]) == {0.0, 1.0}
    first = 0
    for rows, bag in zip(config.table_rows, config.bags, strict=True):
        chosen = batch["categories"][:, first : first + bag]
        assert 0 == chosen.min() <= chosen.max() == rows - 1
        first += bag


def test_bytes_of_a_step():
    """Inference reads the rows that are looked up; a dense update writes and reads all of them."""
    bags = 26 * 16 * 3 // 2
    whole = MODELS["dlrm-small"].parameter_count()
    mlps = whole - 26 * 1000 * 16
    read = {mode: work_of(case(mode, "dlrm-small")).read_bytes_per_step
            for mode in ("inference", "train", "forward")}  # fmt: skip
    assert read == {
        "inference": 4 * (2 * bags + mlps),
        "train": 4 * (2 * bags + mlps + 4 * whole),
        "forward": None,
    }
