"""Lies planted in the source of TensorFlow 1's adapter, whose workers have a Python of their own.

Each lie is a copy of the adapter in which one passage differs. The proof must catch it by name, at
the check that the lie is about: the checks before it pass.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cases import make_case

pytest.importorskip("mbench_tensorflow1", reason="TensorFlow 1's adapter is not installed here")

import mbench_tensorflow1
from mbench_tensorflow1.plugin import TensorFlow1

from mbench.proofs.prove import prove

HONEST, LYING = "mbench_tensorflow1", "mbench_lying1"

LIES = {
    "keeps_its_outputs": (
        "squeezenet1_1", "inference", "runtime.py",
        "None:\n        self.compute(batch)",
        "None:\n        self.ran = hasattr(self, 'ran') or self.compute(batch)",
        "outputs", ["output logits"],
    ),
    "no_weight_decay": (
        "squeezenet1_1", "train", "optimizer.py",
        "gradient + decays[weight] * weight if decays[weight] else gradient",
        "gradient",
        "optimizer", ["weight decay"],
    ),
    "sums_the_loss": (
        "squeezenet1_1", "train", "layers.py",
        "return tf.reduce_mean(found)",
        "return tf.reduce_sum(found)",
        "updates", ["common factor 4"],
    ),
    "skips_the_update": (
        "squeezenet1_1", "train", "optimizer.py",
        "return self.optimizer.apply_gradients(decayed)",
        "return tf.group(*(gradient for gradient, _ in decayed))",
        "updates", ["the step skips its update"],
    ),
    "pads_one_side_more": (
        "resnet18", "inference", "layers.py",
        "same = stride == 1 and margins ==",
        "same = margins ==",
        "outputs", ["output logits"],
    ),
    "wrong_epsilon": (
        "resnet18", "inference", "layers.py",
        "epsilon = self.config.epsilon",
        "epsilon = 1e-3",
        "outputs", ["output logits", "an epsilon or an approximation"],
    ),
    "wrong_momentum": (
        "resnet18", "train", "layers.py",
        "(running - found) * self.config.momentum",
        "(running - found) * 0.01",
        "updates", ["bn1.running_mean", "running statistics most: momentum"],
    ),
    "biased_variance": (
        "resnet18", "train", "layers.py",
        "found_variance * (count / max(count - 1, 1))",
        "found_variance",
        "updates", ["running_var", "running statistics most"],
    ),
    "tanh_gelu": (
        "bert-base", "inference", "layers.py",
        "return 0.5 * x * (1.0 + tf.erf(x / math.sqrt(2)))",
        "return 0.5 * x * (1.0 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))",
        "outputs", ["output", "an epsilon or an approximation"],
    ),
    "first_positions": (
        "bert-base", "inference", "layers.py",
        "tf.reshape(chosen + first, (-1,))",
        "tf.reshape(tf.range(chosen.shape[1], dtype=chosen.dtype) + first, (-1,))",
        "outputs", ["output mlm_logits", "nsp_logits right"],
    ),
    "no_clipping": (
        "bert-base", "train", "optimizer.py",
        "if self.spec.clip_norm is not None:",
        "if self.spec is None:",
        "updates", ["common factor", "clipping"],
    ),
    "weight_decay_everywhere": (
        "bert-base", "train", "optimizer.py",
        "self.spec.learning_rate * decay * weight, read_value=False)\n"
        "                for weight, decay in decays.items()\n"
        "                if decay",
        "self.spec.learning_rate * max(decays.values()) * weight, read_value=False)\n"
        "                for weight in decays",
        "optimizer", ["most of all those without weight decay"],
    ),
}  # fmt: skip
"""For each lie: model, mode, file, an honest passage and what replaces it, the check that must
fail, and words that its finding must contain.
"""
QUICK = ("keeps_its_outputs", "no_weight_decay")


@pytest.mark.parametrize(
    "lie", [pytest.param(lie, marks=() if lie in QUICK else pytest.mark.thorough) for lie in LIES]
)
def test_a_lie_is_caught(subject, tmp_path, monkeypatch, lie):
    model, mode, file, honest, lying, check, words = LIES[lie]
    plant(tmp_path / LYING, file, honest, lying)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MBENCH_PROOFS", str(tmp_path / "proofs"))
    *before, last = findings(subject, model, mode, tmp_path / "worker.log")
    assert all(finding.passed for finding in before)
    assert last.check == check
    assert not last.passed
    said = f"{last.where} {last.note}"
    assert all(word in said for word in words), said


def plant(copy, file, honest, lying):
    """Copy the adapter under a name of its own, and replace a passage in one of its files."""
    shutil.copytree(
        Path(mbench_tensorflow1.__file__).parent, copy, ignore=shutil.ignore_patterns("*.pyc")
    )
    for source in copy.rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        if source == copy / file:
            assert text.count(honest) == 1, "the passage of the lie is no longer there, or not once"
            text = text.replace(honest, lying)
        source.write_text(text.replace(HONEST, LYING), encoding="utf-8")


def findings(subject, model, mode, log):
    """The findings of the proof in float64, up to the first that fails."""
    case = make_case(
        model=model, workload=subject.workloads[model], mode=mode, batch_size=1,
        precision="fp64", compiler="graph",
    )  # fmt: skip
    return prove(
        Lying(), subject.environment, case, log=log, timeout=900, report=print, fresh=True,
        quick=True,
    ).findings  # fmt: skip


class Lying(TensorFlow1):
    runtime = f"{LYING}.runtime:Runtime"
