"""The rows that the table, Markdown and CSV share, as text."""

from __future__ import annotations

from typing import Any

__all__ = ["case_columns", "case_rows", "disturbance_lines", "named_cases", "number", "plain",
           "printable", "protocol_line", "search_lines", "variables_lines", "verdict_line",
           "verdict_lines"]  # fmt: skip

Document = dict[str, Any]

case_columns = (
    "framework", "version", "model", "mode", "batch", "precision", "compiler", "device",
    "throughput", "95 % interval", "MFU", "step ms", "first step s", "peak MiB",
)  # fmt: skip


def number(value: float | None, digits: int = 4) -> str:
    """`value` to `digits` significant digits without an exponent; empty for None."""
    if value is None:
        return ""
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text else text


def printable(text: str) -> str:
    """`text` without what would move a terminal's cursor or change its colours."""
    return "".join(sign for sign in text if sign.isprintable())


def plain(text: str) -> str:
    """The lines of `text` without trailing blanks, each printable."""
    return "\n".join(printable(line.rstrip()) for line in text.splitlines()) + "\n"


def interval(low: float | None, high: float | None) -> str:
    """Both ends, with as many digits as tell them from 1: a verdict hangs on that."""
    if low is None or high is None:
        return ""
    ends = [
        next(text for digits in range(4, 18) if (text := number(end, digits)) != "1" or end == 1)
        for end in (low, high)
    ]
    return " .. ".join(ends)


def case_rows(document: Document) -> list[list[str]]:
    """One row per case under `case_columns`; a case that fell short says why."""
    rows = []
    for case in document["cases"]:
        speed, times = case["throughput"], case["step_time_ms"]
        row = [
            case["label"],
            case["version"] or "",
            case["model"] + ("" if case["standard"] else size_note(case)),
            case["mode"],
            str(case["batch_size"]),
            case["precision"],
            case["compiler"],
            case["device"],
        ]
        if case["outcome"] != "ok":
            row += [f"{case['outcome']}: {case['reason']}", "", "", "", "", ""]
        else:
            peak = case["peak_memory_bytes"]
            row += [
                f"{number(speed['median'])} {speed['unit']}",
                interval(speed["low"], speed["high"]),
                "" if case["mfu"] is None else f"{100 * case['mfu']:.3g} %",
                number(times["mean"]),
                number(case["first_step_seconds"], 3),
                f"{peak / 2**20:.0f}" if peak else "",
            ]
        rows.append(row)
    return rows


def size_note(case: Document) -> str:
    """Marks a workload that is not of its published size."""
    size = case["image_size"] or case["sequence_length"]
    return f" (non-standard size {size})"


def named_cases(document: Document) -> list[tuple[str, Document]]:
    """Every case under its label, with its axes where a label stands for several cases."""
    labels = [case["label"] for case in document["cases"]]
    found = []
    for case in document["cases"]:
        name = case["label"]
        if labels.count(name) > 1:
            name += f" ({case['model']} {case['mode']}, batch {case['batch_size']}, "
            name += f"{case['precision']}, {case['compiler']})"
        found.append((name, case))
    return found


def variables_lines(document: Document) -> list[str]:
    """The variables that workers inherited, in one line, if there were any."""
    from mbench.results.difference import variables_of  # which computes: commands start without

    said = variables_of(document)
    return [f"workers inherited {said}"] if said else []


def disturbance_lines(document: Document) -> list[str]:
    """What disturbed each case, one line for each that was."""
    lines = []
    for name, case in named_cases(document):
        if case["disturbances"]:
            texts = "; ".join(disturbance["text"] for disturbance in case["disturbances"])
            lines.append(f"DISTURBED, {name}: {texts}")
    return lines


def verdict_lines(document: Document) -> list[str]:
    """Every comparison's verdict with the state of its proof, and whether it was disturbed."""
    used: dict[str, set[str]] = {}
    for case in document["cases"]:
        used.setdefault(case["label"], set()).add(case["compiler"])
    several = any(len(compilers) > 1 for compilers in used.values())
    return [
        f"{verdict_line(comparison, compilers=several)}; {equality(document, comparison)}"
        + noise_note(comparison)
        + ("; DISTURBED" if comparison["disturbances"] else "")
        for comparison in document["comparisons"]
    ]


def noise_note(comparison: Document) -> str:
    """How large a difference identical code shows here; empty where that is not known."""
    floor = comparison["noise_floor"]
    return "" if floor is None else f"; noise floor here {number(100 * floor, 2)} %"


def search_lines(document: Document) -> list[str]:
    """What was tried to find the largest batch or the best compiler, and what came of it."""
    lines = []
    for search in document["searches"]:
        what = "largest batch" if search["what"] == "batch_size" else "best compiler"
        tried = [
            f"{trial['value']} {number(trial['step_seconds'] * 1e3, 3)} ms"
            if trial["outcome"] == "ok"
            else f"{trial['value']} {trial['outcome']}"
            for trial in search["tried"]
        ]
        chosen = "none" if search["chosen"] is None else search["chosen"]
        lines.append(
            f"{search['comparison']}: {search['label']}: {what} {chosen} "
            f"(tried, step time: {', '.join(tried)})"
        )
    return lines


def protocol_line(document: Document) -> str:
    """How a published protocol measured; empty for mbench's own."""
    constants = document["protocol"]
    if "steps" not in constants:
        return ""
    epochs = constants["epochs"] - constants["warmup_epochs"]
    warmup = max(1, constants["warmup_steps"] + constants["warmup_epochs"] * constants["steps"])
    said = f"protocol {constants['name']}: {warmup} steps of warm-up, then {constants['steps']}"
    said += f" in each of {epochs} epochs" if epochs > 1 else ""
    if constants["duration_seconds"] is not None:
        said += f" or {number(constants['duration_seconds'])} s"
    count = constants["processes"]
    said += f"; median of {count} fresh processes" if count > 1 else "; one process"
    return f"{said}; one case after the other"


def equality(document: Document, comparison: Document) -> str:
    """What is known of the equality of the two cases' work."""
    state = comparison["equal_work"]
    cases = [document["cases"][at] for at in comparison["cases"]]
    if state == "proven":
        errors = [e for case in cases if (e := case["equal_work"]["worst"]) is not None]
        return f"equal work: proven (worst {max(errors):.0e})" if errors else "equal work: proven"
    said = f"equal work: {state.upper()}"
    if comparison["verdict"] is not None:
        for case in cases:
            if case["equal_work"] and not case["equal_work"]["proven"]:
                said += f", {case['label']}: {case['equal_work']['failures'][0]}"
    return said


def verdict_line(comparison: Document, *, compilers: bool = False) -> str:
    """One comparison in one sentence, with both compilers where asked."""
    what = (
        f"{comparison['model']} {comparison['mode']}, batch {comparison['batch_size']}, "
        f"{comparison['precision']}, {comparison['device']}"
    )
    if compilers:
        what += f" ({', '.join(map(' '.join, comparison['compilers'].items()))})"
    pair = f"{comparison['framework']} against {comparison['baseline']}"
    if comparison["verdict"] is None:
        return f"{what}: {pair}: not compared, {comparison['reason']}"
    ratio = f"ratio {number(comparison['ratio'])}"
    if comparison["low"] is None:
        why = f"no interval: {comparison['no_interval']}"
        return f"{what}: {pair}: {ratio}, {comparison['verdict']} ({why})"
    ends = f"95 % interval {interval(comparison['low'], comparison['high'])}"
    pairs = f"{comparison['process_pairs']} process pairs"
    if comparison["reason"] not in (None, "all processes measured"):
        pairs += f"; {comparison['reason']}"
    if comparison["verdict"] == "no difference shown":
        return f"{what}: {pair}: no difference shown ({ratio}, {ends}, {pairs})"
    factor = comparison["ratio"] if comparison["ratio"] >= 1 else 1 / comparison["ratio"]
    fast, slow = comparison["framework"], comparison["baseline"]
    if comparison["verdict"] == "slower":
        fast, slow = slow, fast
    said = f"{fast} is {number(factor, 3)} times as fast as {slow}"
    return f"{what}: {said} ({ratio}, {ends}, {pairs})"
