"""Proves the pixels of a framework's input pipeline, and names what is wrong with them.

mbench ships ten small JPEG files with two contents each, and the pixels that libjpeg-turbo decodes
from them with its accurate integer DCT and fancy upsampling. The pipeline reads them with given
crops. While it is stopped, and between epochs, the files get their other content.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbench.contract.feed import MEAN, SHARES, STD
from mbench.proofs.resize import made

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.contract.wire import Fed, Feed

__all__ = ["ANOTHER", "BATCH", "EQUAL", "SIZE", "WITHIN_ONE", "Asked", "Given", "PixelFindings",
           "judge", "stale", "write_probes"]  # fmt: skip

EQUAL, WITHIN_ONE, ANOTHER = "equal", "within 1 of 255", "another decoder"
SIZE = 64
"""Side of the probes that show decoding: at this size, they are not resized."""
SQUARE = 6
"""Number of probes with that size, which come first."""
COUNT, BATCH, CLASSES = 10, 5, 3
WHOLE = (0, 0, SHARES, SHARES)
ROUNDED = 1.5
"""How far resized pixels may be from the definition, out of 255: 1, plus a half for rounding."""
GRAIN = 0.01
"""The error left after whole numbers are normalised and converted back."""
LIKE, CLOSER = 4.0, 0.4
"""An explanation counts if the mean distance of the pixels to it is at most LIKE, and at most
CLOSER times that to the definition."""


@cache
def archive() -> dict[str, np.ndarray]:
    with np.load(Path(__file__).parent / "probes.npz", allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def jpeg(at: int, content: str) -> bytes:
    """A probe's file; `content` is "a" or "b"."""
    return archive()[f"{content}{at}.jpeg"].tobytes()


def decoded(at: int, content: str) -> np.ndarray:
    """A probe's pixels (H, W, 3), uint8."""
    return archive()[f"{content}{at}.pixels"]


def probe_of(at: int) -> tuple[int, int]:
    """The probe that is file `at` of the folder when sorted by name, and its label."""
    names = sorted((number % CLASSES, number) for number in range(COUNT))
    return names[at][1], names[at][0]


def write_probes(folder: Path, content: str) -> None:
    """Write all files with one of their contents, replacing each file whole."""
    for at in range(COUNT):
        place = folder / f"class{at % CLASSES}" / f"{at}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_suffix(".new")
        new.write_bytes(jpeg(at, content))
        new.replace(place)


@dataclass(frozen=True)
class Given:
    """What was requested in an epoch of probes."""

    content: str
    ids: Sequence[int]
    boxes: Sequence[Sequence[int]]
    flips: Sequence[bool]

    def message(self) -> Feed:
        from mbench.contract.wire import Feed

        return Feed(
            ids=list(self.ids),
            boxes=[int(one) for box in self.boxes for one in box],
            flips=[int(one) for one in self.flips],
            alone=True,
            keep=True,
        )

    def wanted(self, position: int, *, size: int, **changes: Any) -> np.ndarray:
        """The image at a position by the definition, with `changes` to what was requested."""
        at = changes.get("at", self.ids[position])
        return image_of(
            probe_of(int(at))[0], str(changes.get("content", self.content)),
            tuple(changes.get("box", self.boxes[position])),
            bool(changes.get("flip", self.flips[position])), size,
            bool(changes.get("antialias", True)), bool(changes.get("halved")),
        )  # fmt: skip


@lru_cache(maxsize=512)
def image_of(
    probe: int, content: str, box: tuple[int, ...], flip: bool, size: int, antialias: bool,
    half: bool,
) -> np.ndarray:  # fmt: skip
    """The image of a probe by the definition, (S, S, 3)."""
    pixels = decoded(probe, content)
    return made(halved(pixels) if half else pixels, box, flip=flip, size=size, antialias=antialias)


class Asked:
    """The epochs of a proof: each has every probe once, in a new order and with new crops."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def epoch(self, content: str, *, central: bool = False) -> Given:
        order = self.random.permutation(COUNT)
        while (order[:-1] < order[1:]).all():
            order = self.random.permutation(COUNT)
        boxes: list[Sequence[int]] = []
        for at in order:
            if central:
                boxes.append((0, 0, 0, 0))
            elif probe_of(int(at))[0] < SQUARE:
                boxes.append(WHOLE)
            else:
                tall, wide = self.random.integers(SHARES // 2, SHARES * 9 // 10, 2)
                top, left = (int(self.random.integers(0, SHARES - one)) for one in (tall, wide))
                boxes.append((top, left, int(tall), int(wide)))
        flips = [not central and bool(one) for one in self.random.integers(0, 2, COUNT)]
        return Given(content, [int(at) for at in order], boxes, flips)


@dataclass
class PixelFindings:
    """What is known about a pipeline's pixels."""

    grade: str = EQUAL
    largest: float = 0.0
    """Largest and mean difference of decoded pixels, out of 255."""
    mean: float = 0.0
    psnr: float | None = None
    """Peak signal-to-noise ratio in decibels; None if the pixels are equal."""
    failures: list[str] = field(default_factory=list)
    """What is wrong, each in a few words."""

    @property
    def said(self) -> str:
        """The grade, in words."""
        if self.grade == EQUAL:
            return "pixels equal"
        text = f"largest difference {self.largest:.3g} of 255, mean {self.mean:.2g}"
        return f"{self.grade}: {text}" + (f", PSNR {self.psnr:.1f} dB" if self.psnr else "")


def images_of(found: Fed) -> np.ndarray:
    """(N, S, S, 3) in 0 to 255, with the normalisation undone."""
    flat = np.frombuffer(base64.b64decode(found.images), dtype="<f4").astype(np.float64)
    size = math.isqrt(len(flat) // (3 * max(len(found.ids), 1)))
    whole = flat.reshape(-1, 3, size, size).transpose(0, 2, 3, 1)
    pixels: np.ndarray = (whole * np.array(STD) + np.array(MEAN)) * 255
    return pixels


def judge(epochs: Sequence[tuple[Given, Fed]]) -> PixelFindings:
    """Judge the results of consecutive epochs."""
    findings = PixelFindings()
    differences: list[np.ndarray] = []
    explained: list[list[str]] = []
    said: dict[str, None] = {}
    before: list[Given] = []
    for given, found in epochs:
        wrong = dict.fromkeys(unlike_order(given, found))
        said |= wrong
        if list(found.ids) == list(given.ids):  # otherwise images belong to other samples anyway
            explained += unlike_images(given, images_of(found), before, differences)
        before.append(given)
    apart = np.concatenate(differences) if differences else np.zeros(1)
    findings.largest, findings.mean = float(apart.max()), float(apart.mean())
    if findings.largest > 0:
        findings.psnr = 20 * math.log10(255 / math.sqrt(float((apart**2).mean())))
        findings.grade = WITHIN_ONE if findings.largest <= 1 else ANOTHER
    findings.failures = [*said, *fewest(explained)]
    return findings


def fewest(explained: Sequence[Sequence[str]]) -> list[str]:
    """The explanations that cover the most images, chosen until all images are covered;
    `explained` lists those that fit each image.
    """
    found: list[str] = []
    left = list(explained)
    while left:
        counts = Counter(said for fitting in left for said in fitting)
        best = max(counts.values())
        chosen = next(said for fitting in left for said in fitting if counts[said] == best)
        found.append(chosen)
        left = [fitting for fitting in left if chosen not in fitting]
    return found


def unlike_order(given: Given, found: Fed) -> Iterator[str]:
    """What is wrong with ids and labels."""
    wanted, came = list(given.ids), list(found.ids)
    if len(came) < len(wanted):
        missing = len(wanted) - len(came)
        yield f"{missing} of {len(wanted)} samples are missing: the last are dropped"
    elif len(set(came)) < len(set(wanted)):
        yield "one file comes twice, and another one is missing"
    elif came != wanted:
        order = "the order of the folder" if came == sorted(wanted) else "another order"
        yield f"samples come in {order}, not in the one that was drawn"
    if came != wanted:
        return
    due = [probe_of(at)[1] for at in wanted]
    labels = list(found.labels)
    if labels == due or len(labels) != len(due):
        return
    shifts = {(got - want) for got, want in zip(labels, due, strict=True)}
    if len(shifts) == 1:
        yield f"labels are off by {shifts.pop()}"
    elif labels == [due[-1], *due[:-1]] or labels == [*due[1:], due[0]]:
        yield "labels are shifted by one sample"
    else:
        yield "labels are those of other samples"


def unlike_images(
    given: Given, images: np.ndarray, before: Sequence[Given], differences: list[np.ndarray]
) -> Iterator[list[str]]:
    """The explanations of each image that was made differently. Differences of images that were
    only decoded, and of images that nothing explains, are added to `differences`.
    """
    size = images.shape[1]
    for position, image in enumerate(images):
        wanted = given.wanted(position, size=size)
        apart = np.abs(image - wanted)
        probe = probe_of(given.ids[position])[0]
        plain = size == SIZE and probe < SQUARE and given.boxes[position][2]
        if apart.max() > ROUNDED:
            if fitting := explanations(given, position, image, before):
                yield fitting
                continue
            differences.append(apart.ravel())
        elif plain:
            whole = np.rint(image)
            apart = np.where(np.abs(image - whole) < GRAIN, np.abs(whole - wanted), apart)
            differences.append(apart.ravel())


def explanations(
    given: Given, position: int, image: np.ndarray, before: Sequence[Given]
) -> list[str]:
    """Other operations that would explain the pixels; none if the pixels are closest to what was
    requested, so that the cause is another decoder.
    """
    size = image.shape[0]
    base = float(np.abs(image - given.wanted(position, size=size)).mean())
    limit = min(LIKE, CLOSER * base)
    found = candidates(given, position, before, size)
    return list(
        dict.fromkeys(said for said, other in found if np.abs(image - other).mean() <= limit)
    )


def candidates(
    given: Given, position: int, before: Sequence[Given], size: int
) -> Iterator[tuple[str, np.ndarray]]:
    """What a pipeline may have done instead, and the image that results."""
    at, flip = given.ids[position], given.flips[position]

    def changed(**changes: Any) -> np.ndarray:
        return given.wanted(position, size=size, **changes)

    yield "resize without antialias", changed(antialias=False)
    yield "decoded at half size", changed(halved=True)
    yield "mirroring is not as it was drawn", changed(flip=not flip)
    yield "the crop is ignored: whole images are resized", changed(box=WHOLE)
    yield "a central crop in place of the one that was drawn", changed(box=(0, 0, 0, 0))
    yield "channels come as blue, green, red", changed()[..., ::-1]
    for earlier in reversed(before):
        same = earlier.ids.index(at)
        box, mirrored = earlier.boxes[same], earlier.flips[same]
        yield (
            "pixels are kept from the epoch before",
            changed(content=earlier.content, box=box, flip=mirrored),
        )
        yield "the crop is kept from the epoch before", changed(box=box, flip=mirrored)
        if earlier.content != given.content:
            yield (
                "decoded images are kept from the epoch before",
                changed(content=earlier.content),
            )
    for other in range(COUNT):
        if other != at:
            yield "pixels of another file: one comes twice", changed(at=other)


def stale(given: Given, found: Fed, *, other: str) -> bool:
    """Whether any image has the content that files had only while the pipeline was stopped."""
    for position, image in enumerate(images_of(found)):
        size = image.shape[0]
        now = np.abs(image - given.wanted(position, size=size)).mean()
        then = np.abs(image - given.wanted(position, size=size, content=other)).mean()
        if then < CLOSER * now:
            return True
    return False


def halved(pixels: np.ndarray) -> np.ndarray:
    """Pixels from a decoder that drops every other frequency, at the original size."""
    height, width = pixels.shape[0] // 2 * 2, pixels.shape[1] // 2 * 2
    cut = pixels[:height, :width].astype(np.float64)
    small = cut.reshape(height // 2, 2, width // 2, 2, 3).mean(axis=(1, 3))
    large = np.repeat(np.repeat(small, 2, axis=0), 2, axis=1)
    padding = ((0, pixels.shape[0] - height), (0, pixels.shape[1] - width), (0, 0))
    return np.pad(large, padding, mode="edge")
