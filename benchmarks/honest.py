"""Honest cases that mbench may not refuse: frameworks, compilers and played processors.

Usage: python benchmarks/honest.py torch@PYTHON tf@PYTHON jax@PYTHON --output honest.jsonl

Each group is a small model in a mode and a precision, on one thread or two. Its cases are the
frameworks' compilers, and older processors that libraries emulate when their variables say so. All
are compared with the first by `mbench compare`; a case is refused if its work is in doubt. With
--proofs, the models are proven on the emulated processors instead. Every case is a line of the
output file and is not repeated, so the same command continues where it was interrupted. It ends
with a table of what was refused, with the reason. Where compiling takes minutes, `--skip inductor`
leaves that for later.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from whole_command import BRIEF, mbench, placed, sized

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MODELS = ("resnet18", "small-bert", "squeezenet1_1", "small-gpt2", "mobilenet_v2",
          "shufflenet_v2_x0_5", "mnasnet0_5", "small-lstm")  # fmt: skip
PROVEN = ("squeezenet1_1", "resnet18", "shufflenet_v2_x0_5", "mobilenet_v2")
MODES, PRECISIONS, THREADS = ("train", "inference"), ("fp32", "amp-bf16", "bf16"), ("1", "2")
PLAYED = {
    "torch": (
        "", "inductor", "ATEN_CPU_CAPABILITY=default", "ATEN_CPU_CAPABILITY=avx2",
        "ONEDNN_MAX_CPU_ISA=SSE41", "ONEDNN_MAX_CPU_ISA=AVX2", "MKL_CBWR=COMPATIBLE",
        "MKL_ENABLE_INSTRUCTIONS=AVX2",
    ),
    "tf": ("", "xla", "TF_ENABLE_ONEDNN_OPTS=0", "xla:XLA_FLAGS=--xla_cpu_max_isa=AVX2"),
    "jax": ("", "XLA_FLAGS=--xla_cpu_max_isa=SSE4_2", "XLA_FLAGS=--xla_cpu_max_isa=AVX2"),
}  # fmt: skip
"""Suffixes of a framework: its compilers, and the processors that its libraries can emulate."""
AT_ONCE = 6
"""Cases in a comparison: all are in memory together."""
ROUNDS, BLOCK = 12, 0.03
UNABLE = ("unsupported",)
"""Outcomes of cases that the framework does not claim to support."""


class Group(NamedTuple):
    """What all cases of a comparison have in common."""

    model: str
    mode: str
    precision: str
    threads: str


def cases(frameworks: Sequence[str]) -> list[str]:
    """Arms: the first is compared with all others."""
    found = []
    for framework in frameworks:
        name = framework.partition("@")[0]
        found += [f"{framework}:{more}" if more else framework for more in PLAYED.get(name, ("",))]
    return found


def shown(arm: str) -> str:
    """The arm without the path of its Python."""
    name, _, rest = arm.partition("@")
    return name if not rest else name + rest[len(rest.partition(":")[0]) :]


def compared(group: Group, arms: Sequence[str], results: Path) -> Iterator[tuple[str, str]]:
    """For each arm but the first, the objection to it; empty if there is none."""
    with tempfile.TemporaryDirectory(prefix="mbench-honest-") as folder:
        document = mbench(
            "compare", *arms, *sized(group.model, 64), "--mode", group.mode, "--precision",
            group.precision, "--no-verify", "--no-mfu", "--block", str(BLOCK), "--rounds",
            str(ROUNDS), *unthreaded(BRIEF), "--threads", group.threads, "--results", str(results),
            folder=folder,
        )  # fmt: skip
    outcomes = {case["label"]: case for case in document["cases"]}
    for pair in document["comparisons"]:
        if pair["against_first"]:
            case = outcomes[pair["framework"]]
            yield pair["framework"], refused(pair, case)


def unthreaded(options: Sequence[str]) -> list[str]:
    at = options.index("--threads")
    return [*options[:at], *options[at + 2 :]]


def refused(pair: dict[str, Any], case: dict[str, Any]) -> str:
    """Why there is no verdict, if the work is in doubt."""
    if case["outcome"] != "ok":
        return f"{case['outcome']}: {case['reason']}"
    doubted = pair["equal_work"] == "not proven" or "rounding alone may" in pair["reason"]
    return pair["reason"] if doubted else ""


def proven(model: str, arm: str, threads: str, precision: str) -> str:
    """A proof's objection to an arm; empty if the proof succeeds."""
    with tempfile.TemporaryDirectory(prefix="mbench-honest-") as folder:
        document = mbench(
            "verify", arm, "--models", model, "--mode", "train", "--precision", precision,
            "--threads", threads, "--quiet", "--format", "json", "--fresh", folder=folder,
        )  # fmt: skip
    (proof,) = document["proofs"]
    return "" if proof["outcome"] == "ok" else f"{proof['outcome']}: {proof['reason']}"


def groups(arguments: argparse.Namespace) -> list[Group]:
    """All groups, always in the same random order, so that an early end covers each kind."""
    kinds = (arguments.models, arguments.mode, arguments.precision, arguments.threads)
    found = [Group(*kind) for kind in itertools.product(*(kind.split(",") for kind in kinds))]
    random.Random(0).shuffle(found)
    return found


def made(arguments: argparse.Namespace, known: set[tuple[str, ...]]) -> Iterator[dict[str, str]]:
    """Measure each case that is not known yet; yields a line for it."""
    arms = cases([placed(framework) for framework in arguments.frameworks])
    arms = [arm for arm in arms if not (arguments.skip and arguments.skip in arm)]
    if arguments.proofs:
        for group in groups(arguments):
            for arm in arms:
                if group.mode == "train" and (*group, shown(arm)) not in known:
                    said = proven(group.model, arm, group.threads, group.precision)
                    yield {**group._asdict(), "case": shown(arm), "said": said}
        return
    first, *others = arms
    for group in groups(arguments):
        left = [arm for arm in others if (*group, shown(arm)) not in known]
        for at in range(0, len(left), AT_ONCE - 1):
            some = [first, *left[at : at + AT_ONCE - 1]]
            for label, said in compared(group, some, arguments.results):
                yield {**group._asdict(), "case": shown(label), "said": said}


def table(lines: Sequence[dict[str, str]]) -> Iterator[str]:
    """Lines with the number of cases, and those that were refused."""
    able = [one for one in lines if not one["said"].startswith(UNABLE)]
    wrong = [one for one in able if one["said"]]
    yield f"{len(able)} cases, {len(wrong)} refused; {len(lines) - len(able)} not supported"
    if wrong:
        yield "\n| Model | Mode | Precision | Threads | Case | Reason |\n|---|---|---|---|---|---|"
        for one in wrong:
            yield "| " + " | ".join(one.values()) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("frameworks", nargs="+", help="as mbench compare takes them")
    parser.add_argument("--models", default="")
    parser.add_argument("--mode", default=",".join(MODES))
    parser.add_argument("--precision", default=",".join(PRECISIONS))
    parser.add_argument("--threads", default=",".join(THREADS))
    parser.add_argument("--skip", default="", help="leave out cases with this in their name")
    parser.add_argument("--proofs", action="store_true", help="prove models of the zoo instead")
    parser.add_argument("--output", type=Path, default=Path("honest.jsonl"))
    parser.add_argument("--results", type=Path, default=Path("honest-results"))
    arguments = parser.parse_args()
    arguments.models = arguments.models or ",".join(PROVEN if arguments.proofs else MODELS)
    lines = []
    if arguments.output.exists():
        text = arguments.output.read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
    known = {tuple(value for key, value in one.items() if key != "said") for one in lines}
    try:
        for one in made(arguments, known):
            lines.append(one)
            print(*one.values(), sep=" ", flush=True)
            with arguments.output.open("a", encoding="utf-8") as file:
                print(json.dumps(one), file=file)
    finally:
        print(*table(lines), sep="\n")


if __name__ == "__main__":
    main()
