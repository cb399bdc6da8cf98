"""DeepBench's tables, compared with what its source says about them."""

from __future__ import annotations

from collections import Counter

import pytest

from mbench.spec.suite import find_suite
from mbench.workloads.operators import OPERATORS

LARGEST = 2e9
"""FLOPs of a step in the suite for any machine."""
SUITES = ("deepbench-device", "deepbench", "deepbench-large")


def steps(name):
    """Every (operator, mode) of a suite with the FLOPs of its step."""
    found = {}
    for sweep in find_suite(name).sweeps:
        assert sweep["batch-size"] == [1]
        (mode,) = sweep["mode"]
        for model in sweep["models"]:
            assert (model, mode) not in found, "twice in one suite"
            found[model, mode] = OPERATORS[model].flops(training=mode == "train")
    return found


@pytest.fixture(scope="module")
def suites():
    return {name: steps(name) for name in SUITES}


def test_each_holds_as_many_as_the_source_has_of_them(suites):
    """The source lists 160 + 75 products for training and servers, of which 157 differ in more than
    what is transposed; 94 and 107 convolutions, of which 8 and 6 have non-square kernels and 4 each
    are duplicates; 22 and 15 LSTMs. For devices it lists 13 products, 16 convolutions, one of them
    a duplicate, and an LSTM.
    """
    kinds = {
        name: Counter(f"{model.partition('/')[0][3:]} {mode}" for model, mode in found)
        for name, found in suites.items()
    }
    assert kinds["deepbench-device"] == {
        "matmul inference": 13, "conv2d inference": 15, "lstm inference": 1,
    }  # fmt: skip
    assert [len(suites[name]) for name in SUITES] == [29, 173, 200], "as docs/suites.md says"
    both = kinds["deepbench"] + kinds["deepbench-large"]
    assert both == {
        "matmul inference": 157, "conv2d inference": 97, "conv2d train": 82,
        "lstm inference": 15, "lstm train": 22,
    }  # fmt: skip


def test_a_step_of_the_smaller_suite_is_small_and_none_is_in_both(suites):
    assert all(flops <= LARGEST for flops in suites["deepbench"].values())
    assert all(flops > LARGEST for flops in suites["deepbench-large"].values())
    assert not suites["deepbench"].keys() & suites["deepbench-large"].keys()


@pytest.mark.parametrize(
    ("suite", "model", "mode"),
    [
        # (m, n, k) of its products are 5124, 700, 2048 and 1760, 16, 1760 and 512, 8, 500000
        ("deepbench-device", "op:matmul/700x2048x5124", "inference"),
        ("deepbench", "op:matmul/16x1760x1760", "inference"),
        ("deepbench-large", "op:matmul/8x500000x512", "inference"),
        # (w, h, c, n, k, filter, pad, stride) are 224, 224, 3, 16, 64, 7, 3, 2 and
        # 480, 48, 1, 16, 16, 3, 1, 1 and 224, 224, 3, 1, 64, 7, 3, 2
        ("deepbench-large", "op:conv2d/16x3x224x224-o64-k7-s2-p3", "train"),
        ("deepbench", "op:conv2d/16x1x48x480-o16-k3-p1", "train"),
        ("deepbench", "op:conv2d/1x3x224x224-o64-k7-s2-p3", "inference"),
        # hidden, batch and steps: 4096, 128, 25 and 256, 1, 150
        ("deepbench-large", "op:lstm/128x25x4096x4096", "train"),
        ("deepbench", "op:lstm/1x150x256x256", "inference"),
    ],
)  # fmt: skip
def test_rows_of_the_source_stand_where_they_belong(suites, suite, model, mode):
    assert (model, mode) in suites[suite]


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_says_where_it_is_from(name):
    suite = find_suite(name)
    assert "DeepBench" in suite.title
    assert suite.file.text.startswith("# Source: DeepBench (Baidu")
