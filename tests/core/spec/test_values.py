"""What users may type for a time, a share and the modes."""

from __future__ import annotations

import re

import pytest

from mbench.spec import values
from mbench.spec.options import OPTIONS


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("90", 90), ("0.5", 0.5), (7, 7), ("1e3", 1000), ("90s", 90), ("90 s", 90), ("5m", 300),
        ("2min", 120), ("2 minutes", 120), ("1h", 3600), ("1.5h", 5400), ("1h30m", 5400),
        ("2H", 7200),
    ],
)  # fmt: skip
def test_times(typed, seconds):
    assert values.seconds(typed) == seconds


@pytest.mark.parametrize("typed", ["", "m", "5x", "5m x", "-5m", "0m", "5mm", "nan", True, None])
def test_what_is_no_time(typed):
    with pytest.raises(ValueError, match="is not a time above 0 like 90, 90s, 5m or 1h"):
        values.seconds(typed)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("2", "2%"), ("0.02", "2% (0.02% is hardly reachable)"), ("0.5", "50% or 0.5%")],
)
def test_a_share_without_its_sign_is_answered_with_what_is_meant(typed, meant):
    with pytest.raises(ValueError, match=re.escape(f"'{typed}' has no unit: write {meant}") + "$"):
        values.share(typed)


def test_both_modes():
    assert OPTIONS["mode"].read("both") == ("train", "inference")
    assert OPTIONS["mode"].read(["inference", "both", "forward"]) == (
        "inference", "train", "forward",
    )  # fmt: skip
