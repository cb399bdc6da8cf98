"""Decoders with a cache in PaddlePaddle, and lies about both."""

from __future__ import annotations

import pytest
from decoding import Decoding, Mixtures

paddle = pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from paddle.jit.sot.opcode_translator.executor.executor_cache import (  # noqa: E402
    OpcodeExecutorCache,
)

from mbench_paddle import decoder  # noqa: E402
from mbench_paddle.models import llama  # noqa: E402

# PaddlePaddle's own attention warns so under to_static.
pytestmark = pytest.mark.filterwarnings("ignore:Tensor do not have:UserWarning")


class TestDecoding(Decoding):
    package = "mbench_paddle"
    compilers = ("eager", "static")

    def test_decode_under_the_other_compilers(self):
        """Prefill and decode are translated once: if a guard never held, to_static would translate
        in each step, and give up after 40 s.
        """
        super().test_decode_under_the_other_compilers()
        assert OpcodeExecutorCache().translate_count == 2

    def interleaves(self, monkeypatch):
        def rotated(x, turns):
            one, other = x[..., ::2], x[..., 1::2]
            c, s = turns
            turned = paddle.stack([one * c - other * s, other * c + one * s], -1)
            return turned.reshape(x.shape)

        monkeypatch.setattr(decoder, "rotated", rotated)

    def groups_otherwise(self, monkeypatch):
        honest = decoder.Attention.split

        def split(attention, x):
            """Splits `x` into heads, those of queries in the order of the other grouping."""
            x = honest(attention, x)
            shared = attention.k_proj.weight.shape[1] // attention.width
            if x.shape[2] == shared:
                return x
            size, length, _, width = x.shape
            groups = x.reshape([size, length, -1, shared, width])
            return groups.transpose([0, 1, 3, 2, 4]).reshape(x.shape)

        monkeypatch.setattr(decoder.Attention, "split", split)

    def weighs_first(self, monkeypatch):
        def normed(norm, x):
            x = x * norm.weight
            return x * paddle.rsqrt(x.square().mean(-1, keepdim=True) + norm.epsilon)

        monkeypatch.setattr(decoder.RMSNorm, "forward", normed)

    def shifts_positions(self, monkeypatch):
        honest = llama.advance

        def advance(take, cache, token, place):
            at, position = place
            return honest(take, cache, token, (at - 1, position - 1))

        monkeypatch.setattr(llama, "advance", advance)

    def sees_everything(self, monkeypatch):
        honest = decoder.attention_by

        def attention(query, key, value, position, keys, values):
            return honest(query, key, value, position * 0 + 32, keys, values)

        monkeypatch.setattr(decoder, "attention_by", attention)

    def forgets_the_prompt(self, monkeypatch):
        honest = llama.prefill

        def prefill(read, cache, tokens):
            logits = honest(read, cache, tokens)
            for rows in cache:
                rows.zero_()
            return logits

        monkeypatch.setattr(llama, "prefill", prefill)


class TestMixtures(Mixtures):
    package = "mbench_paddle"
    compilers = ("eager", "static")

    def tensor(self, array):
        return paddle.to_tensor(array)

    def flipped(self, x):
        return x.flip(-1)

    def shares(self, scores, numbers):
        return paddle.take_along_axis(paddle.nn.functional.softmax(scores), numbers, axis=1)
