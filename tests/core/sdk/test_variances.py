"""What the running variance of a known input tells."""

from __future__ import annotations

import pytest

from mbench.contract.adapter import Unsupported
from mbench.sdk.checks import SAMPLE, is_unbiased


def test_it_is_the_biased_or_the_unbiased_one():
    assert not is_unbiased(float(SAMPLE.var()))
    assert is_unbiased(float(SAMPLE.var(ddof=1)))
    assert is_unbiased(1.67)


@pytest.mark.parametrize("kept", [0.0, 1.0, 1.45, 5.0, float("nan")])
def test_what_is_neither_cannot_be_compared(kept):
    with pytest.raises(Unsupported, match=r"not a variance of 1\.25 or 1\.667"):
        is_unbiased(kept)
