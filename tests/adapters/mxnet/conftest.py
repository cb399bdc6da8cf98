"""Imports MXNet, if it is installed, as a worker does: threads are set first, and it may warn."""

from __future__ import annotations

import contextlib
import os
import warnings

os.environ["OMP_NUM_THREADS"] = "2"
with warnings.catch_warnings(), contextlib.suppress(ModuleNotFoundError):
    warnings.simplefilter("ignore", DeprecationWarning)  # it uses NumPy's old type aliases
    import mxnet  # noqa: F401
