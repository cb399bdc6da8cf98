"""What is accepted: where, on which device, which frameworks and models."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["MODELS", "Setting"]

MODELS = {"cuda": ("resnet50", "bert-base"), "cpu": ("squeezenet1_1", "shufflenet_v2_x0_5")}
"""On the CPU it is a rehearsal, which takes what is small."""
SMALL = {"image_size": 64, "sequence_length": 32}
BATCH = 2
PRECISIONS = {
    "cuda": ("fp32", "tf32", "amp-fp16", "amp-bf16", "bf16", "fp16"),
    "cpu": ("fp32", "amp-bf16", "bf16"),
}
"""Those that a device has at all."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """`frameworks` are as typed, `names` those of their adapters."""

    device: str
    frameworks: tuple[str, ...]
    names: tuple[str, ...]
    models: tuple[str, ...]
    sizes: dict[str, list[str]] = field(default_factory=dict)
    """Of each model, the names of those that can be chosen."""
    absent: tuple[str, ...] = ()
    """Adapters whose framework this interpreter has not."""
    gpu_uuid: str = ""
    """Empty where none is to be seen."""
    tool: tuple[str, ...] = ("-m", "mbench")
    """What follows the interpreter to run mbench."""

    @property
    def on_gpu(self) -> bool:
        return self.device == "cuda"

    @property
    def no_gpu(self) -> str:
        """Why a step that needs a GPU is skipped; empty where there is one."""
        return "" if self.on_gpu else "needs a GPU"

    def lacks(self, *names: str) -> str:
        """Why a step of one of these frameworks is skipped; empty where one is there."""
        if any(name in self.names for name in names):
            return ""
        return f"needs {' or '.join(names)}"

    @property
    def alone(self) -> str:
        """Why a step that compares frameworks is skipped."""
        return "" if len(set(self.names)) > 1 else "needs two frameworks"

    def arm(self, name: str) -> str:
        """A framework as it was typed."""
        return self.frameworks[self.names.index(name)] if name in self.names else name

    def precisions(self, *wanted: str) -> str:
        """Of the wanted, those that the device has."""
        return ",".join(one for one in wanted if one in PRECISIONS[self.device])

    def mixed(self, wanted: str) -> str:
        """A mixed precision, or what stands for it in a rehearsal, as all frameworks have it."""
        return wanted if self.on_gpu else "fp32"

    def protocol(self, *, processes: int, rounds: int) -> tuple[str, ...]:
        """Options of what measures; a rehearsal makes do with the fewest rounds."""
        return ("--processes", str(processes), "--rounds", str(rounds if self.on_gpu else 3),
                "--results", "runs", "--format", "json")  # fmt: skip

    def common(self) -> tuple[str, ...]:
        return ("--device", self.device, "--no-provision")

    def small(self, *models: str) -> tuple[str, ...]:
        """Options that make cases of these models small where it is a rehearsal."""
        if self.on_gpu:
            return ()
        options = ["--batch-size", str(BATCH), "--block", "0.1", "--no-mfu"]
        for size, value in SMALL.items():
            if any(size in self.sizes.get(model, ()) for model in models):
                options += [f"--{size.replace('_', '-')}", str(value)]
        return tuple(options)
