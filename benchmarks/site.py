"""What a site costs: seconds to build it, size of its first page, and time until that is usable.

Usage: python benchmarks/site.py [--runs 500] [--samples 400] [--chromium PATH] [--keep DIR]

Writes made-up runs of 40 cases on 6 machines over a year, builds their site with `mbench site` in a
fresh process, once from scratch and once with nothing changed, and opens its first page in fresh
headless browsers. Needs playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from made_up import PROCESSES, begun, block, case, process, write
from page import USABLE
from playwright.sync_api import sync_playwright

from mbench.results import events

LABELS = ("torch", "tf", "jax", "torch:compiled")
TITLES = {"torch": "PyTorch", "tf": "TensorFlow", "jax": "JAX"}
MODELS = ("resnet50", "bert-base", "gpt2-small", "vgg16", "mobilenet-v2")
HOSTS = ("lab-1", "lab-2", "cloud-a", "cloud-b", "laptop", "workstation")
SETTINGS = [(m, mode, p) for m in MODELS for mode in ("train", "inference")
            for p in ("fp32", "bf16")]  # fmt: skip
FIRST = datetime(2026, 1, 1, 9, tzinfo=timezone.utc)


def write_run(folder: Path, number: int, *, samples: int) -> None:
    """A run of four arms on one machine; some have no proof, some wide intervals."""
    draw = random.Random(number)
    model, mode, precision = SETTINGS[number // len(HOSTS) % len(SETTINGS)]
    host = HOSTS[number % len(HOSTS)]
    when = FIRST + timedelta(hours=17 * number)
    header = begun(f"{when:%Y%m%d-%H%M%S}-{number:04x}")
    header = replace(
        header, started=when.isoformat(timespec="seconds"),
        arguments=["mbench", "compare", *LABELS, "--models", model, "--mode", mode],
        system=replace(header.system, hostname=host, cpu=f"Made-up {len(host)}000, family 1"),
    )  # fmt: skip
    made: list[events.Event] = [header, events.Comparison(comparison=0, title=f"{model} {mode}")]
    rounds = samples // (PROCESSES * len(LABELS))
    noise = 0.05 if number % 7 == 0 else 0.01
    version = 10 + number // 120
    speeds = {"torch": 1.0, "tf": 1.1, "jax": 0.7 if version > 11 else 0.9, "torch:compiled": 0.6}
    for at, label in enumerate(LABELS):
        planned, framework = case(at, label, version=f"2.{version}", model=model, mode=mode,
                                  precision=precision)  # fmt: skip
        assert isinstance(planned, events.Case)
        name = label.partition(":")[0]
        made.append(replace(planned, framework=name, framework_title=TITLES[name], spec=name,
                            distribution="mbench-dl"))  # fmt: skip
        made.append(framework)
        if number % 11:
            made.append(events.EqualWork(
                case=at, proven=True, worst=1e-7, failures=[], findings=[], notes=[],
                version=f"2.{version}",
            ))  # fmt: skip
    for at, label in enumerate(LABELS):
        for of in range(PROCESSES):
            made.append(process(at, of))
            level = 1e9 * speeds[label] * draw.lognormvariate(0, noise)
            made += [
                block(at, of, one, [round(level * draw.lognormvariate(0, 0.02))])
                for one in range(rounds)
            ]
            made.append(events.Memory(case=at, process=of, peak_bytes=10**9, idle_look=10**6))
    made.append(events.ComparisonEnd(comparison=0, reason="all processes measured"))
    write(folder, made)


def seconds(*command: str) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begin


def usable(page: Path, chromium: str) -> float:
    """Milliseconds from navigation until the page answers, in a fresh browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1200, "height": 900})
        opened.goto(page.as_uri())
        found = opened.evaluate(USABLE)
        assert opened.locator("#count").text_content(), "the filters work"
        browser.close()
    return float(found)


def main() -> None:
    parser = argparse.ArgumentParser(description="a site of many runs")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--samples", type=int, default=400, help="blocks in each run")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="a folder in which runs and site are left")
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = chosen.keep or Path(passing)
        runs, site = folder / "runs", folder / "site"
        runs.mkdir(parents=True)
        for number in range(chosen.runs):
            write_run(runs, number, samples=chosen.samples)
        size = sum(path.stat().st_size for path in runs.rglob("*.jsonl")) / 2**20
        print(f"{chosen.runs} runs of {chosen.samples} blocks, {size:.0f} MiB")
        command = (sys.executable, "-m", "mbench", "site", str(runs), "--output", str(site))
        print(f"from scratch      {seconds(*command):6.1f} s")
        print(f"built again       {seconds(*command):6.1f} s")
        page = site / "index.html"
        print(f"first page        {page.stat().st_size / 1e3:6.0f} kB")
        times = [usable(page, chosen.chromium) for _ in range(chosen.repeats)]
        ends = f"({min(times):.0f} .. {max(times):.0f})"
        print(f"usable after      {statistics.median(times):6.0f} ms {ends}")


if __name__ == "__main__":
    main()
