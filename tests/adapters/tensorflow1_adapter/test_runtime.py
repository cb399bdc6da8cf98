"""TensorFlow 1's side of a worker, which has a Python of its own and is asked as mbench asks it.

The environment is the one that `mbench env create tf1` builds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import make_case

from mbench.contract.case import ProofWork

pytest.importorskip("mbench_tensorflow1", reason="TensorFlow 1's adapter is not installed here")

import mbench
from mbench.cli.builtin import mbench_workloads
from mbench.contract import wire
from mbench.engine.launch import launch
from mbench.testing.subject import observe

MODELS = mbench_workloads()
TRAINED = ("alexnet", "densenet121", "googlenet", "gpt2-small", "lstm", "mnasnet0_5",
           "mobilenet_v2", "resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_1")  # fmt: skip
"""One model of each family, except those of the tests below, to be proven in float64."""
INFERRED = ("inception_v3", "vgg11_bn")


@pytest.fixture(scope="module")
def worker(subject):
    with subject.worker(small()) as worker:
        yield worker


def small(**changes):
    usual = {
        "model": "resnet18", "workload": MODELS["resnet18"], "compiler": "graph", "threads": 2,
        "sizes": {"image_size": 32}, "batch_size": 3, "precision": "fp64",
    }  # fmt: skip
    return make_case(**{**usual, **changes})


def changes(worker, case):
    """What the worker prepared, and an observation of three steps: sketches of tensors by name."""
    prepared = worker.prepare(case)
    return prepared, observe(worker, steps=3)


def test_its_environment_has_what_is_pinned(subject):
    assert subject.environment.python_version.startswith("3.7.")
    assert subject.environment.packages["tensorflow"] == "1.15.5"


def test_a_worker_describes_itself(subject):
    worker, info = launch(
        subject.adapter, subject.environment, small(), log=subject.log, timeout=60
    )
    worker.close()
    assert info.version == "1.15.5"


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({"compiler": "xla"}, marks=pytest.mark.thorough, id="xla"),
        pytest.param({"tier": "tuned"}, id="tuned"),
    ],
)
@pytest.mark.parametrize("mode", ["train", "inference"])
def test_compilers_and_tiers_compute_the_same(worker, mode, others):
    case = small(mode=mode)
    _, due = changes(worker, case)
    _, found = changes(worker, replace(case, **others))
    for one, other in zip(found.steps, due.steps, strict=True):
        if mode == "train":
            assert one.loss == pytest.approx(other.loss, rel=1e-10)
        for name, sketch in other.outputs.items():
            assert np.array(one.outputs[name]) == pytest.approx(np.array(sketch), rel=1e-9)


def test_a_batch_is_fed_by_its_handle(worker):
    """Steps take all batches in turn, and each batch has outputs of its own."""
    worker.prepare(small(mode="inference", precision="fp32"))
    seen = []
    for _ in range(3):
        worker.run(1)
        seen.append(worker.ask(wire.Look(), wire.Seen))
    assert [one.batch for one in seen] == [0, 1, 2]
    sketches = {tuple(one.outputs["logits"]) for one in seen}
    assert len(sketches) == 3


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_what_it_does_its_own_way_is_said(worker, mode):
    said = "; ".join(worker.prepare(small(mode=mode)).differences)
    assert "channels last" in said
    bert = small(
        model="bert-base", workload=MODELS["bert-base"], mode=mode, batch_size=1,
        sizes={"sequence_length": 32},
    )  # fmt: skip
    said = "; ".join(worker.prepare(bert, work=ProofWork(layers=1)).differences)
    assert ("tf.train.AdamOptimizer" in said) == (mode == "train")


@pytest.mark.thorough  # the kit proves one more in any case
@pytest.mark.parametrize(
    ("model", "mode"),
    [*((model, "train") for model in TRAINED), *((model, "inference") for model in INFERRED)],
)
def test_a_model_is_proven(subject, model, mode, monkeypatch, tmp_path):
    monkeypatch.setenv("MBENCH_PROOFS", str(tmp_path))
    result = mbench.verify("tf1", models=model, mode=mode, precision="fp64", quiet=True)
    assert result.ok, result
