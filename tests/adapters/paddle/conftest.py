"""Imports PaddlePaddle, if installed, as a worker does: threads are set first, and it may warn."""

from __future__ import annotations

import contextlib
import os
import warnings

os.environ["OMP_NUM_THREADS"] = "2"
with warnings.catch_warnings(), contextlib.suppress(ModuleNotFoundError):
    warnings.simplefilter("ignore")  # it misses ccache, a cache of C++ compilers
    import paddle  # noqa: F401
