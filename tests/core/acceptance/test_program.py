"""The acceptance from outside: its programs that examine the machine, and its command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fake_nvml import FakeGpu, FakeNvml

from mbench.machine import nvml

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "benchmarks" / "cuda.py"


@pytest.fixture
def made_up_gpu(monkeypatch):
    """Runs the main function of a module on a made-up GPU; returns the JSON that it prints."""

    def printed(module, capsys, *arguments):
        monkeypatch.setattr(nvml, "initialised", lambda: FakeNvml(FakeGpu()))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
        module.main()
        return json.loads(capsys.readouterr().out)

    return printed


def test_gauges_tell_how_long_a_look_takes(made_up_gpu, capsys):
    from acceptance import gauges
    from acceptance.figures import figures_of

    found = made_up_gpu(gauges, capsys, "--looks", "3")
    assert found["gpu"]["name"] == "NVIDIA Made-Up 100"
    assert 0 < found["look_ms"]["median"] <= found["look_ms"]["highest"]
    assert figures_of(found) == {"probe": found}


def test_a_look_at_the_machine_tells_its_gpu_and_what_adapters_offer_on_it(made_up_gpu, capsys):
    from acceptance import look

    asked = ("--frameworks", "torch", "--models", "bert-base,resnet18", "--device", "cuda")
    found = made_up_gpu(look, capsys, *asked)
    assert found["gpu"]["uuid"] == "GPU-0a2b3c4d-0000"
    assert found["on_gpu"] == []
    assert found["names"] == {"torch": "torch"}
    assert found["sizes"] == {"bert-base": ["predictions", "sequence_length"],
                              "resnet18": ["image_size"]}  # fmt: skip
    assert set(found["supported"]["torch"]) == {"bert-base", "resnet18", "resnet50"}
    assert {"tf32", "amp-fp16"} <= set(found["supported"]["torch"]["bert-base"])
    assert "mxnet" in found["absent"]


def test_wheels_that_are_brought_have_the_versions_of_the_project():
    from acceptance.prepare import BROUGHT, commands

    *wheels, download = commands(Path("wheels"), target="3.12")
    assert {str(ROOT), str(ROOT / "adapters" / "onnxruntime")} <= {wheel[-1] for wheel in wheels}
    assert len([word for word in download if word.startswith(BROUGHT)]) == len(BROUGHT)
    assert any(word.startswith("click>=") for word in download)
    assert download[download.index("--python-version") + 1] == "3.12"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--frameworks", "tinny"], "unknown framework 'tinny'"),
     (["--models", "tiny-modle"], "unknown model"), (["--minutes", "soon"], "--minutes"),
     (["--steps", "docter"], "no step is called 'docter'"),
     (["--python", "/no/such/python"], "does not run mbench")],
)  # fmt: skip
def test_a_wrong_command_line_ends_with_2(tmp_path, arguments, said):
    tiny = ["--device", "cpu", "--frameworks", "tiny", "--models", "tiny-model"]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *tiny, "--output", str(tmp_path), *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert said in done.stderr


@pytest.mark.extras
def test_it_is_rehearsed_on_the_cpu(tmp_path):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--device", "cpu", "--minutes", "2", "--frameworks", "tiny",
         "--models", "tiny-model", "--output", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "acceptance.json").read_text())
    assert found["status"] == "complete"
    outcomes = {one["name"]: one["outcome"] for one in found["results"]}
    assert {name for name, outcome in outcomes.items() if outcome == "skipped"} == {
        "gauges",
        "bare",
    }
    assert set(outcomes.values()) == {"passed", "skipped"}
    figures = {one["name"]: one["figures"] for one in found["results"]}
    assert figures["verify"]["proofs"][0]["checks"]
    assert figures["calibrate"]["calibrations"][0]["ratio"] > 0
    assert figures["inference"]["cases"][0]["value"] > 0
    assert figures["start"]["probe"]["start_seconds"] > 0
    assert "tiny-model" in (tmp_path / "acceptance.md").read_text()
