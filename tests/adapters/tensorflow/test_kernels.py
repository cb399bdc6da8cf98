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
