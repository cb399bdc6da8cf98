"""What is accepted: where, on which device, which frameworks and models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["HEADLINE", "MODELS", "Setting"]

MODELS = {"cuda": ("resnet50", "bert-base"), "cpu": ("squeezenet1_1", "shufflenet_v2_x0_5")}
"""On the CPU it is a rehearsal, with small models."""
SMALL = {"image_size": 64, "sequence_length": 32}
BATCH, FEWEST_ROUNDS = 2, 3
HEADLINE = "resnet50"
"""The model whose throughput is published."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """`frameworks` are as typed, `names` those of their adapters."""

    device: str
    frameworks: tuple[str, ...]
    names: tuple[str, ...]
    models: tuple[str, ...]
    sizes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For each model, the names of the sizes that can be chosen."""
    supported: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """For each framework and model, the precisions that the adapter offers on this device."""
    absent: tuple[str, ...] = ()
    """Adapters whose framework this interpreter does not have."""
    gpu_uuid: str = ""
    """Empty if no GPU is seen."""
    tool: tuple[str, ...] = ("-m", "mbench")
    """What follows the interpreter to run mbench."""

    @property
    def on_gpu(self) -> bool:
        return self.device == "cuda"

    @property
    def no_gpu(self) -> str:
        """Why a step that needs a GPU is skipped; empty if there is one."""
        return "" if self.on_gpu else "needs a GPU"

    def lacks(self, *names: str) -> str:
        """Why a step that needs one of these frameworks is skipped; empty if one is there."""
        if any(name in self.names for name in names):
            return ""
        return f"needs {' or '.join(names)}"

    def lacks_here(self, name: str) -> str:
        """Why a step that imports a framework itself is skipped; empty if it is not."""
        where = f"needs {name} in the Python that runs it" if name in self.absent else ""
        return self.lacks(name) or where

    @property
    def alone(self) -> str:
        """Why a step that compares frameworks is skipped; empty if it is not."""
        return "" if len(set(self.names)) > 1 else "needs two frameworks"

    def arm(self, name: str) -> str:
        """A framework as it was typed."""
        return self.frameworks[self.names.index(name)] if name in self.names else name

    def has(self, framework: str, model: str, precision: str) -> bool:
        return precision in self.supported.get(framework, {}).get(model, ())

    def precisions(self, *wanted: str, models: Sequence[str] = ()) -> str:
        """Those of the wanted precisions that any of the frameworks has here."""
        return ",".join(
            one for one in wanted
            if any(self.has(framework, model, one)
                   for framework in self.frameworks for model in models or self.models)
        )  # fmt: skip

    def shared(self, *wanted: str) -> tuple[str, ...]:
        """Those of the wanted precisions that all of the frameworks have here."""
        return tuple(
            one for one in wanted
            if all(self.has(framework, model, one)
                   for framework in self.frameworks for model in self.models)
        )  # fmt: skip

    def lower(self, wanted: str, model: str) -> str:
        """The wanted precision, or fp32 if the first framework does not have it here."""
        return wanted if self.has(self.frameworks[0], model, wanted) else "fp32"

    def protocol(self, *, processes: int, rounds: int, mfu: bool = False) -> tuple[str, ...]:
        """Options for measuring; a rehearsal makes do with the fewest rounds, and no MFU."""
        least = () if mfu and self.on_gpu else ("--no-mfu",)
        rounds = rounds if self.on_gpu else FEWEST_ROUNDS
        return (*least, "--processes", str(processes), "--rounds", str(rounds), "--results", "runs",
                "--format", "json")  # fmt: skip

    def common(self) -> tuple[str, ...]:
        return ("--device", self.device, "--no-provision")

    def small(self, *models: str) -> tuple[str, ...]:
        """Options that make cases of these models small in a rehearsal."""
        if self.on_gpu:
            return ()
        options = ["--batch-size", str(BATCH), "--block", "0.1"]
        for size, value in SMALL.items():
            if any(size in self.sizes.get(model, ()) for model in models):
                options += [f"--{size.replace('_', '-')}", str(value)]
        return tuple(options)
