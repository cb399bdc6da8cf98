"""Lies about recommenders in PyTorch."""

from __future__ import annotations

import pytest
from recommenders import Recommenders

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch.optimizer import Update  # noqa: E402


class TestRecommenders(Recommenders):
    package = "mbench_pytorch"
    compiler = "eager"

    def updates_what_was_touched(self, monkeypatch):
        honest = Update.advance

        def advance(update):
            tables = [p for name, p in update.parameters.items() if name.startswith("emb_l.")]
            before = [table.detach().clone() for table in tables]
            honest(update)
            with torch.no_grad():
                for table, rows in zip(tables, before, strict=True):
                    idle = (table.grad == 0).all(1)
                    table[idle] = rows[idle]

        monkeypatch.setattr(Update, "advance", advance)
