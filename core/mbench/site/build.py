"""Builds the whole site beside its place, and puts it there once it is whole."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import secrets
import shutil
import signal
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING

import mbench
from mbench.errors import MbenchError, UsageError, reason_of
from mbench.files import small_text
from mbench.reports import html
from mbench.site.collect import LeftOut, collect, marker
from mbench.site.data import as_json, cases_csv, feed, ratios_csv
from mbench.site.index import index_page
from mbench.site.matrix import rows_of
from mbench.site.names import scrubbed
from mbench.site.pages import page_of
from mbench.site.publish import Published, publish
from mbench.site.subjects import subjects
from mbench.site.timeline import lines_of, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.site.collect import Candidate

__all__ = ["Built", "build"]

MARKER = "site.json"
FOLDERS = ("assets", "frameworks", "machines", "models", "raw", "runs")
MANY = 24
"""From this many runs on, all cores are used."""
SUFFIXES = {".py", ".html", ".css", ".js", ".toml"}


@dataclass(frozen=True)
class Built:
    """What became of the runs' files."""

    runs: Sequence[Published]
    left_out: Sequence[LeftOut]
    kept: int = 0
    """Number of runs' pages that were as before, and were not rendered again."""


@dataclass(frozen=True)
class Before:
    """What the site that will be replaced knows about its runs."""

    folder: Path
    pages: dict[str, str] = field(default_factory=dict)
    """Digests of pages, by the digest of the run's file."""

    def page(self, found: Candidate) -> Path | None:
        """The page of a run, if it was made from the same file and code, and not changed."""
        page = self.folder / "runs" / f"{found.slug}.html"
        known = self.pages.get(found.integrity.digest[:24])
        return page if known and page.is_file() and digest_of(page) == known else None


def build(places: Sequence[Path], output: Path, *, title: str, url: str = "") -> Built:
    """Write the site of all runs in `places` to `output`; raises MbenchError, UsageError.

    The site depends on the runs alone, not on their order, nor on where or when it is built.
    """
    output = output.resolve()
    before = standing(output)
    candidates, left_out = collect(places)
    staging = output.with_name(f".{output.name}.{secrets.token_hex(4)}")
    try:
        staging.mkdir(parents=True)
        try:
            built = fill(staging, candidates, left_out, before, title=title, url=url)
            put(staging, output)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise MbenchError(f"cannot write the site: {reason_of(error)}") from None
    return built


def standing(output: Path) -> Before:
    """The site that is already there; raises UsageError if anything else is."""
    if not output.exists():
        return Before(output)
    if not output.is_dir():
        raise UsageError(f"{output} is not a folder; give another with --output", option="--output")
    if not any(output.iterdir()):
        return Before(output)
    try:
        found = marker(small_text(output / MARKER))
    except UsageError:
        found = {}
    if not found:
        raise UsageError(
            f"{output} contains files that are not part of an mbench site; give an empty or new "
            "folder",
            option="--output",
        )
    pages = found.get("pages")
    if found.get("code") != code_digest() or not isinstance(pages, dict):
        return Before(output)
    return Before(output, {str(of): str(digest) for of, digest in pages.items()})


def fill(
    site: Path, candidates: Sequence[Candidate], left_out: Sequence[LeftOut], before: Before, *,
    title: str, url: str,
) -> Built:  # fmt: skip
    """Write everything to `site`, before it is put in its place."""
    for folder in FOLDERS:
        (site / folder).mkdir()
    known = [before.page(found) for found in candidates]
    made = list(published(candidates, site, known))
    runs = [one for one in made if isinstance(one, Published)]
    left = sorted({*left_out, *(one for one in made if isinstance(one, LeftOut))},
                  key=lambda one: (one.name, one.reason))  # fmt: skip
    if not runs:
        reasons = "; ".join(one.reason for one in left[:3])
        raise MbenchError(f"no run can be shown: {reasons}")
    lines = lines_of(runs)
    steps, rows = steps_of(lines), rows_of(runs)
    for subject in subjects(runs, rows, lines, steps):
        write(site / subject.page, page_of(subject))
    write(site / "index.html", index_page(title, rows, runs, steps, left))
    write(site / "results.csv", cases_csv(runs))
    write(site / "ratios.csv", ratios_csv(runs))
    write(site / "results.json", as_json(title, runs, steps, left))
    write(site / "feed.atom", feed(title, runs, steps, url=url))
    for name in html.SCRIPTS:
        write(site / "assets" / name.rpartition("/")[2], html.source(name))
    pages = {run.integrity.digest[:24]: digest_of(site / run.page) for run in runs}
    record = {"site": "mbench", "schema": 1, "mbench": mbench.__version__, "code": code_digest(),
              "pages": dict(sorted(pages.items()))}  # fmt: skip
    write(site / MARKER, json.dumps(record, indent=1) + "\n")
    return Built(runs, left, sum(page is not None for page in known))


def published(
    candidates: Sequence[Candidate], site: Path, known: Sequence[Path | None]
) -> Iterator[Published | LeftOut]:
    """Publish each run, in order, using all cores if there are many."""
    cores = len(os.sched_getaffinity(0))
    if len(candidates) < MANY or cores < 2:
        yield from map(tried, candidates, repeat(site), known)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mbench.site.build"])
    with ProcessPoolExecutor(cores, mp_context=context) as pool:
        try:
            with without_interrupts():  # which the workers inherit
                made = pool.map(tried, candidates, repeat(site), known, chunksize=4)
                first = next(made)  # by then all workers have started
            yield first
            yield from made
        except BaseException:  # Ctrl-C above all
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Processes started within never handle Ctrl-C, which is left to the parent."""
    resource_tracker.ensure_running()  # it unblocks Ctrl-C again, and is started once
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def tried(found: Candidate, site: Path, known: Path | None) -> Published | LeftOut:
    """Publish a run, and test with a first page of it alone that it can be shown with others."""
    made = publish(found, site, known)
    if isinstance(made, LeftOut):
        return made
    try:
        steps = steps_of(lines_of([made]))
        as_json("", [made], steps, [])
        index_page("", rows_of([made]), [made], steps, [])
    except OSError:
        raise
    except Exception as error:
        for name in (made.page, made.raw):
            (site / name).unlink()
        what = f"its values cannot be shown ({type(error).__name__}: {error!s:.100})"
        return scrubbed(LeftOut(found.name, f"{found.name}: {what}"))
    return made


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace")


def put(staging: Path, output: Path) -> None:
    """Put the folder in its place; what was there is put aside first, and removed last."""
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        staging.rename(output)
        return
    aside = output.with_name(f"{staging.name}.old")
    output.rename(aside)
    try:
        staging.rename(output)
    except OSError:
        aside.rename(output)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]


@cache
def code_digest() -> str:
    """Digest of all files of mbench that pages are made with."""
    root, found = Path(mbench.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in SUFFIXES:
            found.update(f"{path.relative_to(root).as_posix()}\n".encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]
