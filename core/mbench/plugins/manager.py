"""Finds plugins by one scan of entry points and keeps a broken one from harming the rest."""

from __future__ import annotations

import contextlib
import difflib
import os
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar, cast

import pluggy

from mbench.errors import MbenchError, PluginFailed, UsageError, scarce
from mbench.plugins import hooks
from mbench.plugins.adapter_metadata import FILE, leaflet
from mbench.plugins.guards import GuardedAdapter, GuardedDevice, checked_name, guard, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint

    import click

    from mbench.contract.adapter import Adapter
    from mbench.contract.device import Device
    from mbench.plugins.launcher import Launcher
    from mbench.plugins.report import Exporter, Report

__all__ = ["DISABLE_EXTERNAL", "Plugins", "Problem", "nearest"]

GROUP = "mbench"
OURS = "mbench-dl"
DISABLE_EXTERNAL = "MBENCH_DISABLE_EXTERNAL_PLUGINS"

P = ParamSpec("P")
T = TypeVar("T")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Problem:
    """What is wrong with one plugin."""

    plugin: str
    message: str

    def __str__(self) -> str:
        return f"{self.plugin} {self.message}"


@dataclass
class Offers(Generic[T]):
    """What plugins offer of one kind, by name, with the plugin that offers it."""

    kind: str
    problems: Sequence[Problem] = ()
    """Problems of plugins, which may be why a name is unknown."""
    by_name: dict[str, list[tuple[str, T]]] = field(default_factory=dict)

    def add(self, name: str, plugin: str, value: T) -> None:
        self.by_name.setdefault(name, []).append((plugin, value))

    def get(self, name: str) -> T:
        """The only value of `name`; raises UsageError if there is none, or more than one."""
        offered = self.by_name.get(name, [])
        if not offered:
            hint = nearest(name, self.by_name, listing=LISTINGS.get(self.kind, ""))
            hint += self.suspect
            raise UsageError(f"unknown {self.kind} {name!r}{hint}")
        if len(offered) > 1:
            claimants = " and ".join(plugin for plugin, _ in offered)
            raise UsageError(
                f"{self.kind} {name!r} is claimed by {claimants}; uninstall one of them"
            )
        return offered[0][1]

    @property
    def suspect(self) -> str:
        """The end of an error message about an unknown name: a broken plugin that may define it."""
        if not self.problems:
            return ""
        return f"; plugin {self.problems[0]} (mbench list shows every problem)"

    def unique(self) -> dict[str, T]:
        """Every value whose name only one plugin claims."""
        return {name: o[0][1] for name, o in self.by_name.items() if len(o) == 1}


LISTINGS = {"command": "mbench --help", "framework": "mbench list frameworks"}
FEW = 12
"""Most names that an error message lists."""
LONGEST_NAME = 40
MARGIN = 0.15
"""A name is offered too if its similarity is within this margin of the nearest name's."""


def nearest(
    name: str, known: Iterable[str], aliases: Iterable[str] = (), *, listing: str = ""
) -> str:
    """The end of an error message that suggests the nearest names or aliases, ignoring case. If
    none is near, it lists a few names, or the command `listing` that shows them.
    """
    names = sorted({*known} - {name})  # the same name from another place is no help
    cased = {one.casefold(): one for one in (*sorted(aliases, reverse=True), *names)}
    wanted = name.casefold()[:LONGEST_NAME]
    close = difflib.get_close_matches(wanted, cased, n=3, cutoff=0.5)
    if close:
        ratios = [difflib.SequenceMatcher(None, one, wanted).ratio() for one in close]
        near = [cased[one] for one, ratio in zip(close, ratios, strict=True)
                if ratio > ratios[0] - MARGIN]  # fmt: skip
        return f"; did you mean {' or '.join(near)}?"
    if len(names) <= FEW:
        return f"; available: {', '.join(names)}" if names else "; none are available"
    return f"; {listing} shows them all" if listing else f"; {len(names)} are available"


class Plugins:
    """Everything that plugins offer, and what is wrong with any of them."""

    def __init__(
        self, *, external: bool | None = None, entries: Iterable[EntryPoint] | None = None
    ) -> None:
        if external is None:
            external = not os.environ.get(DISABLE_EXTERNAL)
        self.problems: list[Problem] = []
        self.manager = pluggy.PluginManager("mbench")
        self.manager.add_hookspecs(hooks)
        for entry in entry_points(group=GROUP) if entries is None else entries:
            distribution = entry.dist.name if entry.dist else "unknown"
            if external or distribution == OURS:
                self._load(entry, f"{entry.name} ({distribution})")
        self._report_misspelled_hooks()

    def _load(self, entry: EntryPoint, plugin: str) -> None:
        if self.manager.has_plugin(plugin):  # an editable install may be listed twice
            return
        with self._complaints(plugin), guard(plugin, "does not load:"):
            self.manager.register(entry.load(), plugin)

    def _complain(self, plugin: str, message: str) -> None:
        self.problems.append(Problem(plugin, " ".join(message.split())))

    @contextlib.contextmanager
    def _complaints(self, plugin: str) -> Iterator[None]:
        try:
            yield
        except PluginFailed as error:
            ours, cause = plugin.endswith(f"({OURS})"), error.__cause__
            if ours and cause is not None and (said := scarce(cause)):
                raise MbenchError(said) from error  # without our own plugins, no command is known
            self._complain(plugin, error.what)

    def _report_misspelled_hooks(self) -> None:
        hooks = vars(self.manager.hook)
        known = [name for name, hook in hooks.items() if hook.has_spec()]
        for name, hook in hooks.items():
            if not hook.has_spec():
                for implementation in hook.get_hookimpls():
                    self._complain(
                        implementation.plugin_name,
                        f"implements {name!r}, which is not a hook{nearest(name, known)}",
                    )

    def _collect(
        self,
        kind: str,
        hook: str,
        items: Callable[[str, Answer], Iterable[tuple[str, T]]],
        *,
        refusal: Callable[[T], str] = lambda value: "",
    ) -> Offers[T]:
        """What each plugin returns for `hook`; a wrong answer is reported and left out."""
        offers: Offers[T] = Offers(kind, self.problems)
        for implementation in getattr(self.manager.hook, hook).get_hookimpls():
            plugin = implementation.plugin_name
            with self._complaints(plugin):
                with guard(plugin, f"{hook} raised"):
                    answer = implementation.function()
                with guard(plugin, f"{hook} returned an invalid value:"):
                    for name, value in items(plugin, answer):
                        checked_name(name)
                        if reason := refusal(value):
                            self._complain(plugin, reason)
                        else:
                            offers.add(name, plugin, value)
        for name, offered in offers.by_name.items():
            if len(offered) > 1:
                others = ", ".join(plugin for plugin, _ in offered)
                for plugin, _ in offered:
                    said = f"claims {kind} {name!r}, which several plugins claim: {others}"
                    self._complain(plugin, said)
        return offers

    @cached_property
    def adapters(self) -> Offers[Adapter]:
        return self._collect("framework", "mbench_adapters", _adapter_items, refusal=_refusal)

    @cached_property
    def workloads(self) -> Offers[str]:
        return self._collect("model", "mbench_workloads", _table)

    @cached_property
    def scenarios(self) -> Offers[str]:
        return self._collect("mode", "mbench_scenarios", _table)

    @cached_property
    def reports(self) -> Offers[Report]:
        return self._collect("format", "mbench_reports", _functions)

    @cached_property
    def layouts(self) -> Offers[Mapping[str, Report]]:
        return self._collect("layout", "mbench_layouts", _layouts)

    @cached_property
    def exporters(self) -> Offers[Exporter]:
        return self._collect("exporter", "mbench_exporters", _functions)

    @cached_property
    def launchers(self) -> Offers[Launcher]:
        return self._collect("launcher", "mbench_launchers", _table)

    @cached_property
    def devices(self) -> Offers[Device]:
        return self._collect("device", "mbench_devices", _device_items)

    @cached_property
    def commands(self) -> Offers[click.Command]:
        return self._collect("command", "mbench_commands", _commands)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Frameworks by their other names; a framework's own name is never another one's alias."""
        found: dict[str, str] = {}
        for name, adapter in self.adapters.unique().items():
            try:
                found |= dict.fromkeys(leaflet(adapter).aliases, name)
            except ValueError as error:
                self._complain(name, f"has an invalid {FILE}: {error}")
        return {alias: name for alias, name in found.items() if alias not in self.adapters.by_name}

    def framework(self, name: str) -> str | None:
        """The framework with this name or alias, ignoring case; None if there is none."""
        if name in self.adapters.by_name:
            return name
        known = {alias.casefold(): own for alias, own in self.aliases.items()}
        known |= {own.casefold(): own for own in self.adapters.by_name}
        return known.get(name.casefold())

    def unknown_framework(
        self, name: str, *, kind: str = "framework", besides: Iterable[str] = ()
    ) -> UsageError:
        """The error: how to install it, or the nearest names of frameworks and `besides`."""
        from mbench.plugins.separate_adapters import install_hint

        near = nearest(name, [*self.adapters.by_name, *besides], self.aliases,
                       listing="mbench list frameworks")  # fmt: skip
        message = install_hint(name) or f"unknown {kind} {name!r}{near}"
        return UsageError(message + self.adapters.suspect)

    def adapter(self, name: str) -> Adapter:
        """The adapter with that name or alias; raises UsageError."""
        if (own := self.framework(name)) is None:
            raise self.unknown_framework(name)
        return self.adapters.get(own)

    def report(self, name: str) -> Report:
        return self.reports.get(name)

    def exporter(self, name: str) -> Exporter:
        return self.exporters.get(name)

    def launcher(self, name: str) -> Launcher:
        return self.launchers.get(name)

    def laid_out(self, layout: str, format_: str) -> Report:
        """The report of a layout in a format; raises UsageError if there is none."""
        formats = self.layouts.get(layout)
        if format_ not in formats:
            raise UsageError(
                f"layout {layout} has no format {format_!r}{nearest(format_, formats)}"
            )
        return formats[format_]


def _table(_: str, answer: Mapping[str, T]) -> Iterable[tuple[str, T]]:
    return answer.items()


def _functions(
    plugin: str, answer: Mapping[str, Callable[P, T]]
) -> Iterator[tuple[str, Callable[P, T]]]:
    for name, function in answer.items():
        if not callable(function):
            raise TypeError(f"{name!r} is not a function")
        yield name, guarded(plugin, f"{name!r} raised", function)


def _layouts(
    plugin: str, answer: Mapping[str, Mapping[str, Callable[P, T]]]
) -> Iterator[tuple[str, Mapping[str, Callable[P, T]]]]:
    for name, formats in answer.items():
        yield name, dict(_functions(plugin, formats))


def _commands(_: str, answer: Sequence[click.Command]) -> Iterator[tuple[str, click.Command]]:
    for command in answer:
        assert command.name is not None
        yield command.name, command


def _device_items(plugin: str, answer: Sequence[Device]) -> Iterator[tuple[str, Device]]:
    from mbench.contract.device import HOST, Device

    members = {name for name in dir(Device) if not name.startswith("_")}
    members |= set(Device.__annotations__)
    for device in answer:
        if lacking := sorted(name for name in members if not hasattr(device, name)):
            raise TypeError(f"{type(device).__name__} lacks {', '.join(lacking)}")
        if device.name == HOST:
            raise TypeError(f"{HOST!r} is reserved for the machine itself")
        yield device.name, cast("Device", GuardedDevice(device, plugin))


def _adapter_items(plugin: str, answer: Sequence[Adapter]) -> Iterator[tuple[str, GuardedAdapter]]:
    from mbench.contract.adapter import Adapter
    from mbench.sdk.plugin import AdapterBase

    members = {name for name in dir(Adapter) if not name.startswith("_")}
    members |= set(Adapter.__annotations__)
    for adapter in answer:
        lacking = {name for name in members if not hasattr(adapter, name)}
        if required := sorted(name for name in lacking if not hasattr(AdapterBase, name)):
            raise TypeError(f"{type(adapter).__name__} lacks {', '.join(required)}")
        for name in lacking:
            default = getattr(AdapterBase, name)
            setattr(adapter, name, partial(default, adapter) if callable(default) else default)
        yield adapter.name, GuardedAdapter(adapter, plugin)


def _refusal(adapter: Adapter) -> str:
    """Why an adapter cannot be used with this mbench; empty if it can."""
    from mbench.contract.adapter import CONTRACT

    if adapter.contract == CONTRACT:
        return ""
    return (
        f"{adapter.name} is written for version {adapter.contract} of the adapter contract, but "
        f"this mbench has version {CONTRACT}: upgrade "
        f"{'mbench' if adapter.contract > CONTRACT else 'the plugin'}"
    )
