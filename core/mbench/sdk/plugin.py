"""The description of a framework: a base with defaults, and a table of what it cannot do."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from mbench.contract.adapter import SUPPORTED, Need, Support
from mbench.contract.feed import RESIDENT, feed_of
from mbench.contract.precision import PRECISIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.case import Case
    from mbench.contract.tier import Tier
    from mbench.contract.workload import Workload

__all__ = ["NO_TF32_ON_CPU", "AdapterBase", "Lack", "Need"]


@dataclass(frozen=True)
class Lack:
    """What a framework cannot do: all cases that match every named field, and why."""

    reason: str
    devices: Sequence[str] = ()
    precisions: Sequence[str] = ()
    compilers: Sequence[str] = ()
    modes: Sequence[str] = ()
    """"train" is any mode with the model in training mode, phases too; "inference" is the rest."""
    families: Sequence[str] = ()
    """Families of models; an operator also belongs to the family with the name of its kind."""
    parallel: bool = False
    """Whether it applies only to several processes that share a case, such as in training."""

    def fits(self, words: Mapping[str, str]) -> bool:
        """Whether it applies to what `words` name: a device, a mode and so on, one of each."""
        rows = {
            "device": self.devices,
            "mode": self.modes,
            "precision": self.precisions,
            "compiler": self.compilers,
        }
        if self.parallel and not words.get("parallel"):
            return False
        families = {words.get("family"), words.get("operator")}
        if self.families and families.isdisjoint(self.families):
            return False
        return all(not named or words.get(kind) in named for kind, named in rows.items())


NO_TF32_ON_CPU = Lack("TensorFloat-32 needs a CUDA device", devices=("cpu",), precisions=("tf32",))


class AdapterBase:
    """An Adapter whose author defines only what differs; `contract.adapter.Adapter` explains each.

    There are no defaults for `name`, `title`, `imports`, `runtime`, `compilers` and
    `requirements`.
    """

    name: str
    title: str
    imports: Sequence[str]
    runtime: str
    compilers: Mapping[str, str]

    contract = 1
    tiers: Mapping[str, Tier] = MappingProxyType({})
    tuned_by: Sequence[str] = ()
    models = ""
    devices: Sequence[str] = ("cpu", "cuda")
    parallel = ""
    caches: Sequence[str] = ()
    """Families of models that have the modes prefill and decode, with a cache of keys and
    values."""
    quantized = ""
    """"module:attribute" of the Benchmark for int8; empty if it has none."""
    accumulates = False
    """Whether training divides a batch into micro-batches, see `sdk.tensors.micro_batches`."""
    feeds: Sequence[str] = ()
    """What steps may get batches from, besides those that stay on the device: "files", if the
    adapter has a module `inputs` with the framework's own input pipeline."""
    checkpoints: Sequence[str] = ()
    """Families of models for which it has activation checkpointing."""
    unchecked = ""
    """Why the framework has no activation checkpointing, if it has none."""
    ended = ""
    """Why it lacks families that were added to mbench recently, if it does."""
    switches: Sequence[str] = ()
    needs: Sequence[Need] = ()
    """Programs that pip cannot install: a command says that one is missing before it builds an
    environment."""
    lacks: Sequence[Lack] = ()
    """What it cannot do. The first that fits a case is the reason that users read."""

    def index_hint(self, accelerator: str) -> str:
        return ""

    def python(self, version: str | None) -> str:
        return ">=3.10"

    def variables(self, *, threads: int, device: str) -> Mapping[str, str]:
        return {}

    def mixed(self, device: str) -> str:
        return "amp-fp16" if device == "cuda" else "amp-bf16"

    def supports(self, case: Case) -> Support:
        # Importing scenarios takes a tenth of a second; a list of frameworks should not need it.
        from mbench.scenarios.find import resolve

        try:
            reason = self.refusal(case, resolve(case))
        except ValueError as error:  # no such mode or size, at all or for this model
            reason = str(error)
        return Support.no(reason) if reason else SUPPORTED

    def refusal(self, case: Case, workload: Workload) -> str:
        """Why `case` of `workload` cannot run; empty if it can, as far as is known here."""
        from mbench.scenarios.find import scenario_of

        scenario = scenario_of(case, workload)
        reason = scenario.limitation(case, workload)
        if reason:
            return reason
        if not is_there(self.model_file(workload)):
            reason = f"not provided: {self.title}'s adapter has no {workload.family} model"
            return f"{reason}: {self.ended}" if self.ended else reason
        if scenario.caches and workload.family not in self.caches:
            return f"{self.title}'s adapter has no {scenario.name} for {workload.family}"
        if case.accumulate > 1 and not self.accumulates:
            return f"{self.title}'s adapter does not accumulate gradients"
        if feed_of(case.data) not in (RESIDENT, *self.feeds):
            return f"{self.title}'s adapter has no input pipeline for files"
        if case.checkpoint and workload.family not in self.checkpoints:
            reason = f"{self.title}'s adapter has no activation checkpointing for {workload.family}"
            return self.unchecked or reason
        together = case.devices > 1 and scenario.exchanges
        if together and not self.parallel:
            what = "training on several devices" if scenario.training else "collectives"
            return f"{self.title}'s adapter has no {what}"
        if case.precision in PRECISIONS and PRECISIONS[case.precision].quantized:
            reason = self.unquantized(case)
            if reason:
                return reason
        return self.lacking(
            parallel=self.parallel if together else "",
            mode="train" if scenario.training else "inference",
            device=case.device,
            precision=case.precision,
            compiler=case.compiler,
            family=workload.family,
            operator=getattr(workload.config, "kind", ""),
        )

    def unquantized(self, case: Case) -> str:
        """Why `case` cannot run on integers; empty if it can, as far as is known here."""
        if not self.quantized:
            own = [one.reason for one in self.lacks if case.precision in one.precisions]
            return own[0] if own else f"{self.title}'s adapter has no {case.precision}"
        on_cpu = case.device == "cpu"
        return "" if on_cpu else f"{case.precision} runs only on CPUs here: use --device cpu"

    def lacking(self, **words: str) -> str:
        """Why what `words` name is missing or cannot be combined; empty if it can."""
        known = {
            "device": self.devices,
            "precision": PRECISIONS,
            "compiler": self.compilers,
        }
        for kind, values in known.items():
            if kind in words and words[kind] not in values:
                return f"{self.title} has no {kind} {words[kind]}; available: {', '.join(values)}"
        return next((lack.reason for lack in self.lacks if lack.fits(words)), "")

    def model_file(self, workload: Workload) -> str:
        """The module that implements `workload`: the one that the workload brings for this
        framework, or else the one named after its family in the package `models`.
        """
        return workload.model_files.get(self.name, f"{self.models}.{workload.family}")


def is_there(module: str) -> bool:
    """Whether a module can be found; the packages above it are imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # no package, or one that is missing
        return False
