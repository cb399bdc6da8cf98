"""How often `mbench compare` says of one framework, given twice, that it is faster than itself.

Usage: python benchmarks/identical.py --output FILE [--framework torch] [--comparisons 40]

Each comparison is the command itself with its default protocol, on a small ResNet-50, with its own
results folder: comparisons are independent. A verdict of "faster" or "slower" is false. Their
number is printed with the 95 % upper bound of their rate (Clopper and Pearson). Each comparison is
a line of FILE, and those already there are not repeated, so this can be interrupted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from verdicts import highest_rate

FALSE = ("faster", "slower")


def compared(framework: str, extra: list[str]) -> dict[str, Any]:
    """The comparison of a framework with itself."""
    with tempfile.TemporaryDirectory(prefix="mbench-") as folder:
        report = Path(folder, "report.json")
        command = [
            sys.executable, "-m", "mbench", "compare", framework, framework, *extra,
            "--no-mfu", "--results", folder, "--quiet", "--format", "json", "--output", str(report),
        ]  # fmt: skip
        subprocess.run(command, check=True)
        (found,) = json.loads(report.read_text(encoding="utf-8"))["comparisons"]
    one: dict[str, Any] = found
    return one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--mode", default="train")
    parser.add_argument("--batch-size", default="4")
    parser.add_argument("--image-size", default="64")
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args()
    case = ["--models", arguments.model, "--mode", arguments.mode,
            "--batch-size", arguments.batch_size, "--image-size", arguments.image_size]  # fmt: skip
    arguments.output.touch()
    lines = arguments.output.read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    while len(found) < arguments.comparisons:
        one = compared(arguments.framework, case)
        found.append(one)
        with arguments.output.open("a", encoding="utf-8") as file:
            print(json.dumps(one), file=file)
        print(f"{len(found)}: {one['ratio']:.4f} ({one['low']:.4f} .. {one['high']:.4f}), "
              f"{one['verdict']}", flush=True)  # fmt: skip
    wrong = sum(one["verdict"] in FALSE for one in found)
    width = median((one["high"] - one["low"]) / 2 / one["ratio"] for one in found)
    disturbed = sum(bool(one["disturbances"]) for one in found)
    print(f"{wrong} of {len(found)} verdicts false: a rate of up to "
          f"{100 * highest_rate(wrong, len(found)):.1f} %, with 95 %; median half-width "
          f"{100 * width:.1f} %; {disturbed} disturbed")  # fmt: skip


if __name__ == "__main__":
    main()
