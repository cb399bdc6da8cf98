"""Tells mbench of the model."""

from __future__ import annotations

from mbench.plugins.hooks import hookimpl


@hookimpl
def mbench_workloads() -> dict[str, str]:
    return {"perceptron": "mbench_perceptron.workload:PERCEPTRON"}
