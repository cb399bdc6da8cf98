"""Writes a package from a template: working files under a new name."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from pathlib import Path

from mbench.errors import UsageError

__all__ = ["PLACEHOLDERS", "scaffold"]

PLACEHOLDERS = {"adapter": "mine", "model": "perceptron"}
"""The placeholder name in each template. The templates are working packages."""


PACKAGE = "package"
"""Folder with the files of every package, for testing and releasing it."""
INFERENCE = "inference"
"""Folder with the files of an adapter that only infers, which replace the adapter template's."""
TRAINING = ("optimizer.py", "given.py")
"""Files that an adapter that only infers does not have."""


def scaffold(kind: str, name: str, folder: Path, *, autograd: bool = True) -> list[Path]:
    """Write the template of `kind` to `folder`, creating it; returns the files. Without `autograd`,
    an adapter only infers, and computes with NumPy at first.

    The template's name becomes `name`, in paths and in texts: mine, Mine and MINE become fast_net,
    FastNet and FAST_NET. Raises UsageError if `name` is not a lower-case Python name, or if the
    folder is not empty.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} is not a valid Python name: use lower-case letters, digits and _"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists: give another --folder")
    templates = Path(str(files("mbench_templates")))
    sources = {**listed(templates / PACKAGE), **listed(templates / kind)}
    if not autograd:
        sources = {at: file for at, file in sources.items() if file.name not in TRAINING}
        sources |= listed(templates / INFERENCE)
    written = []
    for at, source in sorted(sources.items()):
        target = folder / renamed(at, PLACEHOLDERS[kind], name)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = source.read_bytes()
        if source.suffix != ".npz":
            text = renamed(content.decode(), PLACEHOLDERS[kind], name)
            content = (text if autograd else text.replace("autograd.numpy", "numpy")).encode()
        target.write_bytes(content)
        written.append(target)
    return written


def listed(template: Path) -> dict[str, Path]:
    """The files of a template, by their path in it."""
    found = (path for path in template.rglob("*") if "__pycache__" not in path.parts)
    return {str(path.relative_to(template)): path for path in found if path.is_file()}


def renamed(text: str, old: str, new: str) -> str:
    """`text` with `new` in place of `old` as a whole word, in each style of writing a name."""
    title = "".join(part.capitalize() for part in new.split("_"))
    for was, now in ((old, new), (old.capitalize(), title), (old.upper(), new.upper())):
        text = re.sub(rf"(?<![A-Za-z]){was}(?![a-z])", now, text)
    return text
