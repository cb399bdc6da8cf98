"""TensorFlow's convolutions are oneDNN's where that is switched on, and products otherwise."""

from __future__ import annotations

import pytest
from kernels import CONVOLUTIONS, count, evidence, told_by_profiler, x86_only

from mbench_tensorflow.plugin import TensorFlow

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")
SWITCH = "TF_ENABLE_ONEDNN_OPTS"


@x86_only
@pytest.mark.parametrize(("switch", "told"), [("0", 0), ("1", CONVOLUTIONS)])
def test_a_switch_decides_who_convolves(switch, told, tmp_path):
    found = evidence(TensorFlow(), folder=tmp_path, mode="inference", compiler="graph",
                     variables={SWITCH: switch})  # fmt: skip
    assert found.libraries["oneDNN"].startswith("3.")
    assert count(found, "convolution", propagation="forward") == told
    assert (count(found, "gemm_api") > 0) is (told == 0)


def test_its_profiler_tells_every_convolution_once_in_xlas_own_format(tmp_path):
    names = told_by_profiler(TensorFlow(), folder=tmp_path, mode="train", compiler="graph")
    for kind in ("Conv2D", "Conv2DBackpropFilter"):  # or oneDNN's, _MklNativeConv2D
        assert sum(n for name, n in names.items() if name.endswith(kind)) == CONVOLUTIONS
    assert not list(tmp_path.rglob("*.json*")), "so the planes are what was read"
