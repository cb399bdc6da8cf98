"""Options and fixtures that all tests share."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="also the tests that are marked thorough")
    parser.addoption(
        "--thorough",
        action="append",
        default=[],
        metavar="PART",
        help="tests with PART in their names are thorough, too, for not all can be marked",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect thorough tests, which pytest then reports, unless --all is given."""
    if config.getoption("--all", default=False):
        return
    parts = config.getoption("--thorough", default=[])
    left_out = [
        item
        for item in items
        if item.get_closest_marker("thorough") or any(part in item.nodeid for part in parts)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True, scope="session")
def children_hear_signals() -> Iterator[None]:
    """Let child processes receive signals even if `nohup` or a script's `&` started these tests.

    Both make the tests ignore some signals. A child inherits an ignored signal, but not a handler,
    so the tests ignore these signals with a handler that does nothing.
    """
    before = {number: signal.getsignal(number) for number in IGNORED}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
