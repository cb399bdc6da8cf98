"""The losses of mbench's families, for adapters with one cross entropy for all of them.

A model file with its own `loss` keeps it. Shapes: B batch, K classes or tokens.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.contract.tensors import Tensor, Tensors

    CrossEntropy = Callable[[Tensor, Tensor], Tensor]

__all__ = ["loss_of"]


def loss_of(family: str, cross_entropy: CrossEntropy, outputs: Tensors, batch: Tensors) -> Tensor:
    """The loss of a family, as its module in `mbench.workloads` documents it.

    `cross_entropy(logits, labels)` returns the mean softmax cross entropy of logits (..., K) and
    labels (...). The family of given gradients needs tensors with `sum` and `mean` instead.
    """
    if family == "given":
        return (outputs["outputs"] * batch["directions"]).sum(1).mean()
    if family == "bert":
        masked = cross_entropy(outputs["mlm_logits"], batch["masked_labels"])
        return masked + cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
    labels = batch["labels"]
    total = cross_entropy(outputs["logits"], labels)
    for head in (name for name in outputs if name != "logits"):
        weight = importlib.import_module(f"mbench.workloads.{family}").AUXILIARY_WEIGHT
        total = total + weight * cross_entropy(outputs[head], labels)
    return total
