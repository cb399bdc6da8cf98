"""Reference files are read back whole, or refused with the name of the file."""

from __future__ import annotations

import dataclasses
import json
import random
import types
import warnings

import numpy as np
import pytest

from mbench.cli.builtin import mbench_workloads
from mbench.contract.sketch import sketch
from mbench.contract.workload import Tensor
from mbench.errors import MbenchError
from mbench.proofs.reference import (
    MOST_ROUNDED,
    PLAIN_RATE,
    folder_of,
    load,
    rounding,
    save,
    scales,
    trajectory,
)
from mbench.proofs.tolerances import EXACT
from mbench.proofs.write_reference import check_rounding
from mbench.workloads.find import find_workload


@pytest.fixture
def path(tmp_path, reference):
    path = tmp_path / "references" / "small.npz"
    save(path, reference)
    return path


def same(one, other):
    assert one.made["model"] == other.made["model"]
    assert one.outputs.keys() == other.outputs.keys()
    for seed, outputs in one.outputs.items():
        for name, expected in outputs.items():
            assert np.array_equal(expected, other.outputs[seed][name])
    for name in ("plain", "own"):
        for part in ("losses", "tensors", "whole"):
            ours, theirs = (getattr(getattr(r, name), part) for r in (one, other))
            assert np.array_equal(ours, theirs)


def refused(path, workload):
    with pytest.raises(MbenchError) as caught:
        load(path, workload)
    assert str(path) in str(caught.value)
    assert workload.name in str(caught.value)
    assert "mbench new reference " in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_reference_file_survives(path, workload, reference):
    same(load(path, workload), reference)


def test_a_reference_file_is_written_over(path, workload, reference):
    other = dataclasses.replace(reference, outputs={s: {"x": np.ones(6)} for s in (0, 1)})
    save(path, other)
    same(load(path, workload), other)


OURS = mbench_workloads()
OURS |= {
    form.name: reference
    for name, reference in mbench_workloads().items()
    for form in find_workload(reference, name).lengthened().values()
}


def test_float32_holds_the_plain_rate():
    assert float(np.float32(PLAIN_RATE)) == PLAIN_RATE


def ours(name):
    """The workload at its proof's depth, and its reference file."""
    workload = find_workload(OURS[name], name)
    if "layers" in workload.proof:
        config = dataclasses.replace(workload.config, layers=workload.proof["layers"])
        workload = dataclasses.replace(workload, config=config)
    if "by_shape" in workload.proof:
        workload = workload.resized(**workload.proof["sizes"])
    return workload, load(folder_of(OURS[name]) / f"{name}.npz", workload)


@pytest.mark.parametrize("name", OURS)
def test_rounding_of_parameters_does_not_show_in_ours(name):
    workload, made = ours(name)
    for one in (made.plain, made.own):
        assert rounding(one.tensors, workload).max() <= MOST_ROUNDED < EXACT / 10


def test_rounding_is_reckoned_as_it_is(workload, changes):
    """The estimate is compared with the rounding that adding the parameters really causes."""
    last = {name: 1e-6 * change for name, change in changes[-1].items()}
    exact = np.array([sketch(name, change) for name, change in last.items()])
    initial = {name: a.astype(np.float64) for name, a in workload.parameters(seed=0)}
    rounded = np.array(
        [sketch(name, initial[name] + last[name], start=initial[name]) for name in last]
    )
    gaps = np.linalg.norm((rounded - exact)[:, 1:], axis=1) / scales(exact, workload)
    shares = rounding(exact, workload)
    assert (gaps < 4 * shares).all()
    assert gaps.max() > shares.max() / 10


def test_a_reference_file_of_what_rounding_shows_in_is_not_written(workload, reference):
    check_rounding(reference, workload)
    tiny = dataclasses.replace(reference.own, tensors=1e-7 * reference.own.tensors)
    with pytest.raises(MbenchError, match=r"small: float64 rounds the change of norm\.\w+ by"):
        check_rounding(dataclasses.replace(reference, own=tiny), workload)


@pytest.mark.parametrize("name", OURS)
def test_ours_are_sound(name):
    proven, made = ours(name)
    assert (made.plain.losses > 0).all()
    # The first step's loss precedes any update, so it is the same under both rules.
    assert made.plain.losses[0] == made.own.losses[0]
    names = [tensor.name for tensor in proven.tensors()]
    still = [n for n, norm in zip(names, made.own.tensors[:, 0], strict=True) if norm == 0]
    # A bias of keys adds the same to all scores of a query, which softmax cancels.
    assert not [name for name in still if not name.endswith("key.bias")]


def test_ours_are_small_and_all_of_them_are_used():
    files = list(folder_of("mbench.workloads.resnet:MODELS").iterdir())
    assert {file.stem for file in files} == set(OURS)
    assert sum(file.stat().st_size for file in files) < 2_900_000


def test_a_missing_one_is_refused(tmp_path, workload):
    assert "has no reference file" in refused(tmp_path / "none.npz", workload)


@pytest.mark.parametrize(
    "content", [b"", b"text\n", b"\x93NUMPY\x01\x00", b"PK\x05\x06" + b"\0" * 18]
)
def test_foreign_files_are_refused(path, workload, content):
    path.write_bytes(content)
    refused(path, workload)


def test_a_folder_and_a_single_array_are_refused(path, workload):
    path.unlink()
    path.mkdir()
    refused(path, workload)
    path.rmdir()
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    refused(path, workload)


def test_a_truncated_file_is_refused(path, workload):
    whole = path.read_bytes()
    for length in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:length])
        refused(path, workload)


def test_a_damaged_file_is_refused_or_reads_as_it_was(path, workload, reference):
    whole, chance = path.read_bytes(), random.Random(0)
    refusals = 0
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = load(path, workload)
        except MbenchError:
            refusals += 1
        else:
            same(made, reference)
    assert refusals > 300


def rewrite(path, **edits):
    """Replace arrays by name: None leaves one out, a function changes it, a dictionary `made`."""
    with np.load(path) as stored:
        arrays = dict(stored)
    for name, edit in edits.items():
        if edit is None:
            del arrays[name]
        elif isinstance(edit, dict):
            made = json.loads(arrays["made"].tobytes()) | edit
            arrays["made"] = np.frombuffer(json.dumps(made).encode(), dtype=np.uint8)
        else:
            arrays[name] = edit(arrays[name]) if callable(edit) else edit
    np.savez(path, **arrays)


def with_nan(array):
    array[-1] = np.nan
    return array


def with_infinity(array):
    array[0] = np.inf
    return array


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"plain/losses": None}, "plain/losses"),
        ({"own/whole": None}, "own/whole"),
        ({"made": None}, "made"),
        ({"outputs/1/logits": None}, "holds no outputs"),
        ({"plain/losses": np.ones(4)}, r"float64 \(4,\) should be \(1,\)"),
        ({"own/losses": np.ones(4)}, r"float64 \(4,\) should be \(3,\)"),
        ({"own/tensors": lambda a: a[:-1]}, r"\(6, 6\) should be \(7, 6\)"),
        ({"own/tensors": lambda a: a.astype(np.float32)}, "float32"),
        ({"plain/whole": with_nan}, "should be"),
        ({"own/losses": with_infinity}, "should be"),
        ({"outputs/0/logits": np.full(6, np.nan)}, "should be"),
        ({"outputs/0/logits": np.ones(5)}, r"should be \(6,\)"),
        ({"own/losses": np.array([{}, {}, {}])}, "pickle"),
        ({"made": np.frombuffer(b"{", dtype=np.uint8)}, "not a reference file"),
        ({"made": np.frombuffer(b"[]", dtype=np.uint8)}, "not a reference file"),
        ({"made": {"schema": 1}}, "schema 1 is not 3"),
        ({"made": {"plain_rate": 2.0**-10}}, "plain descent has the rate 0.0009765625"),
        ({"made": {"model": "large"}}, "it is for large at"),
        ({"made": {"proof": {"batch_size": 16}}}, "it is for small at .*16"),
    ],
)
def test_contents_that_are_not_right_are_refused(path, workload, edits, said):
    rewrite(path, **edits)
    with pytest.raises(MbenchError, match=said):
        load(path, workload)
    refused(path, workload)


def test_errors_count_by_a_tensors_own_change_or_its_groups_typical_one():
    tensors = [
        Tensor("a", (10,), 1.0),
        Tensor("b", (10,), 1.0),
        Tensor("running", (2,), 1.0, trainable=False),
        Tensor("c", (5,), 1.0),
        Tensor("still", (2,), 1.0, trainable=False),
    ]
    norms = np.zeros((5, 6))
    norms[:, 0] = [3.0, 1e-9, 200.0, 4.0, 0.0]
    made = scales(norms, types.SimpleNamespace(tensors=lambda: tensors))
    typical = np.sqrt((9 + 16) / 25)
    small = 1e-2 * typical * np.sqrt(10)
    still = 1e-2 * np.sqrt(200**2 / 4) * np.sqrt(2)
    assert made.tolist() == pytest.approx([3.0, small, 200.0, 4.0, still])


def test_a_trajectory_keeps_the_last_steps_tensors_and_sums_up_all(workload, changes, observed):
    seen = observed(changes)
    made = trajectory(seen, workload)
    names = [tensor.name for tensor in workload.tensors()]
    assert made.losses.tolist() == [2.0, 1.9, 1.8]
    assert made.tensors.tolist() == [seen.steps[2].parameters[name] for name in names]
    assert made.whole.shape == (3, 5)
    scale = np.ones(len(names))
    plain = trajectory(seen, workload, scale=scale)
    expected = [np.array(seen.steps[1].parameters[name])[1:] for name in names]
    assert plain.whole[1] == pytest.approx(np.sum(expected, axis=0))
