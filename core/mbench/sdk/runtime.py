"""The worker's side of an adapter: sets up a framework, and prepares cases with it."""

from __future__ import annotations

import importlib
import platform
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mbench.contract.adapter import FrameworkInfo, Unsupported
from mbench.contract.compat import version_of
from mbench.contract.precision import PRECISIONS
from mbench.contract.rank import SINGLE
from mbench.contract.tier import tier_of
from mbench.scenarios.find import in_mode, scenario_of, work_of
from mbench.sdk import traces
from mbench.sdk.checks import SIDE, check_products, require
from mbench.sdk.compiler import Compiler
from mbench.sdk.copies import Copies
from mbench.sdk.cuda import cuda_device
from mbench.workloads.find import operator_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType

    from mbench.contract.adapter import Traced
    from mbench.contract.case import Case
    from mbench.contract.precision import Precision
    from mbench.contract.rank import RankInfo
    from mbench.contract.scenario import Work
    from mbench.contract.tier import Tier
    from mbench.contract.workload import Workload
    from mbench.sdk.benchmark import Prepared
    from mbench.sdk.copies import Download, Upload
    from mbench.sdk.plugin import AdapterBase
    from mbench.sdk.tensors import Native

__all__ = ["RuntimeBase", "installed"]

PRODUCT = f"op:matmul/{SIDE}x{SIDE}x{SIDE}"


class RuntimeBase:
    """A Runtime whose author implements only what is specific to the framework."""

    adapter: AdapterBase
    """The description, whose refusals apply here too: a worker may be asked for anything."""
    compilers: Mapping[str, type[Compiler]]
    """Compilers by their names in the description."""
    plain: type[Compiler] = Compiler
    """The compiler that runs operations one by one."""
    benchmark: type[Prepared]
    version: str
    """The framework's version."""
    distributions: Sequence[str] = ()
    """Other distributions that may affect results: their versions are reported."""
    out_of_memory: Sequence[str] = ()
    """What the framework's errors say, in lower case, when memory runs out."""

    def __init__(
        self,
        *,
        device: str,
        threads: int,
        place: RankInfo = SINGLE,
        device_memory_bytes: int | None = None,
    ) -> None:
        """`device_memory_bytes`: how much device memory its allocator may use; None: all of it."""
        self.place = place
        self.device = device
        self.threads = threads
        self.device_memory_bytes = device_memory_bytes
        self.devices = ["cpu"]
        self.set_up()

    # The framework's own.

    def set_up(self) -> None:
        """Set the framework up for the device and the threads; raises Unsupported."""

    def threads_used(self) -> int:
        """The number of threads that the framework says it uses."""
        return self.threads

    def details(self) -> dict[str, str]:
        """Whatever else describes the build."""
        return {}

    @staticmethod
    def set_precision(precision: Precision, compiler: Any) -> None:
        """Set what applies to the whole process; raises Unsupported if the device lacks it."""

    def outline(self, workload: Workload) -> Mapping[str, Native]:
        """The tensors of the model, as natives with known shapes but without memory."""
        raise Unsupported(
            f"{self.adapter.title}'s adapter cannot build a model without allocating it"
        )

    def uploader(self, compiler: Any) -> Upload:
        """A function that enqueues a NumPy array's copy to the device, and returns its tensor."""
        raise Unsupported(f"{self.adapter.title}'s adapter has no copy to the device")

    def downloader(self, compiler: Any) -> Download:
        """A function that returns a device tensor as a NumPy array, copied anew in each call."""
        raise Unsupported(f"{self.adapter.title}'s adapter has no copy from the device")

    def profiled(self, folder: str) -> AbstractContextManager[object]:
        """A context in which the framework's own profiler watches host and device. When it ends,
        `folder` has a trace that `mbench.sdk.traces` reads. Raises Unsupported without a profiler.
        """
        raise Unsupported(f"{self.adapter.title}'s adapter has no profiler that lists kernels")

    # What follows is the same everywhere.

    def expect_cuda(self, *, built: bool, found: bool, hint: str = "") -> None:
        """Note whether CUDA is available; raises Unsupported if it is requested but is not."""
        if self.device == "cuda":
            require(built, f"this build of {self.adapter.title} has no CUDA{hint}")
            require(found, f"{self.adapter.title} finds no CUDA device")
        self.devices = ["cpu", "cuda"] if built and found else ["cpu"]

    def memory_share(self) -> float | None:
        """The share of the device's memory that the framework's allocator may use; None: all."""
        gpu = cuda_device() if self.device == "cuda" else None
        if self.device_memory_bytes is None or gpu is None:
            return None
        return min(1.0, self.device_memory_bytes / gpu.memory_bytes)

    def describe(self) -> FrameworkInfo:
        gpu = cuda_device() if self.device == "cuda" else None
        found = {}
        if gpu is not None:
            found["compute capability"] = "{}.{}".format(*gpu.capability)
            found["driver's cuda"] = gpu.driver
        elsewhere = "CUDA device 0" if self.device == "cuda" else platform.machine()
        return FrameworkInfo(
            version=self.version,
            devices=self.devices,
            device_name=elsewhere if gpu is None else gpu.name,
            device_address="" if gpu is None else gpu.address,
            threads=self.threads_used(),
            versions=installed(self.distributions),
            details={**self.details(), **found},
        )

    def family(self, workload: Workload) -> ModuleType:
        """The module with this model's `build` and `forward`."""
        return importlib.import_module(self.adapter.model_file(workload))

    def shapes(self, workload: Workload) -> dict[str, Sequence[int]]:
        return {name: native.shape for name, native in self.outline(workload).items()}

    def prepare(self, work: Work) -> Prepared:
        refusal = self.adapter.refusal(work.case, work.workload)
        require(not refusal, refusal)
        tier = tier_of(self.adapter, work.case.tier)
        require(tier, f"{self.adapter.title}'s adapter has no tier {work.case.tier}")
        assert tier is not None
        if self.device == "cuda":
            self.check_products(work.case, tier)
        return self.made(work, tier)

    def made(self, work: Work, tier: Tier) -> Prepared:
        compiler = self.compilers[work.case.compiler](self.device)
        precision = PRECISIONS[work.case.precision]
        self.set_precision(precision, compiler)
        how: dict[str, Any] = {
            "work": work, "family": self.family(work.workload), "compiler": compiler,
            "precision": precision, "tier": tier, "place": self.place,
        }  # fmt: skip
        if precision.quantized:
            module, _, attribute = self.adapter.quantized.partition(":")
            made: Prepared = getattr(importlib.import_module(module), attribute)(**how)
            return made
        if work.scenario.builds_model:
            return self.benchmark(**how)
        uploader, downloader = partial(self.uploader, compiler), partial(self.downloader, compiler)
        return Copies(uploader, downloader, self.benchmark.to_numpy, **how)

    def check_products(self, case: Case, tier: Tier) -> None:
        """Raises Unsupported if products are not in fp32 or tf32 as stated, if this is testable."""
        precision = PRECISIONS[case.precision]
        if precision.parameters != "float32" or precision.mixed:
            return
        name = next(name for name, known in self.compilers.items() if known is self.plain)
        product = in_mode(operator_case(case, PRODUCT), "inference")
        case = replace(product, compiler=name)
        if not self.adapter.supports(case).supported:
            return
        work = work_of(case)
        made = self.made(work, tier)
        weights = dict(work.workload.parameters(seed=case.seed))
        made.load_parameters(weights.items())
        steps = scenario_of(case, work.workload).prepare(made, work)
        steps.run(0)
        steps.synchronize()
        x = made.to_numpy(made.batch["x.0"])
        found = made.outputs()["output.0"]
        del made.call  # it refers to `made`, whose memory is now freed at once
        check_products(precision, x, weights["calls.0.weight"], found)

    def profile(self, step: Callable[[], None], folder: str) -> Traced:
        with self.profiled(folder):
            step()
        return traces.read(folder)

    def is_out_of_memory(self, error: Exception) -> bool:
        said = f"{type(error).__name__}: {error}".lower()
        return any(words in said for words in self.out_of_memory)


def installed(distributions: Iterable[str]) -> dict[str, str]:
    """Versions of those distributions that are installed."""
    found = {name: version_of(name) for name in distributions}
    return {name: version for name, version in found.items() if version is not None}
