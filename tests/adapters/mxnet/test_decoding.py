"""Llama with a cache in MXNet, and lies about both."""

from __future__ import annotations

import pytest
from decoding import Decoding

mxnet = pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mbench_mxnet.models import llama  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")


class TestDecoding(Decoding):
    package = "mbench_mxnet"
    compilers = ("hybrid", "eager", "onednn")

    def interleaves(self, monkeypatch):
        def rotated(F, x, cosines, sines):  # noqa: N803 (Gluon's name for it)
            pairs = F.split(x.reshape((0, 0, 0, -4, -1, 2)), num_outputs=2, axis=4)
            one, other = (part.reshape((0, 0, 0, -3)) for part in pairs)
            turned = F.stack(
                F.broadcast_mul(one, cosines) - F.broadcast_mul(other, sines),
                F.broadcast_mul(other, cosines) + F.broadcast_mul(one, sines),
                axis=4,
            )
            return turned.reshape((0, 0, 0, -3))

        monkeypatch.setattr(llama, "rotated", rotated)

    def groups_otherwise(self, monkeypatch):
        honest = llama.Attention.split

        def split(attention, x, heads):
            """Splits `x` into heads, those of queries in the order of the other grouping."""
            x = honest(attention, x, heads)
            if heads == attention._shared:
                return x
            x = x.reshape((0, 0, -4, -1, attention._shared, 0))
            return x.swapaxes(2, 3).reshape((0, 0, -3, 0))

        monkeypatch.setattr(llama.Attention, "split", split)

    def weighs_first(self, monkeypatch):
        def normed(norm, F, x, weight):  # noqa: N803
            x = F.broadcast_mul(x, weight)
            mean = F.mean(F.square(x), axis=-1, keepdims=True)
            return F.broadcast_mul(x, F.rsqrt(mean + norm._epsilon))

        monkeypatch.setattr(llama.RMSNorm, "hybrid_forward", normed)

    def shifts_positions(self, monkeypatch):
        honest = llama.advance

        def advance(writer, cache, token, place):
            at, position = place
            return honest(writer, cache, token, (at - 1, position - 1))

        monkeypatch.setattr(llama, "advance", advance)

    def sees_everything(self, monkeypatch):
        honest = llama.attention_by

        def attention(F, query, key, value, position, keys, values):  # noqa: N803
            return honest(F, query, key, value, position * 0 + 32, keys, values)

        monkeypatch.setattr(llama, "attention_by", attention)

    def forgets_the_prompt(self, monkeypatch):
        honest = llama.prefill

        def prefill(reader, cache, tokens):
            logits = honest(reader, cache, tokens)
            for rows in cache:
                rows[:] = 0
            return logits

        monkeypatch.setattr(llama, "prefill", prefill)
