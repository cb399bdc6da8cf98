"""Runs of made-up values, and sites that are built from them."""

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
    """Writes a proven run of tiny and of flaky, which takes half the time; returns its folder.

    `changed` maps texts in its file to what replaces them; then its digest is computed anew.
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
    """Builds a site of all runs of this test, or of those that are named; returns its folder."""

    def site(*places, output="site"):
        build(places or [tmp_path / "results"], tmp_path / output, title="Ours")
        return tmp_path / output

    return site
