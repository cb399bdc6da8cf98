"""The proof in float64 of models that stand for their families, as an adapter's tests make it.

The quickest of each family, in training, which proves its outputs too. Three that take a minute
are proven in inference alone: their layers are those of GoogLeNet and AlexNet, and the gradients of
an LSTM are proven as an operator's. A small BERT and bottlenecks are proven by the tests of lies, a
small GPT-2 in all frameworks, and there a small Llama and small transformers of images, too, by
steps that are divided: each of these proves all that a plain one does. Each other family is proven
in two that are quick at it: PyTorch's tests prove every quick model. `tox -e zoo` proves all models
in all frameworks.
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
"""Parameters of a model that PyTorch proves in a few seconds: pytorch/test_zoo.py does so."""

FORMS = ("resnet18+layer3", "small-bert+encoder")
"""Models with a longer stage, which each framework proves."""


def in_turn(framework: str) -> list[str]:
    """The models whose proof is this framework's turn."""
    return [model for model, (_, *turns) in REPRESENTATIVES.items() if framework in turns]


def assert_proven(adapter, model, *, folder, monkeypatch):
    """By `adapter` in this Python; logs and the proof go to `folder`."""
    mode = REPRESENTATIVES[model][0]
    proof = made(adapter, model, mode=mode, precision="fp64", folder=folder, patch=monkeypatch)
    checks = {finding.check for finding in proof.findings}
    expected = {"parameters", "outputs"}
    if mode == "train":
        expected |= {"loss", "updates", "optimizer"}
    assert expected <= checks


def assert_divided_proven(adapter, model, *, folder, monkeypatch, checkpoint=False):
    """A training step of two micro-batches, against the reference of the undivided batch."""
    proof = made(
        adapter, model, mode="train", precision="fp64", folder=folder, patch=monkeypatch,
        batch_size=2, accumulate=2, checkpoint=checkpoint,
    )  # fmt: skip
    worst = {one.check: one.error for one in proof.findings if one.error is not None}
    assert max(worst[check] for check in ("loss", "updates", "optimizer")) < 1e-9


def assert_form_proven(adapter, model, *, folder, monkeypatch):
    """In inference, which is quick; that it is deeper changes nothing in how it is trained."""
    proof = made(
        adapter, model, mode="inference", precision="fp64", folder=folder, patch=monkeypatch
    )
    assert {"parameters", "outputs"} <= {finding.check for finding in proof.findings}


def assert_shown(adapter, model, *, folder, monkeypatch):
    """Likewise where the framework has no float64: inference, in fp32, by the second grade."""
    proof = made(
        adapter, model, mode="inference", precision="fp32", folder=folder, patch=monkeypatch
    )
    assert proof.grade == SHOWN
    assert {"parameters", "shown", "timed"} <= {finding.check for finding in proof.findings}


def made(adapter, model, *, mode, precision, folder, patch, batch_size=1, **axes):
    """A proof that holds, under the first compiler."""
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
    assert proof.proven, (proof.failures, log.read_text()[-2000:])
    return proof
