"""The steps of the next sixteen minutes: figures, then more models, precisions and compilers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acceptance.judges import close, measured, same, tells
from acceptance.setting import HEADLINE
from acceptance.step import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acceptance.setting import Setting

__all__ = ["steps"]

PHASE = "breadth"
ZOO = ("resnet50", "inception_v3", "vgg16", "densenet121", "bert-base", "gpt2-small", "lstm")
FEW_OPERATORS = "alexnet"
WITHIN = 0.005
"""The share that mbench may cost, compared with a bare loop."""


def steps(setting: Setting) -> Iterator[Step]:
    yield from headline(setting)
    yield from against_others(setting)
    yield from equality(setting)
    yield from against_itself(setting)
    yield kernels(setting)


def headline(setting: Setting) -> Iterator[Step]:
    """ResNet-50 v1.5 as NVIDIA publishes it; its table has an A100 of 80 GB with MXNet."""
    offered = setting.has(setting.frameworks[0], HEADLINE, "amp-fp16")
    skip = setting.no_gpu or ("" if offered else f"needs {HEADLINE} in amp-fp16")
    for mode, batch, published in (("train", 512, "3,410"), ("inference", 192, "8,241")):
        yield Step(
            name=f"headline {mode}", phase=PHASE,
            about=f"ResNet-50 v1.5, AMP fp16, batch {batch}: {published} images/s on an A100",
            program=(*setting.tool, "run", setting.frameworks[0], "--models", HEADLINE, "--mode",
                     mode, "--batch-size", str(batch), "--precision", "amp-fp16", "--tier",
                     "tuned", *setting.common(),
                     *setting.protocol(processes=3, rounds=8, mfu=True)),
            judge=measured, seconds=200, budget=0.5, skip=skip,
        )  # fmt: skip
    wanted = ("--batch-size 256 --image-size 224 --precision amp-fp16 --processes 3 "
              "--builds 2 --rounds 8 --steps 5" if setting.on_gpu else
              "--image-size 32 --processes 1 --builds 2 --rounds 3 --steps 1")  # fmt: skip
    yield Step(
        name="overhead", phase=PHASE, about="mbench's throughput beside a bare loop of PyTorch's",
        program=("overhead.py", "--frameworks", setting.arm("torch"), "--device", setting.device,
                 "--no-provision", *wanted.split(), "--format", "json"),
        judge=close(within=WITHIN, judged=setting.on_gpu), seconds=165,
        skip=setting.lacks("torch"),
    )  # fmt: skip


def against_others(setting: Setting) -> Iterator[Step]:
    for precision in setting.shared("fp32", "tf32", "amp-bf16", "amp-fp16"):
        yield Step(
            name=f"compare {precision}", phase=PHASE, about="the frameworks against each other",
            program=(*setting.tool, "compare", "--frameworks", ",".join(setting.frameworks),
                     "--models", ",".join(setting.models), "--precision", precision,
                     *setting.small(*setting.models), *setting.common(),
                     *setting.protocol(processes=3, rounds=8, mfu=True)),
            judge=measured, seconds=150, budget=0.8 / len(setting.models) * 0.8,
            skip=setting.alone,
        )  # fmt: skip


def equality(setting: Setting) -> Iterator[Step]:
    frameworks = ",".join(setting.frameworks)
    # For a model that does not come with the frameworks' adapters, there is no zoo.
    models = ZOO if setting.on_gpu and setting.models[0] in ZOO else setting.models
    yield Step(
        name="verify models", phase=PHASE, about="equal work of more models, in both modes",
        program=(*setting.tool, "verify", "--frameworks", frameworks, "--models",
                 ",".join(models), "--mode", "train,inference", "--precision",
                 setting.precisions("fp32", "amp-fp16"), *setting.common(), "--format", "json"),
        judge=measured, seconds=300,
    )  # fmt: skip
    # What compiles in seconds for a GPU takes a minute for a CPU.
    compiled = setting.models if setting.on_gpu else setting.models[:1]
    precisions = ("fp32", "bf16", "fp16", "amp-bf16") if setting.on_gpu else ("fp32",)
    yield Step(
        name="verify inductor", phase=PHASE, about="equal work of compiled steps",
        program=(*setting.tool, "verify", "--frameworks", setting.arm("torch"), "--models",
                 ",".join(compiled), "--precision", setting.precisions(*precisions), "--compiler",
                 "inductor", *setting.common(), "--format", "json"),
        judge=measured, seconds=180, skip=setting.lacks("torch"),
    )  # fmt: skip


def against_itself(setting: Setting) -> Iterator[Step]:
    arm, first, last = setting.frameworks[0], setting.models[0], setting.models[-1]
    yield Step(
        name="same", phase=PHASE, about="two of the same, by the default protocol but fewer sets",
        program=(*setting.tool, "compare", "--frameworks", f"{arm},{arm}", "--models", first,
                 "--precision", setting.lower("amp-fp16", first), *setting.small(first),
                 *setting.common(), *setting.protocol(processes=3, rounds=15)),
        judge=same(judged=setting.on_gpu), seconds=200, budget=0.8,
    )  # fmt: skip
    yield Step(
        name="four", phase=PHASE, about="four workers side by side on one device",
        program=(*setting.tool, "compare", "--frameworks", ",".join([arm] * 4), "--models", last,
                 "--precision", setting.lower("amp-bf16", last), *setting.small(last),
                 *setting.common(), *setting.protocol(processes=2, rounds=8)),
        judge=measured, seconds=150, budget=0.75,
    )  # fmt: skip
    yield Step(
        name="best", phase=PHASE, about="the fastest of a framework's compilers",
        program=(*setting.tool, "run", arm, "--models", first, "--precision",
                 setting.lower("amp-fp16", first), *setting.small(first), "--compiler", "best",
                 *setting.common(), *setting.protocol(processes=2, rounds=5)),
        judge=measured, seconds=130, budget=0.4,
    )  # fmt: skip


def kernels(setting: Setting) -> Step:
    """Other steps make proofs, and times are not judged here. Each operator of the model takes
    seconds to prepare and to warm up, so the model has few.
    """
    arms = setting.frameworks if len(setting.frameworks) > 1 else (setting.frameworks[0],) * 2
    known = setting.has(setting.frameworks[0], HEADLINE, "fp32")
    model = FEW_OPERATORS if known else setting.models[0]
    return Step(
        name="kernels", phase=PHASE, about="which kernels a step launches, by their own profilers",
        program=(*setting.tool, "explain", *arms, "--models", model, "--mode", "inference",
                 "--precision", "fp32", "--kernels", "--no-verify", *setting.small(model),
                 *setting.common(), *setting.protocol(processes=3, rounds=2)),
        judge=tells(judged=setting.on_gpu), seconds=240,
    )  # fmt: skip
