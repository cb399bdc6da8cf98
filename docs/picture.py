"""Makes the tour's picture of the page, from a comparison.

Usage: python docs/picture.py [RUN]

Without a RUN it measures one, of about two and a half minutes: ResNet-50 in training on the CPU.
Needs playwright and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

MBENCH = [sys.executable, "-m", "mbench"]
MEASURE = ["compare", "torch", "tf"]
HERE = Path(__file__).parent
# From the top of the page to the end of its second section.
WIDTH, UNTIL = 1060, "section:nth-of-type(3)"


def take(page_file: Path, picture: Path, *, chromium: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": WIDTH, "height": 2400}, device_scale_factor=1.5
        )
        page = context.new_page()
        page.goto(page_file.as_uri())
        page.wait_for_selector(".chart svg")
        height = page.evaluate("s => document.querySelector(s).getBoundingClientRect().top", UNTIL)
        area = {"x": 0, "y": 0, "width": WIDTH, "height": height}
        page.screenshot(path=picture, clip=area)
        browser.close()


def main() -> None:
    chromium = shutil.which("chromium")
    assert chromium, "there is no chromium"
    with tempfile.TemporaryDirectory() as scratch:
        run = sys.argv[1] if len(sys.argv) > 1 else None
        results = ["--results", scratch]
        if run is None:
            subprocess.run([*MBENCH, *MEASURE, *results], check=True)
        page_file = Path(scratch, "report.html")
        command = [*MBENCH, "report", *([run] if run else []), *results, "--output", str(page_file)]
        subprocess.run(command, check=True)
        take(page_file, HERE / "report.png", chromium=chromium)


if __name__ == "__main__":
    main()
