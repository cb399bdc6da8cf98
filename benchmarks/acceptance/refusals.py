"""Steps that should succeed, or fail in a known way: each passes if it ends as it should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acceptance.judges import finds_gpu, goes_on_without, measured, refused
from acceptance.step import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acceptance.setting import Setting

__all__ = ["steps"]

PHASE = "refusals"
TOO_MUCH = 2048
"""Training ResNet-50 on this many samples takes 370 GB, which no GPU has. Twice as many would fail
just as well, but take minutes to make.
"""


def steps(setting: Setting) -> Iterator[Step]:
    tool, common = setting.tool, setting.common()
    first = setting.models[0]
    protocol = setting.protocol(processes=1, rounds=3)
    has_tf32 = setting.has(setting.frameworks[0], first, "tf32")
    two = (setting.frameworks * 2)[:2]
    yield Step(
        name="largest batch", phase=PHASE, about="--batch-size max fits both, side by side",
        program=(*tool, "compare", "--frameworks", ",".join(two), "--models", first, "--precision",
                 setting.lower("amp-fp16", first), "--batch-size", "max", *common, *protocol),
        judge=measured, seconds=170, budget=0.35, skip=setting.no_gpu,
    )  # fmt: skip
    yield Step(
        name="too large", phase=PHASE, about=f"a batch of {TOO_MUCH} is out of memory",
        program=(*tool, "run", setting.frameworks[0], "--models", first, "--batch-size",
                 str(TOO_MUCH), "--no-verify", *common, *protocol),
        judge=refused(["oom"]), seconds=120, budget=0.3, skip=setting.no_gpu,
    )  # fmt: skip
    yield Step(
        name="NVIDIA_TF32_OVERRIDE=0", phase=PHASE, about="tf32 in name only is refused",
        program=(*tool, "verify", "--fresh", "--frameworks", setting.frameworks[0], "--models",
                 first, "--precision", "tf32", *common, "--format", "json"),
        variables={"NVIDIA_TF32_OVERRIDE": "0"}, judge=refused(["unsupported"]), seconds=60,
        skip=setting.no_gpu or ("" if has_tf32 else "needs TF32"),
    )  # fmt: skip
    uuid = "-".join(setting.gpu_uuid.split("-")[:2])  # GPU-3f0c1d2e-...: its first eight digits
    yield Step(
        name="abbreviated UUID", phase=PHASE, about="the GPU is found by the beginning of its UUID",
        program=(*tool, "doctor", "--results", "runs", "--format", "json"), judge=finds_gpu,
        variables={"CUDA_VISIBLE_DEVICES": uuid}, seconds=40, least=5,
        skip=setting.no_gpu or ("" if uuid else "NVML tells no UUID"),
    )  # fmt: skip
    absent = next((name for name in setting.absent if name not in setting.names), "")
    yield Step(
        name="no environment", phase=PHASE, about="a framework that is not there holds up none",
        program=(*tool, "compare", "--frameworks", f"{setting.frameworks[0]},{absent}", "--models",
                 first, *setting.small(first), *common, *protocol),
        judge=goes_on_without(absent), seconds=90, budget=0.7,
        skip="" if absent else "all frameworks are here",
    )  # fmt: skip
