"""Documents as far as layouts read them."""

from __future__ import annotations

__all__ = ["case", "made_of"]


def case(**given):
    """A case of a document as far as layouts read it."""
    rate = given.pop("rate", None)
    times = given.pop("times", None)
    return {
        "framework_title": "Tiny", "label": "tiny", "version": "1.2", "model": "resnet50",
        "mode": "train",
        "batch_size": 8, "scale": "1x1", "precision": "fp32", "tier": "default",
        "compiler": "eager", "device": "cuda",
        "threads": 1, "sizes": {}, "variables": {}, "steadiness": "usual", "clip": True,
        "dropout": True, "phase": "",
        "outcome": "ok", "reason": "",
        "throughput": {"value": rate, "unit": "images/s"} if rate else None,
        "step_time_ms": times, **given,
    }  # fmt: skip


def made_of(*cases):
    return {"run": "r", "system": {"hostname": "node7"}, "cases": list(cases)}
