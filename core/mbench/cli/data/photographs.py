"""The photographs from which images are cut: those that scikit-learn's wheel ships."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.errors import MbenchError, lacking

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["pillow", "sources"]

NAMES = ("china.jpg", "flower.jpg")
"""640 x 427, 4:4:4; by danielbuechele and vultilion on Flickr (CC BY 2.0)."""


def pillow() -> ModuleType:
    """Pillow's module Image; raises MbenchError if it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        raise lacking("Pillow", extra="data") from None
    found: ModuleType = Image
    return found


def sources() -> list[Path]:
    """The photographs' files; raises MbenchError if they, or scikit-learn, are not installed."""
    found = find_spec("sklearn")  # does not import it
    if found is None or found.origin is None:
        raise lacking("scikit-learn", extra="data")
    folder = Path(found.origin).parent / "datasets" / "images"
    paths = [folder / name for name in NAMES]
    for path in paths:
        if not path.is_file():
            raise MbenchError(f"scikit-learn is installed without {path}: install its wheel again")
    return paths
