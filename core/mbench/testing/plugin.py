"""The kit's pytest plugin; every pytest session with mbench installed loads it, so it is light."""

from __future__ import annotations

import os

import pytest

__all__ = ["pytest_addoption", "pytest_load_initial_conftests"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mbench", "mbench's conformance kit (--pyargs mbench.testing)")
    group.addoption(
        "--adapter",
        metavar="NAME",
        help="The framework whose adapter is tested, in any form that `mbench compare` takes.",
    )
    group.addoption(
        "--models",
        metavar="MODEL,...",
        help="The models to test it on, smallest first.  [default: the smallest that it supports]",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Pin each process of pytest-xdist, and what it starts, to its own core.

    Each framework then has one thread: threads of two frameworks that share cores wait for each
    other. This must happen before a framework is imported, since each starts as many threads as
    it finds cores.
    """
    process = os.environ.get("PYTEST_XDIST_WORKER")
    if process and early_config.known_args_namespace.adapter and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(process.removeprefix("gw")) % len(cores)]})
