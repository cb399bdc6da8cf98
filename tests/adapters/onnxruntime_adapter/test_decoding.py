"""Llama with caches in ONNX Runtime, and lies about both."""

from __future__ import annotations

import numpy as np
import pytest
from decoding import GraphDecoding, GraphMixtures

pytest.importorskip("mbench_onnxruntime", reason="ONNX Runtime's adapter is not installed here")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed here")

from mbench_onnxruntime.cache import Growing, Static
from mbench_onnxruntime.layers import Net
from mbench_onnxruntime.plugin import OnnxRuntime

from mbench.proofs.tolerances import TIMED


class TestDecoding(GraphDecoding):
    package = "mbench_onnxruntime"
    net = Net
    compilers = ("all", "basic")

    def interleaves(self, monkeypatch):
        def sliced(net, x, first, last, *, axis):
            bounds = (net.constant([at]) for at in (int(first > 0), 2**62, axis, 2))
            return net.add("Slice", x, *bounds, shape=(*x.shape[:-1], x.shape[-1] // 2))

        monkeypatch.setattr(Net, "sliced", sliced)

    def groups_otherwise(self, monkeypatch):
        honest = Net.attention_behind

        def attention(net, query, key, value, past):
            size, length, heads, width = query.shape
            shared = key.shape[2]
            query = net.reshaped(query, size, length, heads // shared, shared, width)
            query = net.transposed(query, 0, 1, 3, 2, 4)
            query = net.reshaped(query, size, length, heads, width)
            found, *present = honest(net, query, key, value, past)
            found = net.reshaped(found, size, length, shared, heads // shared, width)
            found = net.transposed(found, 0, 1, 3, 2, 4)
            return [net.reshaped(found, size, length, heads * width), *present]

        monkeypatch.setattr(Net, "attention_behind", attention)

    def shifts_positions(self, monkeypatch):
        honest = Growing.run

        def run(cache, tokens, positions, past):
            shifted = positions - 1 if tokens.shape[1] == 1 else positions
            return honest(cache, tokens, shifted, past)

        monkeypatch.setattr(Growing, "run", run)

    def sees_everything(self, monkeypatch):
        """Attends to one place more than there are tokens, which is empty."""
        honest = Growing.run

        def run(cache, tokens, positions, past):
            if tokens.shape[1] == 1 and past[0].shape[2] == positions[0]:
                past = [np.pad(one, ((0, 0), (0, 0), (0, 1), (0, 0))) for one in past]
            return honest(cache, tokens, positions, past)

        monkeypatch.setattr(Growing, "run", run)

    def forgets_the_prompt(self, monkeypatch):
        honest = Growing.run

        def run(cache, tokens, positions, past):
            logits, *kept = honest(cache, tokens, positions, past)
            return [logits, *(one * (tokens.shape[1] == 1) for one in kept)]

        monkeypatch.setattr(Growing, "run", run)

    def test_weights_beside_the_graph(self, monkeypatch):
        """Weights are stored beside the graph, as if they did not fit into it."""
        monkeypatch.setattr("mbench_onnxruntime.graph.MOST_INSIDE", 0)
        assert not self.failures("decode")

    # The rest is about GroupQueryAttention, which has no float64.

    def in_place(self, mode):
        gate = TIMED["fp32"]
        return self.failures(mode, compiler="all", precision="fp32", gate=gate, tier="tuned")

    @pytest.mark.parametrize("mode", ["prefill", "decode"])
    def test_a_static_cache_in_single_precision(self, mode):
        assert not self.in_place(mode)

    def test_a_static_cache_has_no_float64(self):
        support = OnnxRuntime().supports(self.case("decode", "all", tier="tuned"))
        assert "GroupQueryAttention has no float64" in support.reason

    def test_a_token_one_place_too_early_in_a_static_cache(self, monkeypatch):
        honest = Static.bound

        def bound(static, tokens, first, cache):
            return honest(static, tokens, first - (tokens.shape[1] == 1), cache)

        monkeypatch.setattr(Static, "bound", bound)
        assert "output logits off by" in self.in_place("decode")[0]

    def test_the_operator_turns_neighbours_as_pairs(self, monkeypatch):
        honest = Net.several

        def several(net, kind, inputs, shapes, **settings):
            return honest(net, kind, inputs, shapes, rotary_interleaved=1, **settings)

        monkeypatch.setattr(Net, "several", several)
        for mode in ("prefill", "decode"):
            assert "output logits off by" in self.in_place(mode)[0], mode


class TestMixtures(GraphMixtures):
    package = "mbench_onnxruntime"
    compilers = ("all",)

    def test_a_static_cache_in_single_precision(self):
        gate = TIMED["fp32"]
        assert not self.failures("decode", precision="fp32", gate=gate, tier="tuned")
