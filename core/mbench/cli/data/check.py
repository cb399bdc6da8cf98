"""Checks every file in a folder for whatever would make input pipelines differ or fail."""

from __future__ import annotations

import io
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.cli.data.photographs import pillow
from mbench.contract.image_folder import ImageFolder, ImageFolderError, scan
from mbench.errors import UsageError
from mbench.files import opened

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["Finding", "check"]

SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF", b"BM": "BMP", b"RIFF": "WebP",
    b"II*\0": "TIFF", b"MM\0*": "TIFF",
}  # fmt: skip
JPEG = b"\xff\xd8\xff"
FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers of a frame header (SOF)."""
SCAN = 0xDA
"""JPEG marker of a scan (SOS), which holds the image's data."""
END = b"\xff\xd9"
PADDING = 4096
"""Bytes after the image's end that are tolerated: some cameras and programs append some."""
EXIF_ORIENTATION = 0x0112


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is wrong with a file or a folder."""

    name: str
    """Path relative to the folder."""
    kind: str
    """ "broken", "truncated", "CMYK" and so on."""
    says: str
    """Its effect, and what to do about it."""


def check(folder: Path) -> tuple[ImageFolder, Iterator[Finding]]:
    """The images, and an iterator that finds what is wrong with them. Raises UsageError if the
    folder cannot be used, and MbenchError if Pillow is not installed.
    """
    pillow()
    try:
        found = scan(str(folder))
    except ImageFolderError as error:
        raise UsageError(str(error)) from None
    return found, findings(found)


def findings(folder: ImageFolder) -> Iterator[Finding]:
    for name in folder.empty:
        yield Finding(
            name=f"{name}/", kind="empty class",
            says="the folder has no JPEG files: labels of later classes are one lower than in a "
            "list of all classes",
        )  # fmt: skip
    for at, name in enumerate(folder.names):
        try:
            with opened(Path(folder.path(at))) as file:
                content = file.read()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            yield Finding(name=name, kind="unreadable", says=reason)
            continue
        yield from of_file(name, content)


def of_file(name: str, content: bytes) -> Iterator[Finding]:
    """Findings about one file."""
    for signature, kind in SIGNATURES.items():
        if content.startswith(signature):
            deep = kind == "PNG" and len(content) > 24 and content[24] == 16
            yield Finding(
                name=name, kind="16-bit" if deep else f"{kind} named {os.path.splitext(name)[1]}",
                says=f"it is a {kind}{' with 16 bits per channel' if deep else ''}: frameworks "
                "that read only JPEG fail; convert it",
            )  # fmt: skip
            return
    if not content.startswith(JPEG):
        yield Finding(name=name, kind="broken", says="it is not an image: remove it")
        return
    bits, channels = frame_of(content)
    if bits > 8:
        yield Finding(name=name, kind="16-bit", says=f"it has {bits} bits per channel: convert it")
        return
    if channels == 4:
        yield Finding(
            name=name, kind="CMYK",
            says="frameworks convert its four channels differently or fail: convert it to RGB",
        )  # fmt: skip
        return
    yield from decoded(name, content)


def decoded(name: str, content: bytes) -> Iterator[Finding]:
    """Findings that decoding reveals."""
    image = pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = image.open(io.BytesIO(content))
            orientation = picture.getexif().get(EXIF_ORIENTATION, 1)
            picture.load()
    except Exception as error:  # anything a decoder raises means that the file is bad
        cut = "truncated" in str(error) or END not in content[-64:]
        yield Finding(
            name=name, kind="truncated" if cut else "broken",
            says="its end is missing: remove it" if cut else f"it does not decode ({error})",
        )  # fmt: skip
        return
    if (end := end_of(content)) is None:
        yield Finding(name=name, kind="truncated", says="its end is missing: remove it")
    elif len(content) - end > PADDING:
        yield Finding(
            name=name, kind="trailing data",
            says=f"{len(content) - end} bytes follow the image, and every read loads them: save it "
            "without them",
        )  # fmt: skip
    if orientation not in (0, 1):
        yield Finding(
            name=name, kind="EXIF orientation",
            says=f"its EXIF orientation is {orientation}: some decoders apply it, others do not; "
            "apply it to the pixels and remove the tag",
        )  # fmt: skip


def frame_of(content: bytes) -> tuple[int, int]:
    """Bits per channel and number of channels, from the frame header; both 0 if there is none."""
    for marker, at in segments(content):
        if marker in FRAMES and at + 9 < len(content):
            return content[at + 4], content[at + 9]
    return 0, 0


def end_of(content: bytes) -> int | None:
    """Offset of the image's end; None if it is missing. Thumbnails in the header have ends, too."""
    scans = next((at for marker, at in segments(content) if marker == SCAN), 0)
    end = content.find(END, scans)  # scan data never contains END: JPEG escapes it
    return None if end < 0 else end + len(END)


def segments(content: bytes) -> Iterator[tuple[int, int]]:
    """The marker and the offset of each segment of the header, up to the first scan."""
    at = 2
    while at + 3 < len(content):
        if content[at] != 0xFF:
            at += 1
            continue
        marker = content[at + 1]
        if marker in (0x01, 0xFF) or 0xD0 <= marker <= 0xD9:
            at += 1 if marker == 0xFF else 2
            continue
        yield marker, at
        if marker == SCAN:
            return
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
