"""Registers the models of proven.py where this folder is on the path, as if they were installed.

The folder beside this file declares the plugin. Workers import the models by themselves.
"""

from __future__ import annotations

import proven

from mbench.plugins.hooks import hookimpl

__all__ = ["mbench_workloads"]


@hookimpl
def mbench_workloads() -> dict[str, str]:
    return dict.fromkeys(proven.MODELS, "proven:MODELS")
