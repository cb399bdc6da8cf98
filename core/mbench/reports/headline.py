"""A whole run in one line: who is faster, in how many cases, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.contract.axes import AXES, SETTINGS, alike, hushed, name
from mbench.reports.text import number
from mbench.reports.verdicts import percent, sentence, setup
from mbench.stats import ALIKE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["against_first", "apart", "compilers", "headline", "named", "one_compiler_each",
           "shared", "subject", "told"]  # fmt: skip

Document = dict[str, Any]
Pair = tuple[str, str]

# More frameworks than these are told by whom they beat, without the cases that show nothing.
MOST_PAIRS = 3
WON = {"faster", "slower"}
WITHOUT_WINNER = {
    "alike": f"alike within {percent(ALIKE)}",
    "no difference shown": "no difference shown",
    "depends on stalls": "depends on stalls",
    "undetermined": "undetermined",
    None: "not compared",
}


def headline(document: Document) -> str:
    """Frameworks are called by their labels."""
    pairs: dict[Pair, list[Document]] = {}
    compared = against_first(document)
    for comparison in compared:
        baseline, other = (document["cases"][at]["label"] for at in comparison["cases"])
        pairs.setdefault((baseline, other), []).append(comparison)
    if len(compared) == 1:
        return str(sentence(document, compared[0]))
    if pairs:
        one_case = len(pairs) == len(compared)
        told = [of_one_case(document, pairs)] if one_case else [
            of_several(document, pair, of, brief=len(pairs) > MOST_PAIRS)
            for pair, of in pairs.items()
        ]  # fmt: skip
        manner = setup(compared)
        return ". ".join([*told, manner[:1].upper() + manner[1:]] if manner else told)
    labels = ", ".join(dict.fromkeys(case["label"] for case in document["cases"]))
    return f"{labels}, compared with nothing" if document["cases"] else "Nothing was measured"


def of_one_case(document: Document, pairs: Mapping[Pair, list[Document]]) -> str:
    """Several frameworks against the first: each winner by its factor, then the rest."""
    said: list[str] = []
    rest: dict[tuple[str | None, str], list[str]] = {}
    for (baseline, other), (comparison,) in pairs.items():
        if comparison["verdict"] in WON:
            said.append(str(sentence(document, comparison, tier=False)))
        else:
            rest.setdefault((comparison["verdict"], baseline), []).append(other)
    said += [
        f"{' and '.join(others)} against {baseline}: {WITHOUT_WINNER[verdict]}"
        for (verdict, baseline), others in rest.items()
    ]
    return "; ".join(said)


def of_several(document: Document, pair: Pair, of: list[Document], *, brief: bool) -> str:
    """Two frameworks over several cases: how often each wins, and unless `brief`, the rest."""
    said: list[str] = []
    by_verdict: dict[str | None, list[Document]] = {}
    for comparison in of:
        by_verdict.setdefault(comparison["verdict"], []).append(comparison)
    for verdict in sorted(WON & by_verdict.keys(), key=lambda won: -len(by_verdict[won])):
        winner, loser = reversed(pair) if verdict == "faster" else pair
        than = "" if said else f" than {loser}"
        won = by_verdict[verdict]
        said.append(f"{winner} is faster{than} in {share(won, of)}: {span(won)}")
    if brief and said:
        return "; ".join(said)
    rest = "; ".join(
        f"{words} in {where(document, by_verdict[verdict], of)}"
        for verdict, words in WITHOUT_WINNER.items()
        if verdict in by_verdict
    )
    if not said:
        return f"{pair[1]} against {pair[0]}: {rest}"
    return "; ".join(filter(None, [*said, rest]))


def share(some: list[Document], of: list[Document]) -> str:
    if len(some) == len(of):
        return "both" if len(of) == 2 else f"all {len(of)}"
    return f"{len(some)} of {len(of)}"


def span(won: list[Document]) -> str:
    """How many times as fast the winner is, at least and at most."""
    factors = [c["ratio"] if c["verdict"] == "faster" else 1 / c["ratio"] for c in won]
    least, most = number(min(factors), 3), number(max(factors), 3)
    return f"{least} times" if least == most else f"{least} to {most} times"


def where(document: Document, some: list[Document], of: list[Document]) -> str:
    """Two cases by what tells them from the others, more by their number."""
    if len(some) > 2 or len(some) == len(of):
        return share(some, of)
    less = shared(document)
    return " and ".join(subject(document, one, less=less) for one in some)


def case_of(document: Document, comparison: Document) -> Document:
    """The case that is held against the baseline's."""
    found: Document = document["cases"][comparison["cases"][1]]
    return found


def against_first(document: Document) -> list[Document]:
    """The comparisons that a summary tells; its table has those of all pairs."""
    return [comparison for comparison in document["comparisons"] if comparison["against_first"]]


def named(case: Document, *, less: Collection[str] = ()) -> str:
    """A case in words, marked where its model is not of its published size."""
    marked = "sizes" not in less and not case["standard"]
    return name(case, less=less) + (" (non-standard size)" if marked else "")


def apart(case: Document, shared: Collection[str], less: Collection[str]) -> str:
    """A case without the axes in `shared`; with them where only what is usual would be left."""
    silent = {*shared, *less}
    if {axis.name for axis in AXES} <= silent:
        return ""
    return named(case, less=silent) or named(case, less=less)


def shared(document: Document) -> frozenset[str]:
    """The axes in which the comparisons do not differ."""
    return alike([case_of(document, comparison) for comparison in document["comparisons"]])


def subject(document: Document, comparison: Document, *, less: Collection[str] = ()) -> str:
    """What was compared: the axes without the frameworks, and without those in `less`.

    Compilers are named where a framework was compared under several; else each has its own.
    """
    own = {"compiler", *told(document["cases"])}
    what = apart(case_of(document, comparison), less, {*own, *hushed(document["cases"])})
    if one_compiler_each(document):
        return what
    return ", ".join(filter(None, [what, compilers(document, comparison)]))


def told(cases: Collection[Document]) -> frozenset[str]:
    """The settings that differ, and that labels tell: each has one value of them."""
    labels, same = {case["label"] for case in cases}, alike(cases)
    return frozenset(
        axis.name
        for axis in AXES
        if axis.name in SETTINGS
        and axis.name not in same
        and len({(case["label"], axis.value(case)) for case in cases}) == len(labels)
    )


def one_compiler_each(document: Document) -> bool:
    used = {(case["label"], case["compiler"]) for case in document["cases"]}
    return len(used) == len({label for label, _ in used})


def compilers(document: Document, comparison: Document) -> str:
    """Of the other and of the baseline."""
    baseline, other = (document["cases"][at]["compiler"] for at in comparison["cases"])
    return str(other) if other == baseline else f"{other} against {baseline}"
