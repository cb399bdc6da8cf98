"""Runs of made-up values, made once, and sites of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from site_runs import QUICK, STEADY, rewrite

from mbench.site.build import build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def made(write_run: Callable[..., Path], proven: Any) -> Callable[..., Path]:
    """Writes a proven run of tiny and flaky, which takes half of the time; gives its folder.

    `changed` are texts of its file to be replaced, after which its digest is made anew.
    """

    def made(*, changed: dict[str, str] | None = None, started: str = "", **given: Any) -> Path:
        seconds = given.pop("seconds", {"tiny": STEADY, "flaky": QUICK})
        proofs = given.pop("proofs", dict.fromkeys(seconds, proven.yes))
        folder = write_run(seconds=seconds, proofs=proofs, **given)
        if started or changed:
            rewrite(folder, changed or {}, started)
        return folder

    return made


@pytest.fixture
def site(tmp_path):
    """Builds a site of all runs of this test, or of those that are named, and gives its folder."""

    def site(*places, output="site"):
        build(places or [tmp_path / "results"], tmp_path / output, title="Ours")
        return tmp_path / output

    return site
