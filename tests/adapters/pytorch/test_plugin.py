"""The description of PyTorch, which must be right without PyTorch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import make_case

from mbench.contract.tier import TUNED
from mbench.spec.planning import with_own_compiler
from mbench_pytorch.plugin import PyTorch


@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_requirements_of_the_pinned_version(accelerator):
    pinned = ("torch==2.13.0", "torchvision==0.28.0", "transformers==5.23.0")
    assert PyTorch().requirements(None, accelerator) == pinned
    assert PyTorch().requirements("2.13.0", accelerator) == pinned


@pytest.mark.parametrize(
    ("version", "torchvision"),
    [("2.12", "0.27.*"), ("2.12.1", "0.27.*"), ("2.6.0+cpu", "0.21.*"), ("2.13.1", "0.28.*")],
)
def test_torchvision_follows_torch(version, torchvision):
    assert PyTorch().requirements(version, "cpu") == (
        f"torch=={version}",
        f"torchvision=={torchvision}",
        "transformers==5.23.0",
    )


@pytest.mark.parametrize("version", ["1.13.1", "2.5.1", "3.0", "2.x", "newest", ""])
def test_requirements_reject_other_versions(version):
    with pytest.raises(ValueError, match="not supported"):
        PyTorch().requirements(version, "cpu")


def test_environment_names_the_device_of_torch_xla():
    assert PyTorch().variables(threads=3, device="cpu")["PJRT_DEVICE"] == "CPU"


LSTMS = {
    "lstm": "mbench.workloads.lstm:MODELS",
    "op:lstm/2x5x6x8": "mbench.workloads.operators:OPERATORS",
}


@pytest.mark.parametrize("model", LSTMS)
def test_what_torch_compile_does_not_take_is_unsupported_and_eager_by_advice(model):
    case = make_case(model=model, workload=LSTMS[model], batch_size=1, mode="inference")
    for compiler in ("inductor", "max-autotune", "freezing"):
        answer = PyTorch().supports(replace(case, compiler=compiler))
        assert answer.reason == "torch.compile takes no LSTM: use eager"
    assert with_own_compiler(PyTorch(), replace(case, tier=TUNED)).compiler == "eager"
