"""The worker's side of an adapter: sets a framework up, and prepares cases and probes by it."""

from __future__ import annotations

import importlib
import platform
from typing import TYPE_CHECKING, Any

from mbench.contract.adapter import FrameworkInfo, Unsupported
from mbench.contract.place import ALONE
from mbench.contract.precision import PRECISIONS
from mbench.contract.tier import tier_of
from mbench.older import version_of
from mbench.sdk.checks import require
from mbench.sdk.compiler import Compiler
from mbench.sdk.cuda import cuda_device
from mbench.sdk.products import SIDE, check_products

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType

    from mbench.contract.case import Case
    from mbench.contract.place import Place
    from mbench.contract.precision import Precision
    from mbench.sdk.benchmark import Prepared
    from mbench.sdk.plugin import AdapterBase
    from mbench.sdk.tensors import Native
    from mbench.workloads.workload import Workload

__all__ = ["Probe", "RuntimeBase", "installed"]


class RuntimeBase:
    """A Runtime whose author writes down what is the framework's own."""

    adapter: AdapterBase
    """The description, whose refusals hold here too: a worker may be asked for anything."""
    compilers: Mapping[str, type[Compiler]]
    """By the names that the description has for them."""
    plain: type[Compiler] = Compiler
    """The one of them under which operations run one by one, as probes do."""
    benchmark: type[Prepared]
    version: str
    """The framework's own."""
    distributions: Sequence[str] = ()
    """What else is installed and tells of results: their versions are described."""
    out_of_memory: Sequence[str] = ()
    """What the framework's errors say, in small letters, where memory does not suffice."""

    def __init__(
        self,
        *,
        device: str,
        threads: int,
        place: Place = ALONE,
        device_memory_bytes: int | None = None,
    ) -> None:
        """`device_memory_bytes`: what its allocator may take of the device; None: all of it."""
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
        """As the framework says."""
        return self.threads

    def details(self) -> dict[str, str]:
        """Whatever else describes the build."""
        return {}

    @staticmethod
    def set_precision(precision: Precision, compiler: Any) -> None:
        """Set what holds for the whole process; raises Unsupported where the device lacks it."""

    def outline(self, workload: Workload) -> Mapping[str, Native]:
        """The tensors of the model, as natives whose shapes are known and which have no memory."""
        raise Unsupported(f"{self.adapter.title}'s adapter builds no model without its memory")

    def operand(self, shape: Sequence[int], dtype: str, compiler: Compiler) -> Any:
        """Random numbers between -1 and 1 of a type, by its neutral name, on the device."""
        raise Unsupported(f"{self.adapter.title}'s adapter has no probes")

    def multiplier(self, a: Any, b: Any) -> Callable[[], Any]:
        """What enqueues A B of square matrices, or A B' where that is quicker, and gives it."""
        return lambda: a @ b

    def adder(self, a: Any, b: Any) -> Callable[[], Any]:
        """What enqueues B = B + A of vectors, in place, and gives B."""
        raise Unsupported(f"{self.adapter.title}'s adapter adds nothing up in place")

    # What follows is the same everywhere.

    def expect_cuda(self, *, built: bool, found: bool, mend: str = "") -> None:
        """Note whether CUDA is there; raises Unsupported where it is asked for and is not."""
        if self.device == "cuda":
            require(built, f"this build of {self.adapter.title} has no CUDA{mend}")
            require(found, f"{self.adapter.title} finds no CUDA device")
        self.devices = ["cpu", "cuda"] if built and found else ["cpu"]

    def memory_share(self) -> float | None:
        """What the framework's allocator may take, of all memory of the device; None: all of it."""
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
        """The module with this model's `build`, `forward` and `loss`."""
        return importlib.import_module(self.adapter.model_file(workload))

    def shapes(self, workload: Workload) -> dict[str, Sequence[int]]:
        return {name: native.shape for name, native in self.outline(workload).items()}

    def prepare(self, case: Case, workload: Workload) -> Prepared:
        refusal = self.adapter.refusal(case, workload)
        require(not refusal, refusal)
        compiler = self.compilers[case.compiler](self.device)
        precision = PRECISIONS[case.precision]
        tier = tier_of(self.adapter, case.tier)
        require(tier, f"{self.adapter.title}'s adapter knows no tier {case.tier}")
        assert tier is not None
        self.set_precision(precision, compiler)
        if self.device == "cuda":
            self.check_products(precision)
        return self.benchmark(
            case,
            workload,
            family=self.family(workload),
            compiler=compiler,
            precision=precision,
            tier=tier,
            place=self.place,
        )

    def matmul(self, size: int, precision: str) -> Probe:
        return self.probe((size, size), precision, self.multiplier)

    def accumulate(self, elements: int, precision: str) -> Probe:
        return self.probe((elements,), precision, self.adder)

    def probe(self, shape: Sequence[int], precision: str, work: Callable[..., Any]) -> Probe:
        """On operands in the type of the precision's products."""
        name = next(name for name, known in self.compilers.items() if known is self.plain)
        refusal = self.adapter.lacking(device=self.device, precision=precision, compiler=name)
        require(not refusal, refusal)
        compiler = self.plain(self.device)
        kind = PRECISIONS[precision]
        self.set_precision(kind, compiler)
        a, b = (self.operand(shape, kind.products, compiler) for _ in range(2))
        return Probe(work(a, b), (a, b), compiler)

    def check_products(self, precision: Precision) -> None:
        """Raises Unsupported unless fp32 and tf32 are what they say."""
        if precision.parameters != "float32" or precision.mixed:
            return
        compiler = self.plain(self.device)
        a, b = (self.operand((SIDE, SIDE), "float32", compiler) for _ in range(2))
        product = self.multiplier(a, b)()
        compiler.synchronize()
        check_products(precision, a, b, product, self.benchmark.to_numpy)

    def is_out_of_memory(self, error: Exception) -> bool:
        said = f"{type(error).__name__}: {error}".lower()
        return any(words in said for words in self.out_of_memory)


class Probe:
    """Bare work on two operands, by which a framework shows what the machine can do at most."""

    def __init__(self, work: Callable[[], Any], operands: Sequence[Any], compiler: Compiler):
        self.operands = operands
        self._work = work
        self._compiler = compiler

    def step(self) -> None:
        self.result = self._work()

    def synchronize(self) -> None:
        self._compiler.synchronize()


def installed(distributions: Iterable[str]) -> dict[str, str]:
    """Versions of those of the distributions that are here."""
    found = {name: version_of(name) for name in distributions}
    return {name: version for name, version in found.items() if version is not None}
