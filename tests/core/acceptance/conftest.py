"""Fixtures for the acceptance (benchmarks/cuda.py): a step, a conductor and a setting."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def importable():
    """Lets tests import the acceptance's package, which lies beside the program that uses it."""
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def make():
    """Makes a step that runs some Python."""
    from acceptance.judges import probed
    from acceptance.step import Step

    def make(name: str, code: str = "print('{\"told\": 1}')", **changed: Any) -> Any:
        usual = {
            "phase": "nine", "about": f"does {name}", "program": ("-c", code), "judge": probed,
            "seconds": 20.0, "least": 0.1,
        }  # fmt: skip
        return Step(name=name, **{**usual, **changed})

    return make


@pytest.fixture
def conduct(tmp_path):
    """Goes through steps; returns whether it came to their end, and the record."""
    from acceptance.conduct import Conductor
    from acceptance.limits import Clock
    from acceptance.record import Record

    def conduct(steps, *, seconds=None, before=None, grace=5.0):
        conductor = Conductor(python=sys.executable, folder=tmp_path, mark=os.urandom(8).hex(),
                              grace=grace)  # fmt: skip
        record = Record(folder=tmp_path, command="cuda.py", setting={"device": "cpu"}, machine={},
                        versions={"numpy": "2"})  # fmt: skip
        return conductor.go(steps, record, Clock(seconds), before or {}), record

    return conduct


@pytest.fixture
def setting():
    from acceptance.setting import Setting

    def setting(**given):
        device, frameworks = given.get("device", "cuda"), given.get("frameworks", ("torch",))
        offered = ["fp32", "amp-bf16", "bf16"]
        offered += ["tf32", "amp-fp16", "fp16"] if device == "cuda" else []
        models = {"resnet50": offered, "bert-base": offered}
        usual = {
            "device": "cuda", "frameworks": ("torch",), "names": ("torch",),
            "models": ("resnet50", "bert-base"), "absent": ("tf",), "gpu_uuid": "GPU-3f0c1d2e-1-2",
            "supported": dict.fromkeys(frameworks, models),
            "sizes": {"resnet50": ["image_size"], "bert-base": ["sequence_length"]},
        }  # fmt: skip
        return Setting(**{**usual, **given})

    return setting
