"""The instructions of our Containerfile, carried out in a Debian root."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from debian import Debian

CHECKOUT = Path(__file__).parents[2]


def instructions(text: str) -> list[tuple[str, str]]:
    """The name and the rest of each instruction, without comments, its lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in found]


def files() -> list[Path]:
    """The files of the checkout that git does not ignore."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    return [path for line in listed.splitlines() if (path := CHECKOUT / line).is_file()]


def context() -> list[Path]:
    """The files that a build takes along: what .dockerignore leaves."""
    rules = (CHECKOUT / ".dockerignore").read_text().split()
    assert rules[0] == "*"
    kept = {rule[1:] for rule in rules if rule.startswith("!")}
    gone = [rule.removeprefix("**/") for rule in rules[1:] if not rule.startswith("!")]
    return [
        path
        for path in files()
        if path.relative_to(CHECKOUT).parts[0] in kept
        and not any(fnmatch(part, rule) for part in path.parts for rule in gone)
    ]


def copy(paths: list[Path], folder: Path) -> None:
    for path in paths:
        target = folder / path.relative_to(CHECKOUT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


class Image:
    """What a build leaves: the variables, the folder and the command of a container."""

    def __init__(self, debian: Debian, **arguments: str) -> None:
        """Build it on top of `debian`, which stands for the base."""
        self.debian = debian
        self.variables: dict[str, str] = {}
        self.folder = "/"
        self.entry: list[str] = []
        self.given = dict(arguments)
        for name, rest in instructions((CHECKOUT / "Containerfile").read_text()):
            getattr(self, f"do_{name.lower()}")(rest)

    def do_from(self, base: str) -> None:
        assert base == "${BASE}"
        assert self.given["BASE"] == "docker.io/library/debian:bookworm-slim"

    def do_arg(self, text: str) -> None:
        name, _, value = text.partition("=")
        self.given.setdefault(name, value.strip('"'))

    def do_run(self, command: str) -> None:
        done = self.debian.run(f"set -e; {command}", variables=self.given | self.variables)
        assert done.returncode == 0, done.stdout + done.stderr

    def do_copy(self, text: str) -> None:
        source, target = text.split()
        assert source == "."
        copy(context(), self.debian.at(target))

    def do_env(self, text: str) -> None:
        self.variables |= dict(word.split("=", 1) for word in shlex.split(text))

    def do_volume(self, folder: str) -> None:
        assert self.debian.at(folder).is_dir()

    def do_workdir(self, folder: str) -> None:
        self.folder = folder

    def do_entrypoint(self, text: str) -> None:
        self.entry = json.loads(text)

    def do_cmd(self, text: str) -> None:
        self.usual = json.loads(text)

    def run(self, *words: str, user: int = 0) -> subprocess.CompletedProcess[str]:
        """Run words in the image, as `podman run IMAGE WORDS` does."""
        command = shlex.join([*self.entry, *(words or self.usual)])
        return self.debian.run(command, variables=self.variables, user=user, folder=self.folder)
