"""What to install where MXNet's own library does not load."""

from __future__ import annotations

import re

__all__ = ["explain"]

PACKAGES = {
    "libquadmath.so.0": "libquadmath0",
    "libgomp.so.1": "libgomp1",
}
"""What brings the shared libraries that its wheels expect to find: names of Debian packages."""


def explain(error: OSError) -> str:
    """One line for a user, with what the loader said."""
    said = " ".join(str(error).split())
    match = re.match(r"([^\s:]+\.so[.\d]*): cannot open shared object file", said)
    if match and match[1] in PACKAGES:
        return f"MXNet needs {match[1]}: install {PACKAGES[match[1]]}"
    return f"MXNet's library does not load: {said}"
