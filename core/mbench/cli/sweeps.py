"""From options, and from a suite as if one had typed them, to sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mbench.cli.case_options import KEYS, Size, join
from mbench.cli.options import plugins
from mbench.cli.switches import switches
from mbench.contract.axes import AXES, STEADY
from mbench.errors import UsageError, about
from mbench.plugins.manager import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.plugins.manager import Plugins
    from mbench.spec.planning import Sweep
    from mbench.spec.suite import Suite

__all__ = ["protocol_options_of", "sweep_of", "sweeps_of_suite"]


def sweep_of(
    context: click.Context,
    frameworks: tuple[str, ...],
    options: dict[str, Any],
    *,
    scales: tuple[str, ...] = (),
) -> Sweep:
    """What command-line options multiply; raises UsageError where toggles contradict.

    `scales` are all of the command's, where it has other sweeps beside this one. The device and the
    threads that nobody asked for are those of the machines that will compute.
    """
    from mbench.spec.planning import Sweep

    given = {axis.name: options[axis.name] for axis in AXES if axis.many}
    if options["operators"]:
        if given["model"]:
            raise UsageError(
                "--operators and --models both say what is measured; give one of them",
                option="--operators",
            )
        given["model"] = options["operators"]
    device, threads = of_machines(context, options, scales or given["scale"] or ())
    if options["amp"] is not None:
        mixed = mixed_precision(plugins(context), frameworks, device=device)
        given["precision"] = toggle(options, "amp", mixed, option="precision")
    given["steadiness"] = toggle({**options, **given}, "steady", STEADY, option="steadiness")
    for name in switches(plugins(context)):
        given["compiler"] = toggle({**options, **given}, name, name, option="compiler")
    return Sweep(
        frameworks=frameworks,
        wanted={
            name: value if isinstance(value, tuple) else (value,)
            for name, value in given.items()
            if value is not None
        },
        sizes=options["sizes"],
        in_parts=bool(options["operators"]),
        device=device,
        threads=threads,
        seed=options["seed"],
    )


def of_machines(
    context: click.Context, options: dict[str, Any], scales: tuple[str, ...]
) -> tuple[str, int]:
    """The device, and the threads of each process: at each scale, a device has as many."""
    from mbench.cli.launching import elsewhere
    from mbench.machine.devices import usual
    from mbench.machine.system import usable_cores
    from mbench.spec.planning import scale_of

    with about("--scale"):
        asked = [scale_of(word) for word in scales]
    device, threads = options["device"], options["threads"]
    if device not in (None, "auto") and threads:
        return device, threads
    there = elsewhere(context, options, asked)
    if device in (None, "auto"):
        device = usual(there)
    most = max((scale.devices_per_node for scale in asked), default=1)
    cores = min((one.system.usable_cores for one in there), default=0) or usable_cores()
    return device, threads or max(1, cores // most)


def mixed_precision(found: Plugins, frameworks: tuple[str, ...], *, device: str) -> str:
    """The one mixed precision that the frameworks have on a device; raises UsageError."""
    from mbench.spec.arm import Arm

    with about("--frameworks"):
        adapters = [found.adapter(Arm(text).spec.name) for text in frameworks]
    mixed = {adapter.title: adapter.mixed(device) for adapter in adapters}
    if len(set(mixed.values())) > 1:
        said = ", ".join(f"{precision} in {title}" for title, precision in mixed.items())
        raise UsageError(f"--amp is {said}; name one of them with --precision", option="--amp")
    return next(iter(mixed.values()))


def toggle(options: dict[str, Any], short: str, value: str, *, option: str) -> Any:
    """The values of a general option and its short toggle, which must not contradict."""
    chosen, values = options[short], options[option]
    if chosen is None:
        return values
    if values is None:
        return (value,) if chosen else None
    if chosen != (value in values):
        sign = f"--{short}" if chosen else f"--no-{short}"
        raise UsageError(f"{sign} contradicts --{option} {','.join(values)}; give one of them")
    return values


def sweeps_of_suite(
    context: click.Context, suite: Suite, frameworks: tuple[str, ...]
) -> list[Sweep]:
    """Each sweep of `suite`. What was typed wins over the suite.

    They are planned to see whether they can be, so that what cannot has its line and key.
    """
    from mbench.spec.planning import plan

    known = (*KEYS, *switches(plugins(context)))

    def wrong_in(number: int) -> Callable[[str, str], UsageError]:
        return lambda message, key: suite.wrong(message, key=key, sweep=number)

    read = [
        merged(context, table, known=known, wrong=wrong_in(number))
        for number, table in enumerate(suite.sweeps)
    ]
    scales = tuple(word for options in read for word in options["scale"] or ())
    found = []
    for number, (table, options) in enumerate(zip(suite.sweeps, read, strict=True)):
        wrong = wrong_in(number)
        try:
            sweep = sweep_of(context, frameworks, options, scales=scales)
            plan(sweep, plugins(context))
        except UsageError as error:
            key = (error.option or "").removeprefix("--")
            if key not in table and key.replace("-", "_") in options["sizes"]:
                key = "size"
            if key in table or (key == "frameworks" and frameworks == suite.frameworks):
                raise wrong(str(error), key) from None
            raise
        found.append(sweep)
    return found


def protocol_options_of(context: click.Context, suite: Suite) -> dict[str, Any]:
    """All options of `context` with the suite's protocol. What was typed wins over the suite."""
    from mbench.cli.constants import EFFORTS, OPTIONS, protocol_of

    known = ["name", *(option.replace("_", "-") for option in OPTIONS)]
    given = dict(suite.protocol)
    for option in EFFORTS.get(context.params["effort"], {}):
        given.pop(option, None)
    typed = context.get_parameter_source("protocol_name") is ParameterSource.COMMANDLINE
    if typed and given.get("name") != context.params["protocol_name"]:
        given = {}  # constants of another protocol

    def wrong(message: str, key: str) -> UsageError:
        return suite.wrong(message, key=key)

    options = merged(context, given, known=known, wrong=wrong)
    try:
        protocol_of(options["protocol_name"], options)
    except UsageError as error:
        key = (error.option or "").removeprefix("--")
        key = "name" if key == "protocol" else key
        raise (wrong(str(error), key) if key in given else error) from None
    return options


def merged(
    context: click.Context,
    table: dict[str, Any],
    *,
    known: tuple[str, ...] | list[str],
    wrong: Callable[[str, str], UsageError],
) -> dict[str, Any]:
    """The options of `context` with those of `table` put in, each read as if it were typed."""
    flags = {flag: p for p in context.command.get_params(context) for flag in p.opts}
    options = dict(context.params)
    typed = {
        name
        for name in options
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    either = ({"model", "operators"}, {"precision", "amp"}, {"steadiness", "steady"},
              {"compiler", *switches(plugins(context))})  # fmt: skip
    for group in either:  # they say the same: where one is typed, the other is not asked
        if group & typed:
            typed |= group
    sizes: dict[str, int] = {}
    for key, value in table.items():
        if key not in known:
            raise wrong(f"unknown key{nearest(key, known)}", key)
        parameter = flags["--protocol" if key == "name" else f"--{key}"]
        assert parameter.name is not None
        try:
            if isinstance(parameter.type, Size):
                join(sizes, as_typed(context, parameter, value))
            elif parameter.name not in typed:
                options[parameter.name] = as_typed(context, parameter, value)
        except click.BadParameter as error:
            raise wrong(error.message, key) from None
        except UsageError as error:
            raise wrong(str(error), key) from None
    return {**options, "sizes": {**sizes, **options.get("sizes", {})}}


def as_typed(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """What a TOML value means to an option; raises click.BadParameter."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise click.BadParameter(f"{value!r} is not true or false")
        return value
    items = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (str, int, float)):
            raise click.BadParameter(f"{item!r} is neither text nor a number")
    words = [str(item) for item in items]
    return parameter.type_cast_value(context, words if parameter.multiple else ",".join(words))
