"""Builds experiments from the values of options, and from suites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mbench.contract.axes import AXES, STEADY
from mbench.contract.metric import METRICS
from mbench.errors import UsageError, about
from mbench.plugins.manager import nearest
from mbench.spec.adaptive import Adaptive
from mbench.spec.arm import Arm
from mbench.spec.experiment import Checks, Experiment, Launch, Sweep
from mbench.spec.option import asked_fields
from mbench.spec.options import (
    CASES,
    CONSTANTS,
    EFFORTS,
    IN_SUITES,
    LAUNCH,
    PROTOCOL,
    constants_of,
    switches,
)
from mbench.spec.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mbench.plugins.manager import Plugins
    from mbench.spec.experiment import Value
    from mbench.spec.option import Given, Option
    from mbench.spec.protocol import Protocol
    from mbench.spec.suite import Suite

__all__ = ["arms_of", "build", "build_suite", "checks_of", "launch_of", "protocol_of", "replaced",
           "sweep_of"]  # fmt: skip

T = TypeVar("T")

MANY = {axis.name for axis in AXES if axis.many}
IN_PROTOCOLS = {"protocol", *CONSTANTS, "timeout", "memory_limit"}
"""What a suite's protocol may set."""
SIZES = ("size", "image_size", "sequence_length", "prompt_length", "new_tokens")


def build(frameworks: Sequence[str], given: Given, plugins: Plugins) -> Experiment:
    """One sweep of `frameworks`; raises UsageError if options contradict each other."""
    return Experiment(
        arms=arms_of(frameworks),
        sweeps=(sweep_of(given, plugins),),
        protocol=protocol_of(given),
        launch=launch_of(given),
        checks=checks_of(given),
    )


def build_suite(
    suite: Suite,
    frameworks: Sequence[str],
    given: Given,
    plugins: Plugins,
    *,
    explicit: Collection[str],
) -> Experiment:
    """The sweeps of `suite`; raises UsageError, with line and key if the suite is at fault.

    Options given explicitly take precedence over the suite, and the suite over all others.
    """
    shorts = switches(plugins)
    known = {option.key: option for option in (*IN_SUITES, *shorts)}
    with suite.locating(frameworks):
        sweeps = []
        for number, table in enumerate(suite.sweeps):
            wrong = partial(suite.wrong, sweep=number)
            merged = merge(table, known, given, explicit=either(explicit, shorts), wrong=wrong)
            try:
                sweeps.append(sweep_of(merged, plugins))
            except UsageError as error:
                error.sweep = number
                raise
        merged = protocol_given(suite, given, explicit=explicit)
        return Experiment(
            arms=arms_of(frameworks),
            sweeps=tuple(sweeps),
            protocol=protocol_of(merged),
            launch=launch_of(merged),
            checks=checks_of(merged),
        )


def either(explicit: Collection[str], shorts: Sequence[Option]) -> set[str]:
    """All options that the explicit ones decide, since some things can be set by two options."""
    groups = ({"models", "operators"}, {"precision", "amp"}, {"steadiness", "steady"},
              {"compiler", *(option.name for option in shorts)})  # fmt: skip
    return set(explicit).union(*(group for group in groups if group & set(explicit)))


def merge(
    table: Mapping[str, object],
    known: Mapping[str, Option],
    given: Given,
    *,
    explicit: Collection[str],
    wrong: Callable[..., UsageError],
) -> Given:
    """`given` with the values of a suite's table; raises the error that `wrong` returns."""
    said: dict[str, object] = {}
    for key, value in table.items():
        if key not in known:
            raise wrong(f"unknown key{nearest(key, known)}", key=key)
        try:
            said[known[key].name] = known[key].read(value)
        except ValueError as error:
            raise wrong(str(error), key=key) from None
    sizes = {**sizes_of(said), **sizes_of(given)}
    kept = {name: value for name, value in said.items() if name not in (*SIZES, *explicit)}
    rest = {name: value for name, value in given.items() if name not in SIZES}
    return {**rest, **kept, **({"size": sizes} if sizes else {})}


def protocol_given(suite: Suite, given: Given, *, explicit: Collection[str]) -> Given:
    """`given` with the suite's protocol, unless another is given explicitly."""
    known = {option.key: option for option in (*PROTOCOL, *LAUNCH) if option.name in IN_PROTOCOLS}
    known["name"] = known.pop("protocol")
    implied = EFFORTS.get(effort_of(given), {})
    table = {key: value for key, value in suite.protocol.items()
             if key.replace("-", "_") not in implied}  # fmt: skip
    if "protocol" in explicit and table.get("name") != given["protocol"]:
        table = {}  # it has constants of another protocol
    return merge(table, known, given, explicit=explicit, wrong=suite.wrong)


def arms_of(frameworks: Sequence[str]) -> tuple[Arm, ...]:
    with about("--frameworks"):
        return tuple(map(Arm, frameworks))


def sweep_of(given: Given, plugins: Plugins) -> Sweep:
    """What is measured; raises UsageError if short options contradict long ones."""
    if "operators" in given and "models" in given:
        raise UsageError(
            "--operators and --models both say what to measure; give one of them",
            option="--operators",
        )
    axes: dict[str, tuple[Value, ...]] = {
        option.axis: several(given[option.name])
        for option in CASES
        if option.axis in MANY and option.name in given
    }
    shorts = [("steady", STEADY, "steadiness")]
    shorts += [(option.name, option.name, "compiler") for option in switches(plugins)]
    for short, value, axis in shorts:
        if short in given:
            toggle(axes, axis, value, on=given[short] is True, short=short)
    return Sweep(
        axes=axes,
        sizes=sizes_of(given),
        operators="operators" in given,
        amp=None if "amp" not in given else given["amp"] is True,
    )


def several(value: object) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def toggle(
    axes: dict[str, tuple[Value, ...]], axis: str, value: Value, *, on: bool, short: str
) -> None:
    """Let a switch add its value to an axis; raises UsageError if the axis's own option says
    otherwise.
    """
    if axis in axes and on != (value in axes[axis]):
        sign = f"--{short}" if on else f"--no-{short}"
        raise UsageError(
            f"{sign} contradicts --{axis} {','.join(map(str, axes[axis]))}; give one of them"
        )
    if on:
        axes.setdefault(axis, (value,))


def sizes_of(given: Given) -> dict[str, int]:
    """All sizes together; raises UsageError if two options contradict each other."""
    sizes: dict[str, int] = {}
    for option in SIZES:
        found = given.get(option)
        for name, value in found.items() if isinstance(found, Mapping) else ():
            if sizes.setdefault(name, value) != value:
                raise UsageError(
                    f"{name} is given as {sizes[name]} and as {value}; give one of them",
                    option=f"--{option.replace('_', '-')}",
                )
    return sizes


FAST_PROCESSES = 3
"""Processes that --fast always measures: fewer give no interval."""
FAST_WARMUP_SECONDS = 10.0
INDIVIDUAL = {metric.name for metric in METRICS if metric.each}
"""Metrics of steps that are timed one by one."""


def effort_of(given: Given) -> str:
    """The word for a set of options, "fast" or "rigorous"; empty without one. Raises UsageError for
    two words.
    """
    words = [word for word in EFFORTS if given.get(word)]
    if len(words) > 1:
        flags = " and ".join(f"--{word}" for word in words)
        raise UsageError(f"{flags} contradict each other; give one of them")
    return words[0] if words else ""


def protocol_of(given: Given) -> Protocol:
    """The protocol with its constants replaced by those that are given.

    Raises UsageError for a name that does not exist, and for an option of another protocol.
    """
    name, effort = str(given.get("protocol", PRESETS["adaptive"].name)), effort_of(given)
    if name not in PRESETS:
        raise UsageError(f"unknown protocol {name!r}{nearest(name, PRESETS)}", option="--protocol")
    preset, implied = PRESETS[name], EFFORTS.get(effort, {})
    known = constants_of(preset)
    if any(CONSTANTS.get(option, option) not in known for option in implied if option != "mfu"):
        raise UsageError(
            f"--{effort} is for the protocol adaptive, not for {name}", option=f"--{effort}"
        )
    for option in CONSTANTS:
        if option in given and CONSTANTS[option] not in known:
            flag = f"--{option.replace('_', '-')}"
            takes = ", ".join(
                f"--{one.replace('_', '-')}" for one in CONSTANTS if CONSTANTS[one] in known
            )
            raise UsageError(
                f"{flag} is not for the protocol {name}, which takes {takes}", option=flag
            )
    values = {
        option: value for option, value in {**implied, **given}.items() if option in CONSTANTS
    }
    if values.get("metric") in INDIVIDUAL and "single_steps" in known:
        values.setdefault("single_steps", True)
    if "max_processes" in values and "until" not in values:
        raise UsageError("--max-processes limits --until; give both", option="--max-processes")
    found = replaced(preset, {CONSTANTS[option]: value for option, value in values.items()})
    if effort == "fast" and isinstance(found, Adaptive):
        floor = min(FAST_PROCESSES, found.processes)
        found = replace(found, fewest_processes=floor, longest_warmup_seconds=FAST_WARMUP_SECONDS)
    return found


def launch_of(given: Given) -> Launch:
    values = {field: given[option.name] for field, option in asked_fields(Launch).items()
              if option.name in given}  # fmt: skip
    machine = {name: given[name] for name in ("device", "threads") if name in given}
    return replaced(Launch(), {**values, **machine})


def checks_of(given: Given) -> Checks:
    given = {**EFFORTS.get(effort_of(given), {}), **given}
    values = {field: given[option.name] for field, option in asked_fields(Checks).items()
              if option.name in given}  # fmt: skip
    return replaced(Checks(), values)


def replaced(value: T, fields: Mapping[str, object]) -> T:
    """`value` with `fields` replaced by values that options' readers returned."""
    dataclass: Any = value
    return cast("T", replace(dataclass, **fields))
