"""Lies about recommenders in JAX."""

from __future__ import annotations

import pytest
from recommenders import Recommenders

pytest.importorskip("mbench_jax", reason="JAX's adapter is not installed here")
pytest.importorskip("jaxlib", reason="JAX is not installed here")

import jax.numpy as jnp

from mbench_jax.optimizer import Update


class TestRecommenders(Recommenders):
    package = "mbench_jax"
    compiler = "jit"

    def updates_what_was_touched(self, monkeypatch):
        honest = Update.__call__

        def call(update, gradients, state, parameters):
            found, state = honest(update, gradients, state, parameters)
            for name in (name for name in found if name.startswith("emb_l.")):
                idle = (gradients[name] == 0).all(1, keepdims=True)
                found[name] = jnp.where(idle, parameters[name], found[name])
            return found, state

        monkeypatch.setattr(Update, "__call__", call)
