"""`mbench data`: makes and checks folders of images for input pipelines."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbench.cli.formats import format_options
from mbench.cli.options import SIZE
from mbench.cli.output import check_writable, deliver
from mbench.console import counted, say, tell
from mbench.errors import UsageError

if TYPE_CHECKING:
    from mbench.cli.data.check import Finding
    from mbench.contract.image_folder import ImageFolder

__all__ = ["command"]

EVERY = 100
"""Number of files between two progress messages."""


@click.group("data")
def command() -> None:
    """Make and check folders of images, for --data.

    \b
    Examples:
      mbench data make photos
      mbench data check photos
      mbench compare torch tf --models resnet18 --data photos
    """


@command.command("make")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--files", type=SIZE, default=1000, show_default=True, help="How many images.")
@click.option("--classes", type=SIZE, default=100, show_default=True,
              help="How many class folders, as in ImageNet.")  # fmt: skip
@click.option("--flat", is_flag=True, help="Put all images in one folder, without classes.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("-q", "--quiet", is_flag=True, help="Show only the result.")
def make_command(
    folder: Path, files: int, classes: int, flat: bool, seed: int, quiet: bool
) -> None:
    """Make a FOLDER of photographs of about ImageNet's mean size.

    They are cut from the two photographs that scikit-learn's wheel ships, half of them mirrored,
    and encoded again at about 500 x 375 pixels and 115 KB. The same seed gives the same
    photographs. This needs the extra "data": Pillow and scikit-learn.

    \b
    Examples:
      mbench data make photos
      mbench data make photos --files 100 --flat
    """
    from mbench.cli.data.make import make

    if seed < 0:
        raise UsageError(f"a seed must be 0 or more, not {seed}", option="--seed")
    classes = 0 if flat else min(classes, files)

    def report(made: int) -> None:
        if not quiet and (made % EVERY == 0 or made == files):
            tell(f"{made} of {files} images")

    found = make(folder, files=files, classes=classes, seed=seed, report=report)
    where = f"in {counted(classes, 'class')}" if classes else "in one folder"
    size = f"{found.mean_bytes / 1000:.1f} KB on average"
    say(f"{folder}: {counted(files, 'image')} {where}, {size}")
    say(f"SHA-256 {found.digest}")


@command.command("check")
@click.argument("folder", type=click.Path(path_type=Path))
@format_options("table", "json")
@click.pass_context
def check_command(context: click.Context, folder: Path, format_: str, output: Path | None) -> None:
    """Look at every image of FOLDER for what makes input pipelines fail or differ.

    It names files that are unreadable, broken, truncated, padded, CMYK, of 16 bits, or of another
    format than their name says, classes without images, and images that EXIF says to rotate or
    mirror. The exit code is 1 if there are any. This needs the extra "data".

    \b
    Examples:
      mbench data check photos
      mbench data check photos --format json -o findings.json
    """
    from mbench.cli.data.check import check

    check_writable(output)
    images, found = check(folder)
    findings = list(found)
    if format_ == "json":
        document = {
            "folder": images.root, "files": len(images), "classes": len(images.classes),
            "digest": digest_of(images), "findings": [asdict(one) for one in findings],
        }  # fmt: skip
        deliver(json.dumps(document, indent=2) + "\n", output)
    else:
        lines = [*map(line_of, findings)]
        total = f"{counted(len(images), 'image')}, {counted(len(findings), 'finding')}"
        deliver("\n".join([*lines, f"{images.root}: {total}"]) + "\n", output)
    context.exit(1 if findings else 0)


def digest_of(images: ImageFolder) -> str | None:
    """The folder's digest; None if a file cannot be read, which is one of the findings."""
    try:
        return images.digest()
    except OSError:
        return None


def line_of(finding: Finding) -> str:
    return f"{finding.name}: {finding.kind}: {finding.says}"
