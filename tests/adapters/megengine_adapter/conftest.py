"""Sets the variables of a MegEngine worker, before MegEngine is imported here."""

from __future__ import annotations

import contextlib
import os

with contextlib.suppress(ImportError):
    from mbench_megengine.plugin import MegEngine

    for name, value in MegEngine().variables(threads=2, device="cpu").items():
        os.environ.setdefault(name, value)
