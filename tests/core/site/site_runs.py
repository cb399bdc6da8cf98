"""Helpers that change the files of runs, and that read the files of a site."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mbench.results.seal import Seal

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["QUICK", "SLOW", "STEADY", "cells", "files", "left_out", "page", "rewrite", "shown"]

STEADY = [[1.0, 1.1], [1.02, 1.0], [1.0, 1.05]]
QUICK = [[0.5 * seconds for seconds in process] for process in STEADY]
SLOW = [[2.0 * seconds for seconds in process] for process in STEADY]


def rewrite(folder: Path, changed: dict[str, str], started: str = "") -> None:
    """Replace texts in a run's file, escaped as JSON has them, and close it with a new digest."""
    file = folder / "run.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    if started:
        lines[0]["started"] = started
    texts = [json.dumps(line, separators=(",", ":")) + "\n" for line in lines[:-1]]
    for old, new in changed.items():
        texts = [text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]) for text in texts]
    end = {**lines[-1], "digest": ""}
    before = "".join(texts)
    blank = json.dumps(end, separators=(",", ":"))
    seal = Seal(before.encode())
    seal.take(blank)
    file.write_text(before + blank.replace('"digest":""', f'"digest":"{seal.digest}"') + "\n")


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def page(folder, name="index.html"):
    return (folder / name).read_text(encoding="utf-8")


def cells(folder):
    """The class and the text of each paragraph on the first page that has a class, as pairs."""
    found = re.findall(r'<p class="(\w+)">(.*?)</p>', page(folder), re.DOTALL)
    return [(kind, re.sub(r"<[^>]*>", " ", text)) for kind, text in found]


def shown(folder):
    return [(kind, text) for kind, text in cells(folder) if kind in ("up", "down", "even", "none")]


def left_out(folder):
    return json.loads(page(folder, "results.json"))["left_out"]
