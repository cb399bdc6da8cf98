"""Lies told to mbench in the timed process: which of them `mbench compare` detects, and how.

Usage: python benchmarks/lies.py torch [tf@/path/to/python ...] [--lies memo,half] [--honest 50]

For every framework, mode and precision, one honest worker is compared with liars. Each of them does
other work where it is timed (liars/lies.py), and is the honest adapter in proofs. So proofs are
made here only for lies that also affect proofs. A line is printed for each: what mbench said,
or UNDETECTED and the ratio. With --honest, that many comparisons of honest frameworks are made
instead, over several models, modes and precisions, and each one called unequal is printed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whole_command import BRIEF, mbench, placed, sized

# isort: split
from liars.late import ALL, TOLD
from liars.lies import BOTH
from liars.table import rows
from liars.unfair import UNFAIR

from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AT_ONCE = 8
"""Liars in a comparison: all are in memory together."""
ROUNDS, ALL_ROUNDS = 8, 30
"""Rounds at first; and for a lie still undetected, as many as the default protocol makes with
blocks of that length."""
IMAGE_SIZE = 64
UNTOLD = "UNDETECTED"
FAILS = ("was stopped", "left no result")
"""How some lies are detected: the case fails. Any other failure is the liar's own bug."""
HONEST = ("squeezenet1_1", "shufflenet_v2_x0_5", "resnet18", "mnasnet0_5", "mobilenet_v2")


def compared(
    arms: Sequence[str], models: str, modes: str, precisions: str, *more: str,
    block: float = 0.05, rounds: int = ROUNDS, image_size: int = IMAGE_SIZE,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="mbench-lies-") as folder:
        document = mbench(
            "compare", *arms, *sized(models, image_size), "--mode", modes,
            "--precision", precisions, *more, "--no-verify", "--block", str(block),
            "--rounds", str(rounds), *BRIEF, "--results", folder, folder=folder,
        )  # fmt: skip
    yield from document["comparisons"]


def told(framework: str, lies: Sequence[str], *case: str, **how: Any) -> Iterator[tuple[str, str]]:
    """For each lie, what a comparison with the honest adapter says, or UNDETECTED and the ratio."""
    name, _, python = framework.partition("@")
    at = f"@{python}"
    arms = [framework, *(f"liar-{name}{at}:LIE={lie}" for lie in lies)]
    for one in compared(arms, *case, **how):
        if one["against_first"]:
            lie = one["framework"].rpartition("LIE=")[2]
            said = one["reason"].replace(at, "")
            if " is failed: " in said and not any(words in said for words in FAILS):
                raise SystemExit(f"{lie} could not be told: {said}")
            if said.startswith(f"no verdict: {name}: ") and lie not in said:
                raise SystemExit(f"the honest adapter is called a liar: {said}")
            yield lie, said if one["ratio"] is None else f"{UNTOLD}: {one['ratio']:.3f}"


def untold(said: str) -> bool:
    return said.startswith(UNTOLD)


def failing(
    framework: str, lie: str, model: str, mode: str, precision: str, image_size: int
) -> str:
    """What the proof of a liar says, or UNDETECTED."""
    name, _, python = framework.partition("@")
    at = f"@{python}"
    with tempfile.TemporaryDirectory(prefix="mbench-lies-") as folder:
        document = mbench(
            "verify", f"liar-{name}{at}", *sized(model, image_size), "--mode", mode,
            "--precision", precision, "--threads", "1", "--quiet", "--format", "json",
            folder=folder, LIE=lie,
        )  # fmt: skip
    (proof,) = document["proofs"]
    return UNTOLD if proof["outcome"] == "ok" else str(proof["reason"])


def lie_to(
    framework: str,
    names: Sequence[str],
    modes: Sequence[str],
    precisions: Sequence[str],
    *,
    image_size: int,
    all_rounds: int,
    all_block: float,
) -> Iterator[dict[str, Any]]:
    for mode, precision in itertools.product(modes, precisions):
        own = framework.partition("@")[0]
        known = [n for n in names if mode in ALL[n].modes and precision in ALL[n].precisions
                 and own in getattr(ALL[n], "frameworks", (own,))]  # fmt: skip
        case = {"framework": own, "mode": mode, "precision": precision,
                "image_size": image_size}  # fmt: skip
        for name in known:
            if ALL[name].proof_too:
                said = failing(framework, name, ALL[name].model, mode, precision, image_size)
                yield {**case, "lie": name, "told": said}
        timed = [name for name in known if not ALL[name].proof_too]
        for name in [name for name in timed if name in UNFAIR]:  # they disturb each other, too
            found = dict(told(framework, [name], ALL[name].model, mode, precision,
                              block=ALL[name].block, image_size=image_size))  # fmt: skip
            yield {**case, "lie": name, "rounds": ROUNDS, "told": found[name]}
        timed = [name for name in timed if name not in UNFAIR]
        for (model, block), ours in grouped(timed):
            for at in range(0, len(ours), AT_ONCE):
                some = ours[at : at + AT_ONCE]
                what = (model, mode, precision)
                found = dict(told(framework, some, *what, block=block, image_size=image_size))
                if left := [lie for lie in some if untold(found[lie]) and lie != "none"]:
                    longer = {"block": max(block, all_block), "rounds": all_rounds,
                              "image_size": image_size}  # fmt: skip
                    found.update(told(framework, left, *what, **longer))
                for lie, said in found.items():
                    rounds = all_rounds if lie in left else ROUNDS
                    yield {**case, "lie": lie, "rounds": rounds, "told": said}


def grouped(names: Sequence[str]) -> Iterator[tuple[tuple[str, float], list[str]]]:
    """Groups lies that show in the same model and blocks."""
    keys = {name: (ALL[name].model, ALL[name].block) for name in names}
    for key in sorted(set(keys.values())):
        yield key, [name for name in names if keys[name] == key]


def honest(
    frameworks: Sequence[str],
    count: int,
    modes: Sequence[str],
    precisions: Sequence[str],
    *,
    first_seed: int,
    image_size: int,
) -> Iterator[dict[str, Any]]:
    """What comparisons of honest frameworks say; `told` collects false alarms. Each sweep has its
    own weights and data.
    """
    made = 0
    for seed in itertools.count(first_seed):
        for models in (",".join(HONEST), "small-bert"):
            whole = (",".join(modes), ",".join(precisions))
            found = list(compared(frameworks, models, *whole, "--seed", str(seed),
                                  image_size=image_size))  # fmt: skip
            for case in itertools.product(models.split(","), modes, precisions):
                if made == count:
                    return
                made += 1
                names = ("model", "mode", "precision")
                pairs = [one for one in found if tuple(one[name] for name in names) == case]
                assert pairs, case
                yield {
                    **dict(zip(names, case, strict=True)), "seed": seed,
                    "pairs": sum(one["ratio"] is not None for one in pairs),
                    "told": [one["reason"] for one in pairs if one["equal_work"] == "not proven"],
                    "left": [one["reason"] for one in pairs
                             if one["ratio"] is None and one["equal_work"] != "not proven"],
                }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("frameworks", nargs="*", help="as mbench compare takes them")
    parser.add_argument("--lies", default=",".join(TOLD), help="by name (default: all)")
    parser.add_argument("--mode", default=",".join(BOTH))
    parser.add_argument("--precision", default="fp32,amp-bf16,bf16")
    parser.add_argument("--image-size", type=int, default=IMAGE_SIZE)
    parser.add_argument("--rounds", type=int, default=ALL_ROUNDS, help="of what passes at first")
    parser.add_argument(
        "--block",
        type=float,
        default=Adaptive().block_seconds,
        metavar="SECONDS",
        help="of what passes at first: lies about several steps that take long",
    )
    parser.add_argument("--honest", type=int, metavar="N", help="N honest comparisons instead")
    parser.add_argument("--seed", type=int, default=0, help="of the first of them")
    parser.add_argument("--output", type=Path, help="append each line to this file as JSON, too")
    parser.add_argument("--table", type=Path, metavar="FILE", help="what --output wrote, drawn up")
    arguments = parser.parse_args()
    if arguments.table:
        lines = arguments.table.read_text(encoding="utf-8").splitlines()
        print(*rows([json.loads(line) for line in lines]), sep="\n")
        return
    modes, precisions = arguments.mode.split(","), arguments.precision.split(",")
    if arguments.honest:
        found = honest(arguments.frameworks, arguments.honest, modes, precisions,
                       first_seed=arguments.seed, image_size=arguments.image_size)  # fmt: skip
    else:
        names = arguments.lies.split(",")
        found = itertools.chain.from_iterable(
            lie_to(
                placed(framework), names, modes, precisions, image_size=arguments.image_size,
                all_rounds=arguments.rounds, all_block=arguments.block,
            )
            for framework in arguments.frameworks
        )  # fmt: skip
    for one in found:
        line = dict(one)
        said = line.pop("told")
        print(" ".join(map(str, line.values())), said or "nothing false", sep=": ", flush=True)
        if arguments.output:
            with arguments.output.open("a", encoding="utf-8") as file:
                print(json.dumps(one), file=file)


if __name__ == "__main__":
    main()
