"""A small Llama in PyTorch, taken apart by depth and by operator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed here")

MODELS = Path(__file__).parents[2] / "models"


def test_new_tokens_are_taken_apart(tmp_path):
    """Against itself: what a part takes is chance, and which parts there are is not."""
    torch = f"torch@{sys.executable}"
    words = [
        "explain", torch, torch, "--models", "small-llama", "--mode", "decode",
        "--new-tokens", "3", "--threads", "1", "--processes", "3", "--rounds", "2", "--block",
        "0.02", "--no-mfu", "--no-verify", "--format", "json", "--results", str(tmp_path),
    ]  # fmt: skip
    result = subprocess.run(
        [sys.executable, "-m", "mbench", *words], capture_output=True, text=True, check=False,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (MODELS, MODELS / "installed")))},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["missing"] == []
    (found,) = document["differences"]
    assert [one["stage"] for one in found["stages"]] == ["layers"]
    assert found["rest"] is not None
    times = {one["operator"].partition("/")[0]: one["times"] for one in found["operators"]}
    layers, tokens = 2, 3
    assert times["op:grouped_attention"] == layers * tokens
    assert times["op:swiglu"] == layers * tokens
    assert times["op:rms_norm"] == (2 * layers + 1) * tokens
    assert times["op:embedding"] == tokens
    assert {one["kind"] for one in found["kinds"]} == {
        "embedding", "rms_norm", "linear", "rotary", "grouped_attention", "add", "swiglu",
    }  # fmt: skip
