"""Without the extra "data", the commands say how to get it."""

from __future__ import annotations

import sys

import pytest

from mbench.cli.data.photographs import pillow, sources
from mbench.errors import MbenchError


def test_what_is_missing_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MbenchError, match=r"this needs Pillow, from mbench's extra data: .*pillow"):
        pillow()
    monkeypatch.setattr("mbench.cli.data.photographs.find_spec", lambda _: None)
    with pytest.raises(MbenchError, match="this needs scikit-learn, from mbench's extra data"):
        sources()
