"""The kit's option for pytest; every session of pytest beside mbench loads this, so it is light."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mbench", "mbench's conformance kit (--pyargs mbench.testing)")
    group.addoption(
        "--adapter",
        metavar="NAME",
        help="The framework whose adapter is tested, in any form that `mbench compare` takes.",
    )
