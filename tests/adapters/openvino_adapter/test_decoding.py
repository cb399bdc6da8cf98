"""Llama with a cache in OpenVINO, and lies about both, in fp32."""

from __future__ import annotations

import pytest
from decoding import MODES, GraphDecoding, GraphMixtures

pytest.importorskip("mbench_openvino", reason="OpenVINO's adapter is not installed here")
pytest.importorskip("openvino", reason="OpenVINO is not installed here")

import openvino
from mbench_openvino.layers import Net, ops
from mbench_openvino.plugin import OpenVino
from mbench_openvino.runtime import Benchmark, Runtime

from mbench.proofs.tolerances import TIMED
from mbench.scenarios.find import prepared, resolve, work_of

in_bfloat16 = pytest.mark.skipif(
    "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"),
    reason="this processor has no bfloat16",
)


class InSinglePrecision:
    """Tests in fp32, since OpenVINO has no float64."""

    package = "mbench_openvino"
    compilers = ("latency",)

    def failures(self, mode, **changes):
        given = {"precision": "fp32", "gate": TIMED["fp32"], **changes}
        return super().failures(mode, **given)

    @pytest.mark.parametrize("mode", MODES)
    def test_each_mode_is_right_in_single_precision(self, mode):
        assert not self.failures(mode)

    test_each_mode_is_right_in_float64 = None


class TestDecoding(InSinglePrecision, GraphDecoding):
    net = Net

    test_decode_in_single_precision = None
    test_the_tables_of_another_precision = None
    """Left out: this difference is lost in rounding here."""

    @pytest.mark.parametrize("mode", ["prefill", "decode"])
    def test_memory_may_be_shared(self, mode):
        assert not self.failures(mode, tier="tuned")

    @in_bfloat16
    @pytest.mark.parametrize("precision", ["bf16", "amp-bf16"])
    def test_half_precision(self, precision):
        """Modes with states are left out: the first prompt that they take sometimes gives NaN."""
        assert not self.failures("inference", precision=precision, gate=TIMED[precision])
        support = OpenVino().supports(self.case("prefill", "latency", precision))
        assert "NaN at times in bfloat16" in support.reason

    def test_each_layer_attends_in_one_node_with_its_state(self):
        """The state has keys and values in the precision that was asked for."""
        case = self.case("decode", "latency", "fp32")
        runtime = Runtime(device="cpu", threads=2)
        benchmark = prepared(runtime, work_of(case, resolve(case))).benchmark
        benchmark.load_parameters(benchmark.workload.parameters(seed=0))
        kinds = [
            node.get_rt_info()["layerType"].astype(str)
            for node in benchmark.compiled.get_runtime_model().get_ops()
        ]
        assert kinds.count("ScaledDotProductAttention") == benchmark.workload.config.layers
        assert "Softmax" not in kinds
        assert benchmark.compiled.get_property("KV_CACHE_PRECISION") == openvino.Type.f32

    @pytest.mark.parametrize(
        "changes", [{"epsilon": 1e-4}, {"theta": 1.1e4}, {"scaling": None}, {"layers": 1}]
    )
    def test_another_config(self, monkeypatch, changes):
        super().test_another_config(monkeypatch, changes)

    def interleaves(self, monkeypatch):
        def pairs(net, x):
            bounds = [[net.constant([at]) for at in (first, 2**31 - 1, 2, 3)] for first in (0, 1)]
            return [ops.slice(x, *one) for one in bounds]

        monkeypatch.setattr(Net, "pairs", pairs)

    def groups_otherwise(self, monkeypatch):
        def repeated(net, x, heads):
            return ops.concat([x] * (heads // net.config.key_value_heads), 1)

        monkeypatch.setattr(Net, "repeated", repeated)

    def shifts_positions(self, monkeypatch):
        """Writes decoded tokens from the place of the prompt's last token on."""
        honest = Benchmark.fill

        def fill(benchmark, batch):
            kept, steps = honest(benchmark, batch)
            short = [openvino.Tensor(tensor.data[:, :, :-1].copy()) for tensor in kept]
            return short, [(token, at - 1) for token, at in steps]

        monkeypatch.setattr(Benchmark, "fill", fill)

    def sees_everything(self, monkeypatch):
        honest = Net.mask

        def mask(net, positions):
            return ops.maximum(honest(net, positions), net.constant(0.0))

        monkeypatch.setattr(Net, "mask", mask)

    def forgets_the_prompt(self, monkeypatch):
        honest = Benchmark.fill

        def fill(benchmark, batch):
            kept, steps = honest(benchmark, batch)
            for tensor in kept:
                tensor.data[...] = 0
            return kept, steps

        monkeypatch.setattr(Benchmark, "fill", fill)


class TestMixtures(InSinglePrecision, GraphMixtures):
    """Mixtures of experts."""
