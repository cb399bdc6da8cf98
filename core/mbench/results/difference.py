"""What changed in speed from one run to another, and whether it can be said at all."""

from __future__ import annotations

from typing import Any

from mbench import stats
from mbench.contract.axes import key, name
from mbench.errors import MbenchError

__all__ = ["differ", "variables_of"]

Document = dict[str, Any]
Changes = dict[str, tuple[Any, Any]]

# Another machine is another experiment; a new kernel or driver is a change to be judged.
CONDITIONS = ("protocol", "cpu", "physical_cores", "usable_cores", "gpu")
NARROWEST = 0.01
"""Half-width that is asked of an interval where the threshold is smaller."""
SETTINGS = ("mbench", "os", "python", "driver", "governor", "transparent_huge_pages", "hostname",
            "variables")  # fmt: skip


def differ(base: Document, new: Document, *, threshold: float) -> Document:
    """Every case of two runs' documents; `threshold` as a share, 0.03 for 3 %.

    A regression is a case that is shown to be slower, by more than the threshold, or that was
    measured before and now falls short. Raises MbenchError where no case is in both runs.
    """
    pairs, alone = match(base["cases"], new["cases"])
    if not pairs:
        raise MbenchError(
            f"{base['run']} and {new['run']} have no case in common: "
            f"{titles(base)} against {titles(new)}"
        )
    old, now = facts(base), facts(new)
    conditions = changes(old, now, CONDITIONS)
    compared = [pair for pair in pairs if obstacle(*pair, conditions=conditions) is None]
    cases = [
        contrast(*pair, conditions=conditions, threshold=threshold, comparisons=len(compared))
        for pair in pairs
    ]
    return {
        "schema": 1,
        "base": base["run"],
        "new": new["run"],
        "threshold": threshold,
        "intervals": len(compared),
        "changes": listed(conditions | changes(old, now, SETTINGS)),
        "cases": cases,
        "unmatched": [
            {"run": document["run"], "case": heading(case)}
            for document, left in zip((base, new), alone, strict=True)
            for case in left
        ],
        "regressions": sum(case["regression"] for case in cases),
        "undetermined": sum(case["ratio"] is not None and not case["judged"] for case in cases),
    }


def titles(document: Document) -> str:
    names = list(dict.fromkeys(heading(case) for case in document["cases"])) or ["no case"]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more


def heading(case: Document) -> str:
    return f"{case['label']}: {name(case)}"


def match(
    base: list[Document], new: list[Document]
) -> tuple[list[tuple[Document, Document]], tuple[list[Document], list[Document]]]:
    """Cases of the same key, by label first and then by framework, in order; and what is left."""
    pairs = []
    for who in ("label", "framework"):
        left = list(new)
        for case in list(base):
            for other in left:
                if other[who] == case[who] and key(other) == key(case):
                    pairs.append((case, other))
                    left.remove(other)
                    base = [one for one in base if one is not case]
                    break
        new = left
    return pairs, (base, new)


def facts(document: Document) -> Document:
    """How a run was measured, its GPUs as one fact and their driver as another."""
    gpus = document["system"].get("gpus") or []
    return {
        **document["system"],
        "mbench": document["mbench"],
        "protocol": document["protocol"].get("name"),
        "gpu": ", ".join(str(gpu.get("name")) for gpu in gpus),
        "variables": variables_of(document),
        "driver": ", ".join(dict.fromkeys(str(gpu.get("driver_version")) for gpu in gpus)),
    }


def variables_of(document: Document) -> str:
    """NAME=VALUE of each, in one text; empty also for runs of before they were written down."""
    found = document["system"].get("variables") or {}
    return ", ".join(f"{name}={value}" for name, value in found.items())


def changes(base: Document, new: Document, names: tuple[str, ...]) -> Changes:
    return {
        name: (base.get(name), new.get(name)) for name in names if base.get(name) != new.get(name)
    }


def listed(changed: Changes) -> list[Document]:
    return [
        {"what": name, "base": text(before), "new": text(after)}
        for name, (before, after) in changed.items()
    ]


def text(value: Any) -> str:
    return "none" if value is None or value == "" else str(value)


def version_changes(base: Document, new: Document) -> Changes:
    """The framework's version and, where the environments are known, every package's."""
    found = changes(base, new, ("version",))
    before, after = ((case["environment"] or {}).get("packages") or {} for case in (base, new))
    if before and after:
        found |= changes(before, after, tuple(sorted({*before, *after})))
    return found


def obstacle(base: Document, new: Document, *, conditions: Changes) -> str | None:
    """Why two cases cannot be compared; None where they can."""
    if base["outcome"] != "ok":
        return f"it was {base['outcome']} in the base: {base['reason']}"
    if new["outcome"] != "ok":
        return f"it is {new['outcome']} now: {new['reason']}"
    if conditions:
        said = ", ".join(f"{name} {text(a)} -> {text(b)}" for name, (a, b) in conditions.items())
        return f"other conditions: {said}"
    if base["flops_per_sample"] != new["flops_per_sample"]:
        return "the workload changed: other FLOPs per sample"
    for case, which in ((base, "base"), (new, "new")):
        if case["equal_work"] and not case["equal_work"]["proven"]:
            return f"the {which} run's work is not proven equal"
    return None


def contrast(
    base: Document,
    new: Document,
    *,
    conditions: Changes,
    threshold: float,
    comparisons: int,
) -> Document:
    """One case of both runs: its ratio with the interval, a verdict, and what changed."""
    document: Document = {
        "case": heading(new),
        "base": base["throughput"] and base["throughput"]["value"],
        "new": new["throughput"] and new["throughput"]["value"],
        "unit": (new["throughput"] or base["throughput"] or {}).get("unit"),
        "ratio": None, "low": None, "high": None,
        "verdict": "not comparable",
        "reason": obstacle(base, new, conditions=conditions),
        "regression": base["outcome"] == "ok" != new["outcome"],
        "judged": base["outcome"] == "ok" != new["outcome"],
        "processes": None,
        "changes": listed(version_changes(base, new)),
    }  # fmt: skip
    if document["reason"] is not None:
        return document
    rates = base["throughput"]["processes"], new["throughput"]["processes"]
    interval = stats.contrast(*rates, comparisons=comparisons)
    verdict = stats.verdict(interval)
    goal = max(threshold, NARROWEST)
    wide = interval.half_width is None or interval.half_width > goal
    document["judged"] = verdict in ("faster", "slower") or not wide
    if not document["judged"]:
        count = stats.processes_for(*rates, half_width=goal, comparisons=comparisons)
        if count is not None:  # the run with more processes may hide that the other has too few
            count = max(count, 1 + min(map(len, rates)))
        document["processes"] = count
        why = "too few processes" if interval.half_width is None else "too noisy"
        document["reason"] = f"{why} to show a change of the threshold; {enough(count)}"
    return document | {
        "ratio": interval.value,
        "low": interval.low,
        "high": interval.high,
        "verdict": verdict,
        "regression": verdict == "slower" and interval.value < 1 - threshold,
    }


def enough(processes: int | None) -> str:
    """How many processes would show a change of the threshold, in words."""
    if processes is None:
        return "more processes than are practical would; quieten the machine"
    return f"about {processes} in each run would: --processes {processes}"
