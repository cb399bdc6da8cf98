"""Sets the variables of a Keras worker, before Keras is imported here."""

from __future__ import annotations

import contextlib
import os
import sys

with contextlib.suppress(ImportError):
    from mbench_keras.plugin import JAX

    for name, value in JAX.variables(threads=2, device="cpu").items():
        os.environ.setdefault(name, value)
    if os.environ["KERAS_BACKEND"] != "tensorflow":
        # The folder of TensorFlow's tests is on the path, where Keras would take it for the module.
        sys.modules["tensorflow"] = None  # type: ignore[assignment]
