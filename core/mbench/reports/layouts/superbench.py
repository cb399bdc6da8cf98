"""SuperBench's metrics: a line of results-summary.jsonl, or a baseline.

Names: model-benchmarks/<framework>-<model>/<precision>_<train|inference>_<step_time|throughput>,
with the suffixes _50, _90, _95, _99, _99.9 for inference, and return_code beside them. Cases that
would share a name are told apart by SuperBench's own annotation, model-benchmarks:<words>/.
"""

from __future__ import annotations

import json
from typing import Any

from mbench.contract.axes import AXES, alike, key
from mbench.reports.grid import Grid, write
from mbench.reports.layouts.select import Case, devices, throughput
from mbench.stats import PERCENTILES

__all__ = ["metrics", "render"]

OK, EXCEPTION, TIMEOUT = 0, 4, 124


def render(document: dict[str, Any], /, *, format_: str) -> str:
    """jsonl: the summary of this node; json: a baseline; else the metrics as a table."""
    found = metrics(document)
    if format_ == "jsonl":
        node = document["system"].get("hostname") or document["run"]
        return json.dumps({**found, "node": node}, allow_nan=False) + "\n"
    if format_ == "json":
        return json.dumps(found, indent=2, allow_nan=False) + "\n"
    rows: list[list[Any]] = [[name, value] for name, value in found.items()]
    return write([Grid("SuperBench metrics", ("metric", "value"), rows)], format_=format_)


def metrics(document: dict[str, Any]) -> dict[str, float | int]:
    """Every metric by its full name. Step times are in ms, throughput in samples/s."""
    cases = document["cases"]
    stems = [(f"{case['framework_title'].lower()}-{case['model']}", series(case)) for case in cases]
    found: dict[str, float | int] = {}
    for case, stem in zip(cases, stems, strict=True):
        rivals = [other for other, its in zip(cases, stems, strict=True) if its == stem]
        words = annotation(case, rivals)
        group = f"model-benchmarks:{words}" if words else "model-benchmarks"
        prefix = f"{group}/{stem[0]}"
        code = f"{prefix}/return_code"
        found[code] = max(found.get(code, OK), return_code(case))
        found |= {f"{prefix}/{stem[1]}_{name}": value for name, value in values(case).items()}
    return found


def series(case: Case) -> str:
    return f"{case['precision']}_{case['mode']}"


def annotation(case: Case, rivals: list[Case]) -> str:
    """What tells a case from those of the same name; empty where it stands alone."""
    words = []
    if any(other["label"] != case["label"] for other in rivals):
        words.append(case["label"])
    if any(devices(other) != devices(case) for other in rivals):
        words.append(f"devices-{devices(case)}")
    same = alike(rivals)
    for axis in AXES:
        told = axis.name in same or axis.name == "variables"  # which a label says
        if not told and axis.value(case) is not None:
            words.append(f"{axis.name.replace('_', '-')}-{axis.value(case)}")
    at = next(number for number, other in enumerate(rivals) if other is case)
    twins = [o for o in rivals if o["label"] == case["label"] and key(o) == key(case)]
    if len(twins) > 1:  # the default compiler, and the same one by its name
        words.append(str(at + 1))
    return "-".join(words).translate({ord("/"): "-", ord(":"): "-"})


def return_code(case: Case) -> int:
    if case["outcome"] == "ok":
        return OK
    return TIMEOUT if case["outcome"] == "timeout" else EXCEPTION


def values(case: Case) -> dict[str, float]:
    """Step time and throughput; in inference their percentiles too.

    The throughput of a percentile is that of its step time, so it falls as the rank rises.
    """
    rate = throughput(case)
    if rate is None:
        return {}
    times = case["step_time_ms"]
    found = {"step_time": times["mean"], "throughput": rate}
    if case["mode"] == "inference":
        samples = case["batch_size"] * devices(case)
        for rank in PERCENTILES:
            milliseconds = times[f"p{rank:g}"]
            if milliseconds is not None:
                found[f"step_time_{rank:g}"] = milliseconds
                found[f"throughput_{rank:g}"] = samples * 1e3 / milliseconds
    return found
