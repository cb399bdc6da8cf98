"""Finds the files of runs, each once, and says why others are left out."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.errors import MbenchError, UsageError
from mbench.files import opened
from mbench.results.folder import EVENTS_FILE
from mbench.results.run import header_of
from mbench.results.runfile import lines_of
from mbench.results.seal import examine_file
from mbench.site.names import scrubbed, slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mbench.results.seal import Integrity

__all__ = ["Candidate", "LeftOut", "collect"]


@dataclass(frozen=True)
class Candidate:
    """A file that begins as a run does."""

    path: Path
    name: str
    """The file as seen from the place that the user named."""
    id: str
    started: str
    integrity: Integrity
    slug: str = ""
    """The name of its files on the site."""


@dataclass(frozen=True)
class LeftOut:
    """A file that is not shown."""

    name: str
    reason: str


def collect(places: Iterable[Path]) -> tuple[list[Candidate], list[LeftOut]]:
    """All runs in files, folders of runs and whatever these contain, independent of their order.

    The same file is taken once, and so is a run of which one file continues another. Raises
    UsageError for a place that does not exist, or that holds no run.
    """
    found: dict[str, Candidate] = {}
    left_out = []
    for path, name in sorted(set(files_of(places)), key=lambda one: (one[1], str(one[0]))):
        try:
            header = header_of(path, next(lines_of(path), ""))
            integrity = examine_file(path)
        except MbenchError as error:
            left_out.append(LeftOut(name, reason_of(error, path, name)))
            continue
        made = Candidate(path, name, header.id, header.started, integrity)
        found.setdefault(integrity.digest, made)
    return named(without_beginnings(found.values())), scrubbed(left_out)


def files_of(places: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Each file, and its name for readers: without the folders of the site's builder."""
    for place in places:
        if place.is_dir():
            files = [path for path in place.rglob(EVENTS_FILE) if not path.is_dir()]
            if not files:
                raise UsageError(f"no run in {place}; give a run or a folder of runs")
            yield from ((path, path.relative_to(place.parent).as_posix()) for path in files)
        elif place.exists():
            here = place.resolve().is_relative_to(Path.cwd())
            yield place, place.as_posix() if here and not place.is_absolute() else place.name
        else:
            raise UsageError(f"{place} does not exist; give a run or a folder of runs")


def reason_of(error: MbenchError, path: Path, name: str) -> str:
    """What is wrong with a file, without the folders that it is in."""
    return str(error).replace(str(path), name).replace(str(path.parent), name.rpartition("/")[0])


def whole(path: Path) -> bytes:
    with opened(path) as file:
        return file.read()


def without_beginnings(found: Iterable[Candidate]) -> list[Candidate]:
    """Without files that another one of the same run continues."""
    by_id: dict[str, list[Candidate]] = defaultdict(list)
    for one in found:
        by_id[one.id].append(one)
    kept = []
    for same in by_id.values():
        texts = {one.integrity.digest: whole(one.path) for one in same if len(same) > 1}
        kept += [
            one
            for one in same
            if not any(
                other is not one
                and texts[other.integrity.digest].startswith(texts[one.integrity.digest])
                for other in same
            )
        ]
    return kept


def named(found: Sequence[Candidate]) -> list[Candidate]:
    """The runs, each with a slug. Files that claim to be the same run are told apart by their
    digests.
    """
    ids = [one.id for one in found]
    made = []
    for one in found:
        own = one.id if ids.count(one.id) == 1 else f"{one.id} {one.integrity.digest}"
        made.append(replace(one, slug=slug(own)))
    return sorted(made, key=lambda one: (one.started, one.id, one.integrity.digest))


def marker(text: str) -> dict[str, object]:
    """The record that marks a folder as a site of ours; empty for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("site") == "mbench" else {}
