"""Guards around plugins' code: exceptions and wrong answers become errors that name the plugin."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from mbench.contract.adapter import Need, Support
from mbench.contract.precision import PRECISIONS
from mbench.contract.tier import DEFAULT, TUNED, Tier
from mbench.errors import MbenchError, PluginFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.contract.device import Accelerator, Check, Device

__all__ = ["GuardedAdapter", "GuardedDevice", "checked_name", "guard", "guarded"]

P = ParamSpec("P")
T = TypeVar("T")
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
RUNTIME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@contextlib.contextmanager
def guard(plugin: str, what: str, *, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Exceptions raised inside become PluginFailed; what is printed goes to stderr, not into
    reports.

    This covers all but Ctrl-C and `passing`: neither sys.exit() nor a plugin's own exception may
    end the command.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, *passing)):
            raise
        raise PluginFailed(plugin, f"{what} {type(error).__name__}: {error}") from error


def guarded(plugin: str, what: str, function: Callable[P, T]) -> Callable[P, T]:
    """Guards the function, and its `check` if it has one; errors meant for users pass unchanged."""

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        with guard(plugin, what, passing=(MbenchError,)):
            return function(*arguments, **named)
        raise AssertionError("a guard swallows nothing")

    if check := getattr(function, "check", None):
        call.check = guarded(plugin, what, check)  # type: ignore[attr-defined]
    return call


def checked_name(name: object) -> str:
    """A name that can be typed and printed; raises TypeError."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise TypeError(f"{name!r} is not a valid name")
    return name


def text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError(f"{value!r:.60} is not a single line of text")
    return value


def texts(value: Iterable[object]) -> tuple[str, ...]:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{value!r:.60} is a single string, not several")
    return tuple(map(text, value))


def requirements(value: Iterable[object]) -> tuple[str, ...]:
    """Requirements that pip accepts, but not its options or bare paths."""
    from packaging.requirements import InvalidRequirement, Requirement

    if not (found := texts(value)):
        raise TypeError("must not be empty")
    for one in found:
        try:
            Requirement(one)
        except InvalidRequirement:
            raise TypeError(f"{one!r:.60} is not a requirement") from None
    return found


def table(value: Mapping[str, object]) -> dict[str, str]:
    return {text(name): text(line) for name, line in value.items()}


def compilers(value: Mapping[str, object]) -> dict[str, str]:
    if not (found := table(value)):
        raise TypeError("must not be empty")
    return found


def tiers(value: Mapping[str, object]) -> Mapping[str, object]:
    """The tiers that an adapter may define."""
    for name, tier in value.items():
        if name not in (DEFAULT, TUNED):
            raise TypeError(f"{name!r:.60} is not a known tier")
        if not isinstance(tier, Tier):
            raise TypeError(f"{tier!r:.60} is not a Tier")
        texts((tier.says, tier.source, *tier.compilers, *tier.on_cuda, *tier.executes.values()))
        compilers(dict.fromkeys(tier.compilers, ""))
        table(tier.settings)
        variables(tier.variables)
    return dict(value)


def runtime(value: object) -> str:
    if not RUNTIME.fullmatch(text(value)):
        raise TypeError(f"{value!r} is not a 'module:Class'")
    return text(value)


def whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.60} is not a whole number")
    return value


def specifier(value: object) -> str:
    from packaging.specifiers import SpecifierSet

    SpecifierSet(text(value))
    return text(value)


def needs(value: Iterable[object]) -> tuple[Need, ...]:
    """Needed programs, each with its remedy."""
    found = []
    for one in value:
        if not isinstance(one, Need):
            raise TypeError(f"{one!r:.60} is not a Need")
        if not (programs := texts(one.programs)) or not all(programs):
            raise TypeError("a Need lists no program")
        found.append(Need(programs, text(one.remedy)))
    return tuple(found)


def support(value: object) -> Support:
    if value is None:  # the contract's own method returns it
        return Support(True)
    if not isinstance(value, Support):
        raise TypeError(f"{value!r:.60} is not a Support")
    text(value.reason)
    return value


def precision(value: object) -> str:
    if (name := text(value)) not in PRECISIONS:
        raise TypeError(f"{name!r:.60} is not a precision")
    return name


def variables(value: Mapping[str, object]) -> dict[str, str]:
    found = table(value)
    if wrong := [name for name in found if not name or "=" in name]:
        raise TypeError(f"{wrong[0]!r} is not a valid variable name")
    return found


FACTS: Mapping[str, Callable[..., object]] = {
    "name": checked_name, "title": text, "contract": whole, "imports": texts, "runtime": runtime,
    "models": text, "parallel": text, "compilers": compilers, "devices": texts,
    "needs": needs, "switches": texts, "tiers": tiers, "tuned_by": texts,
}  # fmt: skip


class GuardedAdapter:
    """An adapter whose facts are read once, and whose answers are checked each time."""

    name: str

    def __init__(self, adapter: Adapter, plugin: str) -> None:
        """Raises TypeError for an invalid fact."""
        self._adapter, self._plugin = adapter, plugin
        self.__module__ = type(adapter).__module__  # its metadata file is next to it
        for name, read in FACTS.items():
            try:
                setattr(self, name, read(getattr(adapter, name)))
            except Exception as error:
                title = type(adapter).__name__
                raise TypeError(f"{title}.{name}: {error}") from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    @property
    def distribution(self) -> str:
        """The distribution that the plugin is part of."""
        return self._plugin.rpartition("(")[2].removesuffix(")")

    def _ask(self, method: str, read: Callable[..., T], *given: object, **named: object) -> T:
        # For an unknown version, requirements() raises a ValueError that says what there is.
        passing = (ValueError,) if method == "requirements" else ()
        with guard(self._plugin, f"{self.name}'s {method}():", passing=passing):
            return read(getattr(self._adapter, method)(*given, **named))
        raise AssertionError("a guard swallows nothing")

    def requirements(self, version: str | None, accelerator: str) -> tuple[str, ...]:
        return self._ask("requirements", requirements, version, accelerator)

    def index_hint(self, accelerator: str) -> str:
        return self._ask("index_hint", text, accelerator)

    def python(self, version: str | None) -> str:
        return self._ask("python", specifier, version)

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        return self._ask("variables", variables, threads=threads, device=device)

    def supports(self, case: Case) -> Support:
        return self._ask("supports", support, case)

    def mixed(self, device: str) -> str:
        return self._ask("mixed", precision, device)


class GuardedDevice:
    """A kind of device whose failures are reported as its plugin's."""

    def __init__(self, device: Device, plugin: str) -> None:
        """Raises TypeError for an invalid fact."""
        self._device, self._plugin = device, plugin
        self.name, self.title = checked_name(device.name), text(device.title)
        self.hint, self.sharing = text(device.hint), text(device.sharing)

    def _ask(self, method: str, read: Callable[..., T], *given: object) -> T:
        with guard(self._plugin, f"{self.name}'s {method}():", passing=(MbenchError,)):
            return read(getattr(self._device, method)(*given))
        raise AssertionError("a guard swallows nothing")

    def all(self) -> list[Accelerator]:
        return self._ask("all", list)

    def seen(self) -> list[Accelerator]:
        return self._ask("seen", list)

    def variables(self) -> dict[str, str]:
        return self._ask("variables", variables)

    def visible(self, local_rank: int) -> dict[str, str]:
        return self._ask("visible", variables, local_rank)

    def examine(self) -> list[Check]:
        return self._ask("examine", list)
