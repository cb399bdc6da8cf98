"""TensorFlow's side of a worker, on models that run in seconds."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
from functools import partial

import numpy as np
import pytest
import small
from alike import TOLERANCES, RuntimesAlike, ScalersAlike
from cases import make_case
from phases import PhasesAlike
from small import BERT, losses, resnet

from mbench.contract.adapter import Unsupported
from mbench.contract.precision import PRECISIONS
from mbench.contract.rank import SINGLE
from mbench.workloads.lstm import MODELS, LSTMConfig
from mbench.workloads.resnet import RESNET50

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

import keras  # noqa: E402

from mbench_tensorflow import optimizer  # noqa: E402
from mbench_tensorflow.compiler import COMPILERS, Eager  # noqa: E402
from mbench_tensorflow.models import lstm  # noqa: E402
from mbench_tensorflow.runtime import Benchmark  # noqa: E402

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
LSTM = dataclasses.replace(
    MODELS["lstm"], config=LSTMConfig(layers=2, features=8, hidden=16, classes=5, sequence_length=6)
)
WORKLOADS = {"resnet": RESNET, "bert": BERT}
prepare = partial(small.prepare, compiler="graph")


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param]


class TestPhases(PhasesAlike):
    compilers = ("graph",)


class TestAlike(RuntimesAlike):
    version = tf.__version__
    others = ("keras", "numpy")

    @staticmethod
    def finds_cuda():
        return bool(tf.config.list_physical_devices("GPU"))


class TestScaler(ScalersAlike):
    @staticmethod
    def set_scale(update, scale):
        update._scaler.scale.assign(scale)


def test_update_in_bf16_is_near_the_exact_one(runtime, workload):
    """The learning rate is large, since bfloat16 would round smaller updates away."""
    rule = dataclasses.replace(workload.optimizer, learning_rate=1.0, clip_norm=None)
    workload = dataclasses.replace(workload, optimizer=rule)
    changes = []
    for precision in ("fp64", "bf16"):
        benchmark = prepare(runtime, workload, precision=precision)
        before = dict(benchmark.parameters())
        losses(benchmark, 1)
        changes.append({n: a - before[n] for n, a in benchmark.parameters()})
    exact, found = changes
    head = "fc.bias" if "fc.bias" in exact else "cls.seq_relationship.bias"
    difference = np.linalg.norm(found[head] - exact[head]) / np.linalg.norm(exact[head])
    assert difference < 0.02


@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
def test_running_statistics_are_canonical_in_the_fused_kernel(runtime, precision):
    """The fused kernel's running variance is unbiased, which shows where samples are few."""
    exact = prepare(runtime, RESNET, precision="fp64", compiler="eager")
    losses(exact, 1)
    expected = dict(exact.parameters())
    tolerance = 1e-5 if precision == "fp32" else 3e-2
    for compiler in COMPILERS:
        benchmark = prepare(runtime, RESNET, precision=precision, compiler=compiler)
        losses(benchmark, 1)
        for name, found in benchmark.parameters():
            if "running" in name:
                difference = np.linalg.norm(found - expected[name])
                assert difference < tolerance * np.linalg.norm(expected[name]), (compiler, name)


@pytest.mark.parametrize(
    ("precision", "said"),
    [("tf32", "CUDA"), ("fp16", "use bf16"), ("amp-fp16", "use amp-bf16"), ("int3", "int3")],
)
def test_precisions_that_cpu_lacks(runtime, precision, said):
    with pytest.raises(Unsupported, match=said):
        prepare(runtime, RESNET, precision=precision)


@pytest.mark.parametrize("place", ["outputs", "parameters"])
def test_precision_without_effect_is_unsupported(runtime, monkeypatch, place):
    policy = "float32" if place == "outputs" else "bfloat16"
    monkeypatch.setattr("mbench_tensorflow.precision.policy", lambda precision: policy)
    with pytest.raises(Unsupported, match="amp-bf16 has no effect here"):
        prepare(runtime, RESNET, precision="amp-bf16")


@pytest.mark.parametrize("mode", ["train", "inference"])
@pytest.mark.parametrize("compiler", ["graph", "xla"])
def test_compilers_agree_with_eager_and_trace_once(runtime, workload, mode, compiler):
    compiled = prepare(runtime, workload, mode=mode, compiler=compiler, precision="fp64")
    eager = prepare(runtime, workload, mode=mode, compiler="eager", precision="fp64")
    if mode == "train":
        expected = losses(eager, 3)
        assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
        compiled.load_parameters(workload.parameters(seed=0))
        assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
        assert compiled.compute.experimental_get_tracing_count() == 1
        return
    for each in (eager, compiled):
        each.step(0)
        each.step(0)
        each.synchronize()
    assert compiled.forward.experimental_get_tracing_count() == 1
    for name, expected in eager.outputs().items():
        np.testing.assert_allclose(compiled.outputs()[name], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("clip_norm", [None, 1e-3])
@pytest.mark.parametrize("compiled", [True, False])
def test_loss_scaling_skips_what_overflows(runtime, clip_norm, compiled):
    """Loss scaling is tried on its own, in float32: no CPU has the fast float16 that needs it."""
    rule = dataclasses.replace(RESNET.optimizer.plain_sgd(1e-3), clip_norm=clip_norm)
    workload = dataclasses.replace(RESNET, optimizer=rule)
    weight = keras.Variable([0.0, 0.0])
    update = optimizer.Update(workload, {"w": weight}, PRECISIONS["amp-fp16"], Eager("cpu"))

    def step(direction):
        with tf.GradientTape() as tape:
            scaled = update.scaled(tf.reduce_sum(weight.value * direction))
        update([tape.gradient(scaled, weight.value)])

    run = tf.function(step) if compiled else step
    run(tf.constant([3.0, math.inf]))
    np.testing.assert_array_equal(weight, [0.0, 0.0])
    assert float(update._scaler.scale) == 2.0**14
    run(tf.constant([3.0, 4.0]))
    factor = 1.0 if clip_norm is None else clip_norm / (5.0 + 1e-6)
    np.testing.assert_allclose(weight, -1e-3 * factor * np.array([3.0, 4.0]), rtol=1e-6)
    update._scaler._good_steps.assign(optimizer.GROWTH_STEPS - 1)
    run(tf.constant([3.0, 4.0]))
    assert float(update._scaler.scale) == 2.0**15
    update.reset()
    assert float(update._scaler.scale) == optimizer.INITIAL_SCALE
    assert int(update._scaler._good_steps) == 0


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("No algorithm worked!", True),
        (
            "No algorithm worked!\n\t [[node conv2d/Relu (defined at f.py:26)]] [Op:__infer_800]",
            True,
        ),
        ("{{function_node f}} No algorithm worked!  Error messages: [Op:Conv2D]", True),
        ("No algorithm worked!  Error messages:\n  RESOURCE_EXHAUSTED: Out of memory", True),
        ("No algorithm worked!  Error messages:\n  UNKNOWN: CUDNN_STATUS_BAD_PARAM", False),
        ("No algorithm worked!  Error messages:\n  DNN library is not found [Op:Conv2D]", False),
    ],
)
def test_algorithms_that_were_not_even_tried_lacked_memory(runtime, said, found):
    assert runtime.is_out_of_memory(tf.errors.NotFoundError(None, None, said)) is found


@pytest.mark.parametrize(("device", "place"), [("cpu", "CPU:0"), ("cuda", "GPU:0")])
def test_only_the_device_in_use_is_waited_for(monkeypatch, device, place):
    """Beside a GPU there is always a CPU, and an operation there would count as latency."""
    seen = []

    @contextlib.contextmanager
    def within(name):
        seen.append(name)
        yield
        seen.append("left")

    monkeypatch.setattr(tf, "device", within)
    monkeypatch.setattr(tf.raw_ops, "SyncDevice", lambda: seen.append("waits"))
    monkeypatch.delattr(tf.test.experimental, "sync_devices")
    Eager(device).synchronize()
    assert seen == [place, "waits", "left"]


def test_execution_is_synchronous_but_on_a_gpu(runtime):
    assert tf.config.experimental.get_synchronous_execution()
    Eager("cpu").synchronize()


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_xla_is_spared_cudnns_lstm(runtime, monkeypatch, precision):
    """Keras takes cuDNN's LSTM wherever there is a GPU; here it is made to see one."""
    expected = losses(prepare(runtime, LSTM, precision=precision), 2)
    module = sys.modules["keras.src.backend.tensorflow.rnn"]  # also the name of a function there
    monkeypatch.setattr(module, "cudnn_ok", lambda *given, **named: True)
    compiled = prepare(runtime, LSTM, precision=precision, compiler="xla")
    assert losses(compiled, 2) == pytest.approx(expected, rel=TOLERANCES[precision])
    if precision == "fp32":
        with pytest.raises(Exception, match="CudnnRNN"):
            losses(prepare(runtime, LSTM, precision=precision, compiler="graph"), 1)


@pytest.mark.parametrize(
    ("compiler", "device", "told"), [("xla", "cuda", 1), ("xla", "cpu", 0), ("graph", "cuda", 0)]
)
def test_an_lstm_without_cudnn_is_told_where_others_have_it(compiler, device, told):
    made = Benchmark.__new__(Benchmark)
    made.case = make_case(model="lstm", device=device, compiler=compiler)
    made.compiler, made.workload = COMPILERS[compiler](device), LSTM
    made.family, made.differences, made.among = lstm, [], SINGLE
    made.build()
    said = "LSTMs are a loop: XLA cannot compile cuDNN's kernel"
    assert made.differences == [said] * told


def test_unknown_rule(runtime):
    strange = dataclasses.replace(RESNET.optimizer, rule="lion")
    with pytest.raises(ValueError, match="no optimizer 'lion'"):
        prepare(runtime, dataclasses.replace(RESNET, optimizer=strange))


def test_counts_the_flops_that_the_workload_states(runtime):
    """The model is not tiny, because elementwise operations are counted, too."""
    workload = RESNET50.resized(image_size=64)
    counted = prepare(runtime, workload, mode="inference", load=False).counted_flops()
    assert counted == pytest.approx(workload.forward_flops(), rel=0.02)


def test_does_not_count_the_flops_of_loops(runtime):
    """TensorFlow would count one pass through the loop over an LSTM's sequence."""
    assert prepare(runtime, LSTM, mode="inference", load=False).counted_flops() is None
