"""Decoders with a cache in TensorFlow, and lies about both."""

from __future__ import annotations

import pytest
from decoding import Decoding, Mixtures

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

from mbench_tensorflow import decoder  # noqa: E402
from mbench_tensorflow.models import llama  # noqa: E402


class TestDecoding(Decoding):
    package = "mbench_tensorflow"
    compilers = ("graph", "xla", "eager")

    def interleaves(self, monkeypatch):
        def rotated(x, turns):
            one, other = x[..., ::2], x[..., 1::2]
            c, s = turns
            turned = tf.stack((one * c - other * s, other * c + one * s), -1)
            return tf.reshape(turned, x.shape)

        monkeypatch.setattr(decoder, "rotated", rotated)

    def groups_otherwise(self, monkeypatch):
        honest = decoder.Attention.split

        def split(attention, x):
            """Splits `x` into heads, those of queries in the order of the other grouping."""
            x = honest(attention, x)
            if x.shape[2] == attention.config.key_value_heads:
                return x
            size, length, heads, width = x.shape
            groups = heads // attention.config.key_value_heads
            return tf.reshape(
                tf.transpose(tf.reshape(x, (size, length, groups, -1, width)), (0, 1, 3, 2, 4)),
                x.shape,
            )

        monkeypatch.setattr(decoder.Attention, "split", split)

    def weighs_first(self, monkeypatch):
        def normed(norm, x):
            x *= norm.scale
            mean = tf.reduce_mean(tf.square(x), -1, keepdims=True)
            return x * tf.math.rsqrt(mean + norm.epsilon)

        monkeypatch.setattr(decoder.keras.layers.RMSNormalization, "call", normed)

    def shifts_positions(self, monkeypatch):
        honest = llama.advance
        monkeypatch.setattr(
            llama, "advance", lambda model, cache, token, at: honest(model, cache, token, at - 1)
        )

    def sees_everything(self, monkeypatch):
        honest = decoder.tf.where
        monkeypatch.setattr(
            decoder.tf,
            "where",
            lambda seen, x, y: x if seen.shape.rank == 1 else honest(seen, x, y),
        )

    def forgets_the_prompt(self, monkeypatch):
        honest = llama.prefill

        def prefill(model, cache, tokens):
            logits = honest(model, cache, tokens)
            for rows in (rows for layer in cache for rows in layer):
                rows.assign(tf.zeros_like(rows))
            return logits

        monkeypatch.setattr(llama, "prefill", prefill)


class TestMixtures(Mixtures):
    package = "mbench_tensorflow"
    compilers = ("graph", "eager")

    def tensor(self, array):
        return tf.constant(array)

    def flipped(self, x):
        return x[:, ::-1]

    def shares(self, scores, numbers):
        return tf.gather(tf.nn.softmax(scores), numbers, batch_dims=1)
