"""Registers the models of proven.py, which workers import without any plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import proven

from mbench.hookspecs import hookimpl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["install", "mbench_workloads"]


@hookimpl
def mbench_workloads() -> dict[str, str]:
    return dict.fromkeys(proven.MODELS, "proven:MODELS")


def install(folder: Path) -> str:
    """Let a Python find this plugin in `folder`, as if installed; gives what to put on its path."""
    info = folder / "proven-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: proven\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mbench]\nproven = proven_plugin\n")
    return str(folder)
