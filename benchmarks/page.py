"""What the HTML page costs: size, time to build, and time until it can be used in Chromium.

Usage: python benchmarks/page.py [--cases 200] [--samples 20000] [--chromium PATH]

Needs playwright and a Chromium. Writes a made-up run, builds its page with `mbench report` in fresh
processes, opens it in fresh headless browsers, and prints the medians and ranges. "Usable" means
that all scripts and the visible charts are done and the browser responds to input again.
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
from pathlib import Path

from made_up import PROCESSES, begun, block, case, process, write
from playwright.sync_api import sync_playwright

from mbench.results import events

LABELS = ("one", "two", "three", "four")
# Two frames after loading, all pending drawing is done and input is handled.
USABLE = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
  () => setTimeout(() => done(performance.now())))))"""


def write_run(folder: Path, *, cases: int, samples: int) -> Path:
    """A run of `cases` cases in comparisons of four, over batch sizes, modes and precisions."""
    draw = random.Random(0)
    rounds = samples // cases // PROCESSES
    settings = [
        (f"model-{model}", mode, batch, precision)
        for model in range(100)
        for mode in ("train", "inference")
        for precision in ("fp32", "bf16")
        for batch in (1, 2, 4, 8, 16)
    ]
    made: list[events.Event] = [begun("made-up")]
    for number in range(cases):
        comparison, which = divmod(number, len(LABELS))
        model, mode, batch, precision = settings[comparison]
        if which == 0:
            made.append(events.Comparison(comparison=comparison, title=""))
        made += case(
            number, LABELS[which], comparison=comparison, model=model, mode=mode, batch_size=batch,
            precision=precision,
        )  # fmt: skip
        for of in range(PROCESSES):
            made.append(process(number, of))
            for round_number in range(rounds):
                nanoseconds = round(1e9 * draw.lognormvariate(0.1 * which, 0.02))
                made.append(block(number, of, round_number, [nanoseconds]))
            made.append(events.Memory(case=number, process=of, peak_bytes=10**9, idle_look=10**6))
    return write(folder, made)


def opened(path: Path, chromium: str) -> float:
    """Milliseconds from navigation until the page is usable, in a fresh browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(path.as_uri())
        usable = page.evaluate(USABLE)
        assert page.query_selector(".chart svg") is not None
        browser.close()
    return float(usable)


def said(name: str, values: list[float], unit: str) -> None:
    ends = f"{min(values):.2f} .. {max(values):.2f}"
    print(f"{name:22} {statistics.median(values):7.2f} {unit} ({ends})")


def main() -> None:
    parser = argparse.ArgumentParser(description="the HTML page")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = write_run(Path(folder), cases=chosen.cases, samples=chosen.samples)
        output = Path(folder, "report.html")
        command = [sys.executable, "-m", "mbench", "report", str(run), "--output", str(output)]
        builds = []
        for _ in range(chosen.repeats):
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            builds.append(time.perf_counter() - begin)
        print(f"{chosen.cases} cases, {chosen.samples} samples")
        said("size", [output.stat().st_size / 2**20], "MiB")
        said("mbench report", builds, "s")
        loads = [opened(output, chosen.chromium) / 1e3 for _ in range(chosen.repeats)]
        said("usable in Chromium", loads, "s")


if __name__ == "__main__":
    main()
