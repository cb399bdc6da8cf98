"""Additional work planted in one stage: whether `mbench explain` finds it there, and only there.

Usage: python benchmarks/planted.py [torch@/path/to/python tf@/path/to/python] [--plants 0,5]
       python benchmarks/planted.py torch@/path/to/python --identical 10

Each framework is compared with a copy of itself that does more in one stage of ResNet-18:
elementwise work, a copy, a layout change back and forth, a synchronisation, a sleep of the host. A
row is printed for each: whether that stage's interval excludes 0, whether another part's does, and
how long the command took. With --identical, that many comparisons of a framework with itself are
made instead; it counts the tables in which any part excludes 0.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import TYPE_CHECKING, Any

from whole_command import mbench, placed

# isort: split
from mbench.spec.arm import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLANTS = (
    ("torch", "atan-3-40"), ("torch", "copy-1-300"), ("torch", "layout-2-40"),
    ("torch", "sync-4-200"), ("torch", "sleep-3-4"),
    ("tf", "atan-3-240"), ("tf", "copy-2-600"), ("tf", "layout-1-400"),
    ("tf", "sync-4-200"), ("tf", "sleep-1-4"),
)  # fmt: skip
"""Each takes about a third of the step of ResNet-18 at 96 pixels, on one core."""
LEVELS = ("stages", "kinds", "operators")
"""Tables of an explanation by their names in JSON, with their separate rows."""
ALONE = {"stages": ("rest",), "kinds": ("empty", "residual"), "operators": ()}


def explained(arms: Sequence[str], more: Sequence[str]) -> tuple[dict[str, Any], float]:
    """The document of one comparison, and the seconds that the command took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mbench-planted-") as folder:
        document = mbench(
            "explain", *arms, "--no-kernels", *more, "--format", "json", "--results", folder,
            folder=folder, plugins="plants",
        )  # fmt: skip
    if not any("difference_ms" in one for one in document["differences"]):
        reasons = {case["reason"] for case in document["cases"] if case["reason"]}
        raise SystemExit(f"no answer: {'; '.join(reasons) or 'fewer than three sets'}")
    return document, time.monotonic() - begin


def plant(framework: str, planted: str, more: Sequence[str]) -> dict[str, Any]:
    """One row."""
    name, at, python = framework.partition("@")
    document, seconds = explained([framework, f"planted-{name}{at}{python}:PLANT={planted}"], more)
    (found,) = document["differences"]
    stage = f"layer{planted.split('-')[1]}"
    rows = {row["stage"]: row["difference_ms"] for row in found["stages"]}
    rest = {"rest": found["rest"]["difference_ms"]} if found["rest"] else {}
    own = rows.get(stage)
    return {
        "framework": name,
        "planted": planted,
        "the step, ms": said(found["difference_ms"]),
        "its stage, ms": said(own) if own else "not additive",
        "found": "yes" if own and own["shown"] and own["value"] > 0 else "no",
        "elsewhere": ", ".join(
            f"{part} {said(one)}"
            for part, one in {**rows, **rest}.items()
            if part != stage and one["shown"]
        ) or "nowhere",
        "not attributed, ms": said(found["unattributed_ms"]) if found["unattributed_ms"] else "-",
        "sets": found["sets"],
        "minutes": f"{seconds / 60:.1f}",
    }  # fmt: skip


def said(one: dict[str, Any]) -> str:
    return f"{one['value']:.2f} ({one['low']:.2f} .. {one['high']:.2f})"


def identical(framework: str, more: Sequence[str]) -> dict[str, Any]:
    """One row: for each table, the parts that exclude 0, and how far the sums are off."""
    document, seconds = explained([framework, framework], more)
    (found,) = document["differences"]
    row: dict[str, Any] = {"framework": framework.partition("@")[0]}
    for level in LEVELS:
        alone = [found[name] for name in ALONE[level] if found[name]]
        shown = [
            one.get(level.rstrip("s"), "rest")
            for one in (*found[level], *alone)
            if one["difference_ms"]["shown"]
        ]
        row[level] = ", ".join(shown) or "none"
    for level, step in (("stages", "stage_step"), ("kinds", "operator_step")):
        alone = [found[name] for name in ALONE[level]]
        if found[step] and all(alone):
            total = sum(one["difference_ms"]["value"] for one in (*found[level], *alone))
            row[f"sum of {level} off by, ms"] = (
                f"{total - found[step]['difference_ms']['value']:.1e}"
            )
    return {**row, "sets": found["sets"], "minutes": f"{seconds / 60:.1f}"}


def table(rows: Iterator[dict[str, Any]]) -> None:
    """Print the table in Markdown, each row as soon as it is known."""
    columns: list[str] = []
    for row in rows:
        if not columns:
            columns = list(row)
            print("|", " | ".join(columns), "|\n" + "|---" * len(columns) + "|")
        print("|", " | ".join(str(row.get(column, "-")) for column in columns), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("frameworks", nargs="*", default=["torch", "tf"],
                        help="torch and tf, as mbench explain takes them")  # fmt: skip
    parser.add_argument("--plants", default=",".join(map(str, range(len(PLANTS)))),
                        help="which of the ten, by number from 0 (default: all)")  # fmt: skip
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--image-size", default="96")
    parser.add_argument("--budget", default="600", help="of each, in seconds")
    parser.add_argument("--more", default="", help="further options of mbench explain")
    parser.add_argument("--identical", type=int, metavar="N", help="N comparisons with itself")
    arguments = parser.parse_args()
    more = ["--models", arguments.model, "--mode", "inference", "--budget", arguments.budget]
    more += ["--image-size", arguments.image_size, *arguments.more.split()]
    frameworks = {parse(one).name: placed(one) for one in arguments.frameworks}
    if arguments.identical:
        table(
            identical(one, more) for one in frameworks.values() for _ in range(arguments.identical)
        )
        return
    chosen = [PLANTS[int(number)] for number in arguments.plants.split(",")]
    table(plant(frameworks[name], planted, more) for name, planted in chosen if name in frameworks)


if __name__ == "__main__":
    main()
