"""MXNet's side of a worker, on models that run in seconds."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import small
from alike import RuntimesAlike, ScalersAlike
from phases import PhasesAlike
from small import BERT, losses, resnet

from mbench.contract.adapter import Unsupported
from mbench.contract.precision import PRECISIONS
from mbench.sdk.cuda import CudaDevice

mx = pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mbench_mxnet import optimizer  # noqa: E402
from mbench_mxnet.compiler import COMPILERS, Eager  # noqa: E402
from mbench_mxnet.layers import BatchNorm  # noqa: E402
from mbench_mxnet.precision import has_bfloat16  # noqa: E402
from mbench_mxnet.runtime import Runtime  # noqa: E402
from mbench_mxnet.statistics import Statistics, averages_unbiased  # noqa: E402

# MXNet imports parts of SciPy, if that is installed, when it first meets an array.
pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
NO_BFLOAT16 = "MXNet's oneDNN has bfloat16 where the processor has AVX-512, which this one lacks"
WORKLOADS = {"resnet": RESNET, "bert": BERT}
prepare = partial(small.prepare, compiler="hybrid")


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param]


def faster(workload):
    """`workload` with a learning rate at which three steps can be told apart."""
    quick = dataclasses.replace(workload.optimizer, learning_rate=1e-4)
    return dataclasses.replace(workload, optimizer=quick)


class TestPhases(PhasesAlike):
    compilers = ("hybrid", "eager")


class TestAlike(RuntimesAlike):
    version = mx.__version__
    others = ("mxnet", "numpy")

    @staticmethod
    def finds_cuda():
        return mx.context.num_gpus() > 0

    def test_it_tells_how_it_was_built(self, runtime):
        assert "MKLDNN" in runtime.describe().details["features"]


@pytest.mark.parametrize("compiler", ["hybrid", "eager"])
def test_training_in_fp32_is_near_fp64(runtime, workload, compiler):
    """This includes the update: in fp32 it uses fused kernels, in fp64 it is composed."""
    exact = prepare(runtime, faster(workload), precision="fp64", compiler=compiler)
    found = prepare(runtime, faster(workload), compiler=compiler)
    assert losses(found, 3) == pytest.approx(losses(exact, 3), rel=1e-5)
    assert {a.dtype for _, a in exact.parameters()} == {np.dtype(np.float64)}
    head = "fc.weight" if workload is RESNET else "cls.seq_relationship.weight"
    start = dict(workload.parameters(seed=0))[head]
    change, expected = (dict(each.parameters())[head] - start for each in (found, exact))
    assert np.linalg.norm(change - expected) < 1e-3 * np.linalg.norm(expected)


def test_hybrid_agrees_with_eager(runtime, workload):
    one, other = (
        prepare(runtime, faster(workload), precision="fp64", compiler=compiler)
        for compiler in ("hybrid", "eager")
    )
    assert losses(one, 3) == pytest.approx(losses(other, 3), rel=1e-12)


@pytest.fixture
def like_cudnn(monkeypatch):
    """Makes running variances of batch norm unbiased, and moved by the forward pass."""

    def forward(self, x):
        parameters = (self.gamma, self.beta, self.running_mean, self.running_var)
        gamma, beta, mean, variance = (parameter.data() for parameter in parameters)
        if not mx.autograd.is_training():
            return mx.nd.BatchNorm(x, gamma, beta, mean, variance, **self._kwargs)
        out = mx.nd.BatchNorm(x, gamma, beta, mean.copy(), variance.copy(), **self._kwargs)
        keep = self._kwargs["momentum"]
        with mx.autograd.pause():
            values = x.asnumpy().swapaxes(0, 1).reshape(len(gamma), -1)
            unbiased = values.var(1, ddof=min(1, values.shape[1] - 1))
            for kept, new in ((mean, values.mean(1)), (variance, unbiased)):
                kept[:] = keep * kept + (1 - keep) * mx.nd.array(new, dtype=kept.dtype)
        return out

    monkeypatch.setattr(BatchNorm, "forward", forward)
    asked = averages_unbiased.__wrapped__  # its cached answer is of the honest one
    monkeypatch.setattr("mbench_mxnet.runtime.averages_unbiased", asked)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("compiler", ["hybrid", "eager"])
def test_the_cpu_averages_biased_variances(runtime, compiler, dtype):
    assert not averages_unbiased(COMPILERS[compiler], "cpu", dtype)


@pytest.mark.usefixtures("like_cudnn")
def test_nothing_is_made_good_where_variances_are_unbiased(runtime):
    assert averages_unbiased.__wrapped__(Eager, "cpu", "float32")
    assert_statistics_are_those_of_pytorch(runtime, compiler="eager")
    made = prepare(runtime, faster(RESNET), compiler="eager")
    assert Statistics.says not in made.differences


def test_a_variance_that_is_none_ends_the_case(runtime, monkeypatch):
    monkeypatch.setattr("mbench_mxnet.statistics.SAMPLE", np.ones((1, 1, 2, 2)))
    asked = averages_unbiased.__wrapped__
    monkeypatch.setattr("mbench_mxnet.runtime.averages_unbiased", asked)
    with pytest.raises(Unsupported, match="its running statistics cannot be compared"):
        prepare(runtime, RESNET)


def test_running_statistics_are_those_of_pytorch(runtime):
    assert_statistics_are_those_of_pytorch(runtime, compiler="hybrid")


def assert_statistics_are_those_of_pytorch(runtime, *, compiler):
    """Compares fp64's first step with the written-out rule, and fp32 with fp64 after more steps."""
    exact = prepare(runtime, faster(RESNET), precision="fp64", compiler=compiler)
    found = prepare(runtime, faster(RESNET), compiler=compiler)
    images = RESNET.batch(3, seed=0)["images"].astype(np.float64)
    kernel = dict(RESNET.parameters(seed=0))["conv1.weight"].astype(np.float64)
    padded = np.pad(images, ((0, 0), (0, 0), (3, 3), (3, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (7, 7), axis=(2, 3))[:, :, ::2, ::2]
    convolved = np.einsum("bchwij,ocij->bohw", windows, kernel)
    start = dict(RESNET.parameters(seed=0))
    losses(exact, 1)
    after = dict(exact.parameters())
    for name, seen in (
        ("bn1.running_mean", convolved.mean((0, 2, 3))),
        ("bn1.running_var", convolved.var((0, 2, 3), ddof=1)),
    ):
        np.testing.assert_allclose(
            after[name], 0.9 * np.float64(start[name]) + 0.1 * seen, rtol=1e-12
        )
    losses(exact, 3)
    losses(found, 4)
    after = dict(exact.parameters())
    for name, array in found.parameters():
        if "running" in name:
            np.testing.assert_allclose(array, after[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_statistic_of_one_value_has_no_variance(runtime):
    """The last batch norms see one pixel of one image: inference is possible."""
    benchmark = prepare(runtime, RESNET, mode="inference", batch_size=1)
    assert np.isfinite(small.infer(benchmark)["logits"]).all()


def test_norm_is_over_both_types():
    types = iter(["float16", "float32"] * 3)
    found = {t.name: t for t in RESNET.tensors()[:6] if t.trainable}
    trainable = {}
    for name, tensor in found.items():
        trainable[name] = mx.gluon.Parameter(name, shape=tensor.shape, dtype=next(types))
        trainable[name].initialize(mx.init.Zero())
        trainable[name].grad()[:] = 0.5
    update = optimizer.Update(RESNET, trainable, PRECISIONS["fp16"], Eager("cpu"))
    expected = 0.5 * math.sqrt(sum(t.size for t in found.values()))
    assert update._norm().asscalar() == pytest.approx(expected)


def rescaled(benchmark, precision):
    """Gives the benchmark the update of another precision; parameters keep their types."""
    before = benchmark.update
    benchmark.update = optimizer.Update(
        before.workload, before.parameters, PRECISIONS[precision], before.compiler
    )


def test_loss_scaling_leaves_the_update_as_it_is(runtime):
    """The scaler for float16 is tried on float32 gradients, which a CPU can compute."""
    workload = faster(BERT)
    start = dict(workload.parameters(seed=0))
    changes = []
    for name in ("fp32", "amp-fp16"):
        benchmark = prepare(runtime, workload)
        rescaled(benchmark, name)
        losses(benchmark, 2)
        changes.append({n: a - start[n] for n, a in benchmark.parameters()})
    for name, change in changes[0].items():
        if not name.endswith("key.bias"):  # whose gradient is rounding error
            np.testing.assert_allclose(changes[1][name], change, rtol=1e-2, atol=1e-6, err_msg=name)


def test_a_step_that_overflows_is_skipped(runtime):
    benchmark = prepare(runtime, faster(RESNET))
    rescaled(benchmark, "amp-fp16")
    benchmark.precision = PRECISIONS["amp-fp16"]
    benchmark.load_parameters(RESNET.parameters(seed=0))
    benchmark.update.parameters["fc.bias"].set_data(mx.nd.full((10,), math.inf))
    kept = dict(benchmark.parameters())["fc.weight"]
    scale = benchmark.update._scaler.loss_scale
    losses(benchmark, 1)
    np.testing.assert_array_equal(dict(benchmark.parameters())["fc.weight"], kept)
    losses(benchmark, 1)
    assert benchmark.update._scaler.loss_scale == scale / 2
    assert benchmark.skipped_steps() == 2
    benchmark.load_parameters(RESNET.parameters(seed=0))
    assert benchmark.update.loss_scale() == scale / 4
    assert benchmark.skipped_steps() == 0


@pytest.mark.parametrize(
    ("precision", "reason"),
    [("tf32", "no switch"), ("bf16", "use amp-bf16"), ("int3", "no precision int3"),
     ("fp16", "no float16"), ("amp-fp16", "no float16")],
)  # fmt: skip
def test_precisions_that_cpu_lacks(runtime, precision, reason):
    with pytest.raises(Unsupported, match=reason):
        prepare(runtime, RESNET, precision=precision)


def test_precision_without_effect_is_unsupported(runtime, monkeypatch):
    monkeypatch.setattr("mbench_mxnet.precision.amp.init", lambda target_dtype: None)
    monkeypatch.setattr("mbench_mxnet.precision.rewritten_for", None)
    monkeypatch.setattr("mbench_mxnet.precision.has_bfloat16", lambda: True)
    with pytest.raises(Unsupported, match=r"amp-bf16 has no effect here: conv.* is float32"):
        prepare(runtime, RESNET, precision="amp-bf16")


AMP = """
import sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import small
import test_runtime as tests
from mbench.contract.adapter import Unsupported
from mbench_mxnet.runtime import Runtime

workload = tests.WORKLOADS[sys.argv[1]]
runtime = Runtime(device="cpu", threads=2)
exact = tests.prepare(runtime, tests.faster(workload), precision="fp64")
print(*tests.losses(exact, 3))
for compiler in ("hybrid", "eager"):
    mixed = tests.prepare(
        runtime, tests.faster(workload), precision="amp-bf16", compiler=compiler
    )
    print(*tests.losses(mixed, 3))
    assert {a.dtype.name for _, a in mixed.parameters()} == {"float32"}
outputs = small.infer(tests.prepare(runtime, workload, mode="inference", precision="amp-bf16"))
assert {a.dtype.name for a in outputs.values()} == {"float32"}
try:
    tests.prepare(runtime, workload)
except Unsupported as error:
    print(error)
"""


@pytest.mark.skipif(not has_bfloat16(), reason=NO_BFLOAT16)
def test_amp_in_bfloat16(workload):
    """AMP is tried in a process of its own, because it cannot be undone."""
    found = subprocess.run(
        [sys.executable, "-c", AMP, "resnet" if workload is RESNET else "bert"],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, os.path.dirname(__file__)])},
    )  # fmt: skip
    *lines, refusal = found.stdout.splitlines()
    exact, *mixed = ([float(loss) for loss in line.split()] for line in lines)
    for each in mixed:
        assert each[0] == pytest.approx(exact[0], rel=2e-2)
        assert each == pytest.approx(exact, rel=1e-1)  # the others after coarse updates
        assert each != pytest.approx(exact, rel=1e-6)
    assert refusal == "this process is set up for amp-bf16: AMP has no way back"


@pytest.mark.skipif(has_bfloat16(), reason="this processor has bfloat16 in oneDNN")
def test_bfloat16_is_unsupported_where_the_processor_lacks_it(runtime):
    with pytest.raises(Unsupported, match="where the processor has AVX-512"):
        prepare(runtime, RESNET, precision="amp-bf16")


def test_threads_must_stand_before_the_import():
    with pytest.raises(Unsupported, match="OMP_NUM_THREADS must be 7"):
        Runtime(device="cpu", threads=7)


@pytest.mark.parametrize(
    ("capability", "runs"), [((7, 5), True), ((8, 9), True), ((9, 0), False), ((12, 0), False)]
)
def test_a_gpu_that_its_cuda_does_not_know_is_unsupported(monkeypatch, capability, runs):
    gpu = CudaDevice("a GPU", "0000:3b:00.0", capability, 2**34, "13.0")
    monkeypatch.setattr("mbench_mxnet.runtime.cuda_device", lambda: gpu)
    monkeypatch.setattr("mxnet.runtime.Features.is_enabled", lambda self, name: True)
    monkeypatch.setattr("mxnet.context.num_gpus", lambda: 1)
    if runs:
        assert Runtime(device="cuda", threads=2).devices == ["cpu", "cuda"]
        return
    with pytest.raises(Unsupported, match=r"no code for compute capability .*: up to 8\.x"):
        Runtime(device="cuda", threads=2)


def test_onednn_does_not_train(runtime):
    with pytest.raises(Unsupported, match="fusion is for inference"):
        prepare(runtime, RESNET, compiler="onednn")


class TestScaler(ScalersAlike):
    @staticmethod
    def set_scale(update, scale):
        update._scaler._loss_scale = update._scaler._next_loss_scale = scale
