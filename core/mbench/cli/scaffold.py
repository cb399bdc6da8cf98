"""Writes a package from a template: files that work, under another name."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from pathlib import Path

from mbench.errors import UsageError

__all__ = ["PLACEHOLDERS", "scaffold"]

PLACEHOLDERS = {"adapter": "mine", "model": "perceptron"}
"""Of each template, the name that stands in it: the templates are packages that work."""


def scaffold(kind: str, name: str, folder: Path) -> list[Path]:
    """Write the template of `kind` to `folder`, which it makes; returns the files.

    The template's name becomes `name`, in paths and in texts: mine, Mine and MINE become fast_net,
    FastNet and FAST_NET. Raises UsageError where `name` is no lower-case Python name, or where
    something is in the folder already.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} is not a valid Python name: use lower-case letters, digits and _"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already: give another --folder")
    template = Path(str(files("mbench_templates"))) / kind
    written = []
    for source in sorted(template.rglob("*")):
        if source.is_dir() or "__pycache__" in source.parts:
            continue
        target = folder / renamed(str(source.relative_to(template)), PLACEHOLDERS[kind], name)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = source.read_bytes()
        if source.suffix != ".npz":
            content = renamed(content.decode(), PLACEHOLDERS[kind], name).encode()
        target.write_bytes(content)
        written.append(target)
    return written


def renamed(text: str, old: str, new: str) -> str:
    """`text` with `new` where `old` stood by itself, in each way in which a name is written."""
    title = "".join(part.capitalize() for part in new.split("_"))
    for was, now in ((old, new), (old.capitalize(), title), (old.upper(), new.upper())):
        text = re.sub(rf"(?<![A-Za-z]){was}(?![a-z])", now, text)
    return text
