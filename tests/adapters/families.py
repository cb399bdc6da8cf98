"""Proofs in float64 of models that represent their families, for the tests of all adapters.

The quickest model of each family is proven in training, which proves its outputs, too. Three that
take a minute are proven in inference alone: their layers are those of GoogLeNet and AlexNet, and
the gradients of an LSTM are proven as an operator's. The tests of lies prove a small BERT and
bottlenecks. All frameworks prove a small GPT-2, and, by divided steps, a small Llama and small
transformers of images; a divided step proves all that a plain one does. Each other family is proven
in at least two frameworks that are quick at it: PyTorch's tests prove every quick model.
`tox -e zoo` proves all models in all frameworks.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import proven

from mbench.cli.builtin import mbench_workloads
from mbench.contract.case import Case
from mbench.environments.environment import Environment
from mbench.machine.cores import default_threads
from mbench.proofs.prove import prove
from mbench.results.proof import SHOWN
from mbench.workloads.find import LONGER

__all__ = ["FORMS", "QUICK", "REPRESENTATIVES", "assert_divided_proven",
           "assert_form_proven", "assert_proven", "assert_shown", "in_turn"]  # fmt: skip

REPRESENTATIVES = {
    "alexnet": ("train", "torch", "paddle"),
    "densenet121": ("train", "mxnet"),
    "googlenet": ("train", "mxnet"),
    "inception_v3": ("inference", "paddle"),
    "lstm": ("inference", "torch", "mxnet"),
    "mnasnet0_5": ("train", "mxnet"),
    "mobilenet_v2": ("train", "paddle"),
    "resnet18": ("train", "mxnet", "paddle"),
    "shufflenet_v2_x0_5": ("train", "mxnet"),
    "dlrm-small": ("train", "tf", "jax", "paddle"),
    "dlrm-v2": ("train", "tf", "jax", "paddle"),
    "small-moe": ("train", "torch", "tf", "jax", "paddle"),
    "small-gpt2": ("train", "torch", "tf", "mxnet", "paddle"),
    "squeezenet1_0": ("train", "tf", "mxnet"),
    "vgg11": ("inference", "mxnet", "paddle"),
}
"""Models, each with the mode in which it is proven, and by which frameworks."""

QUICK = 3e7
"""Models of fewer parameters are proven by PyTorch in a few seconds, in pytorch/test_zoo.py."""

FORMS = ("resnet18+layer3", "small-bert+encoder")
"""Models with a longer stage, which each framework proves."""


def in_turn(framework: str) -> list[str]:
    """The representatives that this framework proves."""
    return [model for model, (_, *turns) in REPRESENTATIVES.items() if framework in turns]


def assert_proven(adapter, model, *, folder, monkeypatch):
    """Assert that `adapter` proves `model` in this Python; logs and the proof go to `folder`."""
    mode = REPRESENTATIVES[model][0]
    proof = made(adapter, model, mode=mode, precision="fp64", folder=folder, patch=monkeypatch)
    checks = {finding.check for finding in proof.findings}
    expected = {"parameters", "outputs"}
    if mode == "train":
        expected |= {"loss", "updates", "optimizer"}
    assert expected <= checks


def assert_divided_proven(adapter, model, *, folder, monkeypatch, checkpoint=False):
    """Assert that a training step of two micro-batches matches the reference of the whole batch."""
    proof = made(
        adapter, model, mode="train", precision="fp64", folder=folder, patch=monkeypatch,
        batch_size=2, accumulate=2, checkpoint=checkpoint,
    )  # fmt: skip
    worst = {one.check: one.error for one in proof.findings if one.error is not None}
    assert max(worst[check] for check in ("loss", "updates", "optimizer")) < 1e-9


def assert_form_proven(adapter, model, *, folder, monkeypatch):
    """Assert that `model` is proven in inference: it is quick, and depth changes no training."""
    proof = made(
        adapter, model, mode="inference", precision="fp64", folder=folder, patch=monkeypatch
    )
    assert {"parameters", "outputs"} <= {finding.check for finding in proof.findings}


def assert_shown(adapter, model, *, folder, monkeypatch):
    """Assert that `model` is shown in fp32 inference, by the second grade: there is no float64."""
    proof = made(
        adapter, model, mode="inference", precision="fp32", folder=folder, patch=monkeypatch
    )
    assert proof.grade == SHOWN
    assert {"parameters", "shown", "timed"} <= {finding.check for finding in proof.findings}


def made(adapter, model, *, mode, precision, folder, patch, batch_size=1, **axes):
    """A proof under the adapter's first compiler; asserts that it holds."""
    workloads = {**mbench_workloads(), **dict.fromkeys(proven.MODELS, "proven:MODELS")}
    patch.setenv("PYTHONPATH", str(Path(proven.__file__).parent))  # so that a worker finds it
    patch.setenv("MBENCH_PROOFS", str(folder / "proofs"))
    here = Environment(
        label=adapter.name, python=Path(sys.executable), python_version=platform.python_version(),
        managed=False, digest=None, packages={},
    )  # fmt: skip
    case = Case(
        model=model,
        workload=workloads[model.partition(LONGER)[0]],
        mode=mode,
        batch_size=batch_size,
        precision=precision,
        compiler=next(iter(adapter.compilers)),
        device="cpu",
        threads=default_threads().count,
        **axes,
    )
    log = folder / "worker.log"
    proof = prove(adapter, here, case, log=log, timeout=900, report=print, fresh=True)
    said = log.read_text()[-2000:] if log.exists() else ""  # an empty one is removed
    assert proof.proven, (proof.failures, said)
    return proof
