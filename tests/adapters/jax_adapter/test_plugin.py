"""The description of JAX, which must be right without JAX."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from mbench_jax.plugin import Jax

FOLDERS = Path(__file__).parents[3] / "adapters"


@pytest.mark.parametrize(("accelerator", "distribution"), [("cpu", "jax"), ("cuda", "jax[cuda12]")])
def test_requirements_follow_the_accelerator(accelerator, distribution):
    first, second, *others = Jax().requirements(None, accelerator)
    assert (first, second) == (f"{distribution}==0.10.2", "jaxlib==0.10.2")
    assert [one.partition("==")[0] for one in others] == ["optax", "grain", "pillow"]
    assert Jax().requirements("0.10.1", accelerator)[:2] == (
        f"{distribution}==0.10.1",
        "jaxlib==0.10.1",
    )


@pytest.mark.parametrize("version", ["0.9.2", "0.4.38", "1.0", "newest", ""])
def test_requirements_reject_other_versions(version):
    with pytest.raises(ValueError, match="not supported"):
        Jax().requirements(version, "cpu")


def test_a_worker_has_its_threads_and_its_device():
    found = Jax().variables(threads=3, device="cpu")
    assert found["PJRT_NPROC"] == "3"
    assert found["JAX_PLATFORMS"] == "cpu"


def test_its_folder_is_not_taken_for_jax():
    """adapters/jax would be imported as a namespace package if adapters/ were on the path."""
    assert str(FOLDERS) not in sys.path
    found = importlib.util.find_spec("jax")
    assert found is None or found.origin is not None
