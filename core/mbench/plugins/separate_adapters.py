"""Adapters in separate packages, and how to install one that is requested."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mbench.files import read_toml

__all__ = ["SeparateAdapter", "checkout", "install_hint", "separate_adapters"]

TABLE = Path(__file__).with_name("separate_adapters.toml")


@dataclass(frozen=True)
class SeparateAdapter:
    """An adapter in its own package; `folder` is relative to a checkout of mbench."""

    name: str
    title: str
    folder: str
    aliases: tuple[str, ...] = ()


def separate_adapters() -> list[SeparateAdapter]:
    """The adapters in the table that is shipped with mbench."""
    found = read_toml(TABLE).content
    return [
        SeparateAdapter(name, row["title"], row["folder"], tuple(row.get("aliases", ())))
        for name, row in found.items()
    ]


def install_hint(name: str) -> str:
    """How to install the adapter that has this name, alias or title in any spelling; empty if
    there is none.
    """
    for adapter in separate_adapters():
        if plain(name) in map(plain, (adapter.name, adapter.title, *adapter.aliases)):
            return f"{adapter.title}'s adapter is a separate package: {command(adapter.folder)}"
    return ""


def plain(name: str) -> str:
    """`name` without case and punctuation, in which its spellings may differ."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def command(folder: str) -> str:
    """The command that installs `folder`, from the checkout we are in or that mbench came from."""
    root = checkout(folder)
    if root is None:
        return f"pip install ./{folder} (in a checkout of mbench)"
    path = f"./{folder}" if root == Path.cwd() else str(root / folder)
    return f"pip install {shlex.quote(path)}"


def checkout(folder: str) -> Path | None:
    """The checkout of mbench that has `folder`; None if there is none on this machine."""
    folders = [Path.cwd(), Path(__file__).resolve().parents[3]]
    try:
        origin = json.loads(distribution("mbench-dl").read_text("direct_url.json") or "{}")
        if (url := urlsplit(origin.get("url", ""))).scheme == "file":
            folders.append(Path(unquote(url.path)))
    except (PackageNotFoundError, ValueError, OSError):
        pass
    return next((root for root in folders if (root / folder / "pyproject.toml").is_file()), None)
