"""Decoders with a cache in JAX, and lies about both."""

from __future__ import annotations

import pytest
from decoding import Decoding, Mixtures
from forcing import Forcing

pytest.importorskip("mbench_jax", reason="JAX's adapter is not installed here")
jax = pytest.importorskip("jax", reason="JAX is not installed here")

import jax.numpy as jnp  # noqa: E402

from mbench_jax.layers import Net  # noqa: E402
from mbench_jax.models import llama  # noqa: E402


class TestDecoding(Forcing, Decoding):
    package = "mbench_jax"
    compilers = ("jit", "eager")

    def interleaves(self, monkeypatch):
        def rotated(net, x, cosines, sines):
            one, other = x[..., ::2], x[..., 1::2]
            c, s = cosines[:, None], sines[:, None]
            turned = jnp.stack((one * c - other * s, other * c + one * s), -1)
            return turned.reshape(x.shape)

        monkeypatch.setattr(Net, "rotated", rotated)

    def groups_otherwise(self, monkeypatch):
        honest = Net.grouped_attention

        def attention(net, query, key, value, position=None):
            groups = query.shape[2] // key.shape[2]
            key, value = (jnp.tile(x, (1, 1, groups, 1)) for x in (key, value))
            return honest(net, query, key, value, position)

        monkeypatch.setattr(Net, "grouped_attention", attention)

    def weighs_first(self, monkeypatch):
        def normed(net, name, x):
            x = x * net.tensor(f"{name}.weight", x.shape[-1:])
            return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + net.config.epsilon)

        monkeypatch.setattr(Net, "rms_norm", normed)

    def rounds_norms(self, monkeypatch):
        honest = Net.rms_norm

        def normed(net, name, x):
            return honest(net, name, x.astype("float32").astype(x.dtype))

        monkeypatch.setattr(Net, "rms_norm", normed)

    def shifts_positions(self, monkeypatch):
        honest = llama.advance
        monkeypatch.setattr(
            llama, "advance", lambda net, cache, token, at: honest(net, cache, token, at - 1)
        )

    def sees_everything(self, monkeypatch):
        honest = Net.grouped_attention

        def attention(net, query, key, value, position=None):
            most = position if position is None else jnp.array(key.shape[1])
            return honest(net, query, key, value, most)

        monkeypatch.setattr(Net, "grouped_attention", attention)

    def forgets_the_prompt(self, monkeypatch):
        honest = llama.prefill

        def prefill(net, tokens):
            logits, cache = honest(net, tokens)
            return logits, jax.tree.map(jnp.zeros_like, cache)

        monkeypatch.setattr(llama, "prefill", prefill)


class TestMixtures(Mixtures):
    package = "mbench_jax"
    compilers = ("jit", "eager")

    def tensor(self, array):
        return jnp.asarray(array)

    def flipped(self, x):
        return x[:, ::-1]

    def shares(self, scores, numbers):
        return jnp.take_along_axis(jax.nn.softmax(scores), numbers, axis=1)
