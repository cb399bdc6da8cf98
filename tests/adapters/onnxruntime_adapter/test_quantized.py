"""int8 in ONNX Runtime."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from quantized import QuantizedAlike, case_of, outputs_of

from mbench.contract.adapter import Unsupported
from mbench.proofs.tolerances import TIMED
from mbench.scenarios.find import resolve

pytest.importorskip("onnxruntime")

from mbench_onnxruntime.runtime import Runtime


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


class TestQuantized(QuantizedAlike):
    @pytest.mark.parametrize("level", ["basic", "extended", "all"])
    def test_sums_are_exact_or_refused(self, runtime, level):
        """Processors without VNNI saturate sums at 16 bits, unless the level forbids it."""
        case = dataclasses.replace(
            case_of(runtime, "small-vit", "inference", "int8"), compiler=level
        )
        weights = dict(resolve(case).parameters(seed=1))
        refusal = ""
        try:
            _, found = outputs_of(runtime, case, weights)
        except Unsupported as lack:
            refusal = str(lack)
        if level == "basic" and refusal:
            assert refusal.endswith("use --compiler extended or --compiler all")
            return
        _, exact = outputs_of(runtime, dataclasses.replace(case, precision="fp32"), weights)
        error = np.linalg.norm(found["logits"] - exact["logits"])
        assert error < TIMED["int8"] * np.linalg.norm(exact["logits"])
