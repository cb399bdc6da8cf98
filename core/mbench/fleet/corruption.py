"""Silent corruption: like machines with the same software compute the same results bit for bit.

There are no false alarms to allow for. Where most nodes agree with each other, and with themselves
in every process, a node that does not is wrong. Where mbench compared the results with the float64
reference, that decides which node is wrong, whatever the others say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.fleet.columns import setup_of
from mbench.fleet.diagnosis import Cell, finding
from mbench.fleet.nodes import in_order
from mbench.fleet.wording import short, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.fleet.columns import Setup
    from mbench.fleet.diagnosis import Finding
    from mbench.fleet.nodes import Fingerprint, Fleet, ResultName

__all__ = ["corruption"]

FEWEST = 3
"""Fewest nodes, of which two are a majority."""

Prints = dict[str, set["Fingerprint"]]
"""By node, what its processes computed."""


def corruption(fleet: Fleet) -> list[Finding]:
    """Every node whose results are wrong, and results that cannot be compared across nodes."""
    found = list(against_reference(fleet))
    proven_wrong = {name for one in found for name in one.nodes}
    odd: dict[str, dict[str, list[tuple[ResultName, str]]]] = defaultdict(dict)
    scatters: set[str] = set()
    split: dict[tuple[str, ...], list[tuple[str, ResultName]]] = defaultdict(list)
    for case, groups in sorted(by_case(fleet).items()):
        for results in groups.values():
            for result, prints in sorted(results.items()):
                if len(prints) < 2:
                    continue
                said = compare(prints)
                if said is None:
                    scatters.add(case)
                elif said.odd:
                    for node in said.odd:
                        odd[node].setdefault(case, []).append(
                            (result, difference(prints, node, said))
                        )
                elif said.sides:
                    split[tuple(sorted(prints, key=in_order))].append((case, result))
    for node, cases in odd.items():
        if node not in proven_wrong:
            found.append(different(node, cases))
    for nodes, where in split.items():
        left = [node for node in nodes if node not in proven_wrong]
        if len(left) == len(nodes):
            case, result = where[0]
            text = f"{texts_of(nodes)} differ in {case}: {result.what}"
            found.append(finding("F103", text, nodes=list(nodes)))
    for case in sorted(scatters):
        text = f"{case}: on most nodes, processes of the same node differ"
        found.append(finding("F503", text, nodes=[]))
    return found


def against_reference(fleet: Fleet) -> Iterator[Finding]:
    """Nodes whose proof of equal work failed, unless it failed on most of them: then the framework
    is the cause.
    """
    wrong: dict[str, dict[str, str]] = defaultdict(dict)
    ran: dict[str, set[str]] = defaultdict(set)
    for node in fleet.nodes:
        for run in node.runs:
            for case, computed in run.computed.items():
                ran[case].add(node.name)
                if computed.wrong:
                    wrong[case].setdefault(node.name, computed.wrong)
    for case, nodes in sorted(wrong.items()):
        if 2 * len(nodes) > len(ran[case]) and len(nodes) > 1:
            continue
        for name, why in nodes.items():
            yield finding("F101", f"{short(name)}: {case}: {why}", nodes=[name],
                          cells=[Cell(case=case, metric="results", reason=why)])  # fmt: skip


def by_case(fleet: Fleet) -> Mapping[str, Mapping[Setup, Mapping[ResultName, Prints]]]:
    """What nodes computed, by case and by the setup that must be the same. The setup includes the
    threads, since sums are split among them.
    """
    found: dict[str, dict[Setup, dict[ResultName, Prints]]] = {}
    for node in fleet.nodes:
        for run in node.runs:
            for case, computed in run.computed.items():
                if not computed.results:
                    continue
                setup = (*setup_of(run, case), ("threads", str(run.threads.get(case, 0))))
                results = found.setdefault(case, {}).setdefault(setup, {})
                for result, prints in computed.results.items():
                    results.setdefault(result, {}).setdefault(node.name, set()).update(prints)
    return found


class Said:
    """What the nodes say about one result: the right value, and which nodes differ."""

    def __init__(self, right: Fingerprint | None, odd: list[str], sides: bool) -> None:
        self.right, self.odd, self.sides = right, odd, sides


def compare(prints: Prints) -> Said | None:
    """What nodes say about a result; None unless most of them agree with themselves."""
    alone = {node: next(iter(found)) for node, found in prints.items() if len(found) == 1}
    if 2 * len(alone) <= len(prints):
        return None
    votes = Counter(alone.values())
    (right, most), *others = votes.most_common()
    odd = sorted((node for node in prints if alone.get(node) != right), key=in_order)
    if not odd:
        return Said(right, [], sides=False)
    if len(prints) < FEWEST or 2 * most <= len(prints):
        return Said(None, [], sides=bool(others) or len(alone) < len(prints))
    return Said(right, odd, sides=False)


def difference(prints: Prints, node: str, said: Said) -> str:
    """A wrong result next to the right one, in words."""
    right = said.right or ()
    wrong = sorted(one for one in prints[node] if one != right)
    at = next(
        (at for at, pair in enumerate(zip(wrong[0], right, strict=False)) if pair[0] != pair[1]), 0
    )
    where = " in some of its processes" if len(prints[node]) > 1 else ""
    return f"{wrong[0][at]!r}{where}, but {right[at]!r} on the other nodes"


def different(node: str, cases: Mapping[str, list[tuple[ResultName, str]]]) -> Finding:
    count = sum(map(len, cases.values()))
    case, ((first, said), *_) = next(iter(cases.items()))
    more = f"; the node differs in {counted(count - 1, 'other result')} too" if count > 1 else ""
    text = f"{short(node)}: {case}: {first.what} is {said}{more}"
    cells = [Cell(case=name, metric=result.what, reason=why)
             for name, found in cases.items() for result, why in found[:20]]  # fmt: skip
    return finding("F102", text, nodes=[node], cells=cells)
