"""Finds or builds the interpreter in which a framework lives."""

from __future__ import annotations

from mbench.environments.environment import Environment
from mbench.environments.locate import find, provide
from mbench.environments.spec import FrameworkSpec, parse

__all__ = ["Environment", "FrameworkSpec", "find", "parse", "provide"]
