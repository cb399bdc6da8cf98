"""The page of a record, in Markdown: the machine, the steps, the figures, the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["page_of"]

Row = dict[str, Any]
FEW = 4
WHERE = """In the folder of this page, of whose folders MBENCH_PROOFS, MBENCH_ENVIRONMENTS and
MBENCH_CALIBRATIONS are told."""


def page_of(document: Row) -> str:
    return "\n".join(lines(document)) + "\n"


def lines(document: Row) -> Iterator[str]:
    results = document["results"]
    yield "# Acceptance"
    yield ""
    yield f"Begun {document['started']}, {document['status']}, on {document['setting']['device']}: "
    counts = [f"{sum(one['outcome'] == outcome for one in results)} {outcome}"
              for outcome in ("passed", "failed", "out of time", "skipped")]  # fmt: skip
    yield f"{', '.join(counts)}. Command: `{document['command']}`"
    yield from machine(document)
    yield from table(
        "Steps", ("step", "outcome", "s", "limit", "rc", "what, and why"),
        [(one["name"], one["outcome"], number(one["seconds"], 1), number(one["limit_seconds"], 0),
          one["returncode"], "; ".join(filter(None, (one["about"], short(one), one["reason"]))))
         for one in results],
    )  # fmt: skip
    yield from table(
        "Proofs", ("step", "proof", "outcome", "checks: worst error of its gate"),
        [(name, row["name"], row["outcome"], errors(row)) for name, row in of(results, "proofs")],
    )  # fmt: skip
    yield from table(
        "Cases", ("step", "case", "outcome", "throughput", "GiB peak / warm-up / held", "MFU",
                  "TFLOP/s burst / sustained / sheet", "wait us", "J/sample", "SM MHz",
                  "slowed by", "disturbances"),
        [(name, *case(row)) for name, row in of(results, "cases")],
    )  # fmt: skip
    yield from table(
        "Ratios", ("step", "pair", "ratio", "95 % interval", "verdict"),
        [(name, row["name"], number(row["ratio"], 4), ends(row, 4),
          row["verdict"] or row.get("reason"))
         for kind in ("comparisons", "calibrations") for name, row in of(results, kind)],
    )  # fmt: skip
    yield from table(
        "Searches", ("step", "what", "chosen", "tied", "tried"),
        [(name, f"{row['label']} {row['what']}", row["chosen"], ", ".join(row["tied"]),
          "; ".join(f"{one['value']}: {one['outcome']}" for one in row["tried"]))
         for name, row in of(results, "searches")],
    )  # fmt: skip
    yield from table(
        "Kernels", ("step", "of", "calls", "the longest by the profiler's clock", "why none"),
        [(name, row["name"], ", ".join(f"{n} x {kind}" for kind, n in row["calls"].items()),
          "; ".join(row["longest"]), row["reason"]) for name, row in of(results, "kernels")],
    )  # fmt: skip
    yield from table(
        "What doctor says", ("check", "status", "found"),
        [(row["name"], row["status"], row["found"]) for _, row in of(results, "checks")],
    )  # fmt: skip
    yield from table(
        "Probes", ("step", "figure", "value"),
        [(one["name"], key, value) for one in results
         for key, value in flat(one["figures"].get("probe", {})) if value != []],
    )  # fmt: skip
    yield from ("", "## Commands", "", WHERE, "", "```text")
    yield from (f"{one['name']}: {one['command']}" for one in results if one["command"])
    yield "```"


def short(result: Row) -> str:
    """The result's main figures, if they are few."""
    figures = result["figures"]
    rates = [f"{row['value']:,.1f} {row['unit']}" for row in figures.get("cases", [])
             if row["value"] is not None]  # fmt: skip
    ratios = [f"ratio {row['ratio']:.4f} {ends(row, 4)}".strip()
              for kind in ("comparisons", "calibrations") for row in figures.get(kind, [])
              if row["ratio"] is not None]  # fmt: skip
    found = rates + ratios
    return ", ".join(found) if len(found) <= FEW else ""


def machine(document: Row) -> Iterator[str]:
    found, versions = document["machine"], document["versions"]
    gpus = [", ".join(f"{name} {value}" for name, value in gpu.items())
            for gpu in found.get("gpus", [])]  # fmt: skip
    facts = [
        ("system", found.get("os")), ("processor", found.get("cpu")),
        ("cores", found.get("usable_cores")), ("memory, GiB", gib(found.get("memory_bytes"))),
        *(("GPU", gpu) for gpu in gpus), ("Python", found.get("python")),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]  # fmt: skip
    return table("Machine", ("what", "found"), facts)


def of(results: Sequence[Row], kind: str) -> Iterator[tuple[str, Row]]:
    for one in results:
        for row in one["figures"].get(kind, []):
            yield one["name"], row


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The lines of a table; none if there is no row."""
    if not rows:
        return
    yield from ("", f"## {title}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|")
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |"


def cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def errors(row: Row) -> str:
    if not row["checks"]:
        return str(row["reason"])
    made = [one for one in row["checks"] if one["error"] is not None]
    return ", ".join(f"{one['check']} {one['error']:.1e} of {one['gate']:.0e}" for one in made)


def case(row: Row) -> tuple[Any, ...]:
    slowed = row["slowed_by"] or {}
    memory = ("peak_memory_bytes", "warmup_peak_memory_bytes", "device_memory_bytes")
    ceilings = (
        "peak_flops_per_second",
        "sustained_flops_per_second",
        "data_sheet_flops_per_second",
    )
    wait = row["synchronize_seconds"]
    return (
        row["name"],
        row["outcome"] if row["outcome"] == "ok" else f"{row['outcome']}: {row['reason']}",
        f"{number(row['value'], 1)} {row['unit'] or ''} {ends(row, 1)}".strip(),
        " / ".join(gib(row[name]) or "-" for name in memory),
        number(row["mfu"], 3),
        " / ".join(number(row[name] and row[name] / 1e12, 1) or "-" for name in ceilings),
        number(wait and wait * 1e6, 1),
        number(row["joules_per_sample"], 4),
        span(row["sm_mhz"]),
        ", ".join(f"{reason} {100 * share:.0f} %" for reason, share in slowed.items()),
        "; ".join(row["disturbances"]),
    )


def ends(row: Row, digits: int) -> str:
    if row["low"] is None:
        return ""
    return f"({number(row['low'], digits)} .. {number(row['high'], digits)})"


def number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def gib(value: float | None) -> str:
    return "" if value is None else f"{value / 2**30:,.2f}"


def span(found: Row | None) -> str:
    if not found:
        return ""
    return f"{found['median']:.0f} ({found['lowest']:.0f} .. {found['highest']:.0f})"


def flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested JSON, by the path to them; lists of plain values are leaves."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{name} {key}".strip())
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for at, inner in enumerate(value, start=1):
            yield from flat(inner, f"{name} {at}".strip())
    else:
        yield name, f"{value:.6g}" if isinstance(value, float) else value
