"""Makes a folder of photographs for input pipelines; the same seed gives the same photographs."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbench.cli.data.photographs import pillow, sources
from mbench.contract.image_folder import scan
from mbench.errors import MbenchError, UsageError, scarce, why

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["MANIFEST", "MEAN_BYTES", "Made", "make"]

MANIFEST = "mbench-data.json"
MEAN_BYTES = 114_660
"""Mean file size of ImageNet, which DLIO also imitates."""
WIDTH, HEIGHT = 500, 375
SPREAD = 0.2
"""Width and height vary by up to this share of WIDTH and HEIGHT."""
LEAST_CROP = 0.5
"""Smallest crop: its sides, as a share of those of the largest crop with the same proportions."""
GAIN = 0.15
"""Brightness varies by up to this share."""
TRIED = 64
"""Number of images used to choose the quality."""
QUALITIES = range(75, 101)


@dataclass(frozen=True, kw_only=True)
class Made:
    """A folder that was made, as its manifest describes it."""

    files: int
    classes: int
    """0 for a flat folder."""
    seed: int
    mean_bytes: int
    quality: float
    """The encoder's quality. A fraction is the share of files that get the next integer."""
    encoder: str
    sources: dict[str, str]
    """SHA-256 of each photograph, by its name."""
    digest: str
    """SHA-256 over all files, see `ImageFolder.digest`."""


def make(
    folder: Path, *, files: int, classes: int, seed: int, report: Callable[[int], None]
) -> Made:
    """Make `folder`, which must not exist or must be empty; `classes` 0 makes it flat. `report` is
    called with the number of files so far.

    Raises UsageError for a folder that is already in use, and MbenchError if files cannot be
    written. In either case, nothing is left behind.
    """
    image = pillow()
    found = sources()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists: give a new folder")
    photographs = [image.open(path).convert("RGB") for path in found]
    quality = chosen_quality(photographs, seed=seed, files=files)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise MbenchError(f"cannot write {folder}: {why(error)}") from None
    try:
        for at, (content, _) in enumerate(encoded(photographs, quality, seed=seed, files=files)):
            place = begun / name_of(at, files=files, classes=classes)
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(content)
            report(at + 1)
        whole = scan(str(begun))
        made = Made(
            files=files, classes=classes, seed=seed, quality=round(quality, 3),
            mean_bytes=round(sum(path.stat().st_size for path in begun.rglob("*.jpg")) / files),
            encoder=encoder(),
            sources={path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found},
            digest=whole.digest(),
        )  # fmt: skip
        (begun / MANIFEST).write_text(json.dumps(asdict(made), indent=2) + "\n")
        begun.chmod(0o755)
        begun.replace(folder)
    except OSError as error:
        said = scarce(error) or why(error)
        raise MbenchError(f"cannot write {folder}: {said}; nothing was left behind") from None
    finally:
        shutil.rmtree(begun, ignore_errors=True)  # already gone if it became the folder
    return made


def name_of(at: int, *, files: int, classes: int) -> str:
    """File name in ImageNet's layout: a folder for each class, or all in one."""
    if not classes:
        return f"{at:06}.jpg"
    label = at * classes // files
    return f"class{label:04}/{at:06}.jpg"


def encoder() -> str:
    """Pillow's version, and that of its JPEG library."""
    from PIL import __version__, features

    kind = "libjpeg-turbo" if features.check_feature("libjpeg_turbo") else "libjpeg"
    number = features.version_feature("libjpeg_turbo") or features.version_codec("jpg")
    return f"Pillow {__version__}, {kind} {number}"


def chosen_quality(photographs: Sequence[Any], *, seed: int, files: int) -> float:
    """The quality, usually between two integers, at which files have ImageNet's mean size."""
    drawn = [drawn_image(photographs, seed=seed, at=at) for at in range(min(TRIED, files))]

    def mean(quality: int) -> float:
        return sum(len(jpeg(one, quality)) for one in drawn) / len(drawn)

    before = 0.0
    for quality in QUALITIES:
        size = mean(quality)
        if size >= MEAN_BYTES:
            step = size - before
            return quality - ((size - MEAN_BYTES) / step if before and step > 0 else 0.0)
        before = size
    return float(QUALITIES[-1])


def encoded(
    photographs: Sequence[Any], quality: float, *, seed: int, files: int
) -> Iterator[tuple[bytes, int]]:
    """Each file with its quality."""
    share, whole = quality % 1, int(quality)
    for at in range(files):
        above = generator(seed, at, 1).random() < share
        yield jpeg(drawn_image(photographs, seed=seed, at=at), whole + above), whole + above


def generator(*key: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))


def drawn_image(photographs: Sequence[Any], *, seed: int, at: int) -> Any:
    """A crop of one of the photographs, resized, perhaps mirrored, a little brighter or darker."""
    random = generator(seed, at, 0)
    wide, tall = (round(side * random.uniform(1 - SPREAD, 1 + SPREAD)) for side in (WIDTH, HEIGHT))
    photograph = photographs[at % len(photographs)]
    largest = min(photograph.width / wide, photograph.height / tall)
    scale = largest * random.uniform(LEAST_CROP, 1.0)
    left = random.uniform(0, photograph.width - wide * scale)
    top = random.uniform(0, photograph.height - tall * scale)
    image = pillow()
    box = (left, top, left + wide * scale, top + tall * scale)
    found = photograph.resize((wide, tall), image.Resampling.BICUBIC, box=box)
    if random.random() < 0.5:
        found = found.transpose(image.Transpose.FLIP_LEFT_RIGHT)
    gain = random.uniform(1 - GAIN, 1 + GAIN)
    return found.point([min(255, round(gain * value)) for value in range(256)] * 3)


def jpeg(image: Any, quality: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, subsampling="4:2:0")
    return buffer.getvalue()
