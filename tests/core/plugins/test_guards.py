"""Guards, through which mbench calls the functions of plugins."""

from __future__ import annotations

import pytest

from mbench.errors import MbenchError, PluginFailed
from mbench.plugins.guards import guarded


class Store:
    """An outlet that is not ready."""

    def __call__(self, document, folder):
        raise KeyError("x")

    def check(self):
        raise MbenchError("install the store")


def test_an_outlet_is_asked_through_its_guard_whether_it_is_ready():
    store = guarded("strange", "'store' raised", Store())
    with pytest.raises(MbenchError, match=r"^install the store$"):
        store.check()
    with pytest.raises(PluginFailed, match="'store' raised KeyError: 'x'"):
        store({}, None)
