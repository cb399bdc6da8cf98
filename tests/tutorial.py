"""The adapter that docs/writing-an-adapter.md builds in stages, read from that page.

After its last stage it equals the template of `mbench new adapter`.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "writing-an-adapter.md"
TEMPLATE = Path(__file__).parents[1] / "templates" / "mbench_templates" / "adapter"
STAGE = re.compile(r"^## (\d)\. .*?(?=^## )", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"<!-- (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)

STAGES = {int(m[1]): m[0] for m in STAGE.finditer(PAGE.read_text(encoding="utf-8"))}
"""The text of each stage by its number."""


def files(stage: int) -> dict[str, str]:
    """The text of each file that a stage writes, by path."""
    return dict(FILE.findall(STAGES[stage]))


def write(folder: Path, *, until: int) -> None:
    """Write the package to `folder` as it is after stage `until`."""
    for stage in range(1, until + 1):
        for name, text in files(stage).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
