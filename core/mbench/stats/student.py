"""Student's distribution; what computes it is loaded when it is first asked for, and takes half a
second of every command that would wait for it."""

from __future__ import annotations

__all__ = ["below", "noncentral_shift", "quantile"]


def below(freedom: float, value: float) -> float:
    """The share that lies below `value`."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


def quantile(freedom: float, share: float) -> float:
    """The value below which `share` lies."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def noncentral_shift(freedom: float, share: float, value: float) -> float:
    """By how much the distribution is shifted of which `share` lies below `value`."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(freedom, share, value))
