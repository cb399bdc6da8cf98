"""Sets the variables of a MindSpore worker, before MindSpore is imported here."""

from __future__ import annotations

import contextlib
import os

with contextlib.suppress(ImportError):
    from mbench_mindspore.plugin import MindSpore

    for name, value in MindSpore().variables(threads=2, device="cpu").items():
        os.environ.setdefault(name, value)
