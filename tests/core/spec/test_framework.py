"""How users name a framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from mbench.errors import UsageError
from mbench.spec.arm import FrameworkSpec, parse


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("toy", FrameworkSpec(text="toy", name="toy")),
        (
            "toy==2.12.0+cpu",
            FrameworkSpec(text="toy==2.12.0+cpu", name="toy", version="2.12.0+cpu"),
        ),
        (
            "toy@/a/python",
            FrameworkSpec(text="toy@/a/python", name="toy", python=Path("/a/python")),
        ),
        (
            "toy@/a@b==1/python",
            FrameworkSpec(text="toy@/a@b==1/python", name="toy", python=Path("/a@b==1/python")),
        ),
    ],
)
def test_parse(text: str, spec: FrameworkSpec) -> None:
    assert parse(text) == spec


def test_a_relative_python_is_made_absolute_but_links_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python").symlink_to("/elsewhere")
    monkeypatch.chdir(tmp_path)
    assert parse("toy@./python").python == tmp_path / "python"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "toy==",
        "toy=1.0",
        "toy==1.0==2",
        "toy==latest",
        "toy==1.*",
        "toy>=1",
        "toy@",
        "@/a",
        "==1",
        "to y",
        "../toy",
        "-toy",
        "toy==1.0@/a/python",
    ],
)
def test_malformed_text_says_how_to_write_it(text: str) -> None:
    with pytest.raises(UsageError, match="write NAME, NAME==VERSION or NAME@/path/to/python"):
        parse(text)
