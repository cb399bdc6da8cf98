"""Files as SuperBench has them, written for tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mbench.fleet.superbench.baseline import read_baseline
from mbench.fleet.superbench.diagnose import diagnose
from mbench.fleet.superbench.results import read_results
from mbench.fleet.superbench.rules import read_rules

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "version: v0.12\nsuperbench:\n  rules:\n"


class Files:
    """Writes files into a folder, and diagnoses them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rules(self, text: str, *, head: str = HEAD) -> Path:
        """Write a file of rules: `head`, then `text` with four more spaces before each line."""
        path = self.folder / "rules.yaml"
        lines = [f"    {line}" if line.strip() else line for line in text.strip("\n").splitlines()]
        path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
        return path

    def results(self, nodes: dict, *, name: str = "results-summary.jsonl") -> Path:
        """Write a line for each node, with its metrics; a string is written as it is."""
        path = self.folder / name
        lines = [
            values if isinstance(values, str) else json.dumps({"node": node, **values})
            for node, values in nodes.items()
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def baseline(self, values: object) -> Path:
        path = self.folder / "baseline.json"
        path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
        return path

    def diagnose(self, rules: str, nodes: dict, baseline: object = None):
        base = None if baseline is None else read_baseline(self.baseline(baseline))
        return diagnose(read_results(self.results(nodes)), read_rules(self.rules(rules)), base)


def verdicts(found) -> dict[str, str]:
    return {node.name: node.verdict for node in found.nodes}


def codes(found) -> list[str]:
    return [remark.code for remark in found.remarks]
