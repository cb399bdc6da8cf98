"""The steps of the first nine minutes: does it work at all?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acceptance.judges import measured, probed, ran, same
from acceptance.step import NINE, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acceptance.setting import Setting

__all__ = ["steps"]


def steps(setting: Setting) -> Iterator[Step]:
    tool, common = setting.tool, setting.common()
    frameworks, models = ",".join(setting.frameworks), ",".join(setting.models)
    first, last = setting.models[0], setting.models[-1]
    yield Step(
        name="doctor", phase=NINE, about="what the machine is, and what disturbs it",
        program=(*tool, "doctor", "--results", "runs", "--format", "json"), judge=ran, seconds=20,
    )  # fmt: skip
    yield Step(
        name="frameworks", phase=NINE, about="which frameworks are seen, and where they would run",
        program=(*tool, "list", "frameworks", "--results", "runs"), judge=ran, seconds=20, least=5,
    )  # fmt: skip
    yield Step(
        name="gauges", phase=NINE, about="what NVML tells, and how long one look takes",
        program=("-m", "acceptance.gauges"), judge=probed, seconds=15, least=5,
        skip=setting.no_gpu,
    )  # fmt: skip
    yield Step(
        name="bare", phase=NINE, about="PyTorch without mbench: throughput, memory, TF32, clocks",
        program=("-m", "acceptance.bare_torch", "--device", setting.device), judge=probed,
        seconds=90, skip=setting.lacks_here("torch"),
    )  # fmt: skip
    precisions = setting.precisions("fp32", "tf32", "amp-fp16", "amp-bf16")
    yield Step(
        name="verify", phase=NINE, about="equal work, in float64 and in each precision",
        program=(*tool, "verify", "--frameworks", frameworks, "--models", models, "--precision",
                 precisions, *common, "--format", "json"),
        judge=measured, seconds=150 * max(1, len(setting.frameworks)),
    )  # fmt: skip
    yield Step(
        name="calibrate", phase=NINE, about="a framework against itself: the ratio is 1",
        program=(*tool, "calibrate", setting.frameworks[0], "--models", first, "--precision",
                 setting.lower("amp-fp16", first), *setting.small(first), *common,
                 *setting.protocol(processes=3, rounds=8)),
        judge=same(judged=setting.on_gpu), seconds=110, budget=0.7,
    )  # fmt: skip
    yield Step(
        name="inference", phase=NINE, about="one framework's inference, with MFU",
        program=(*tool, "run", setting.frameworks[0], "--models", last, "--mode", "inference",
                 "--precision", setting.lower("tf32", last), *setting.small(last), *common,
                 *setting.protocol(processes=1, rounds=5, mfu=True)),
        judge=measured, seconds=70, budget=0.55,
    )  # fmt: skip
    yield Step(
        name="start", phase=NINE, about="how long a worker takes to start, to prepare and to end",
        program=("-m", "acceptance.start", "--framework", setting.frameworks[0], "--model", first,
                 "--device", setting.device),
        judge=probed, seconds=40,
    )  # fmt: skip
