"""PaddlePaddle's side of a worker, on models that run in seconds."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import small
from alike import RuntimesAlike, ScalersAlike
from phases import PhasesAlike
from small import BERT, infer, losses, resnet

from mbench.contract.adapter import Unsupported
from mbench.sdk.compiler import peak_resident_bytes
from mbench.workloads import densenet, googlenet, gpt2, lstm, mobilenet
from mbench.workloads.resnet import ResNetConfig

paddle = pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from paddle.jit.sot.symbolic.compile_cache import CompileSIRCache  # noqa: E402

from mbench_paddle.compiler import COMPILERS  # noqa: E402
from mbench_paddle.graph import OneGraph  # noqa: E402
from mbench_paddle.models.mobilenet import build as build_mobilenet  # noqa: E402
from mbench_paddle.plugin import PaddlePaddle  # noqa: E402
from mbench_paddle.runtime import Runtime  # noqa: E402
from mbench_paddle.statistics import averages_unbiased  # noqa: E402

# PaddlePaddle's own code warns so when it traces a cross entropy.
pytestmark = pytest.mark.filterwarnings("ignore:Tensor do not have 'place' interface")

RESNET = resnet(image_size=48)
GPT2 = dataclasses.replace(
    gpt2.MODELS["gpt2-small"],
    config=gpt2.GPT2Config(
        layers=2, hidden=32, heads=2, vocabulary=50, positions=16, sequence_length=12
    ),
    optimizer=BERT.optimizer,
)
LSTM = dataclasses.replace(
    lstm.MODELS["lstm"],
    config=lstm.LSTMConfig(layers=2, features=8, hidden=16, classes=5, sequence_length=6),
    optimizer=BERT.optimizer,
)
WORKLOADS = {"resnet": RESNET, "bert": BERT, "gpt2": GPT2, "lstm": LSTM}
HEADS = (
    "fc.weight", "cls.seq_relationship.weight", "transformer.h.1.mlp.c_proj.weight", "linear.weight"
)  # fmt: skip
prepare = partial(small.prepare, compiler="eager")


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param]


class TestPhases(PhasesAlike):
    compilers = ("eager", "static")


class TestAlike(RuntimesAlike):
    version = paddle.__version__
    others = ("paddlepaddle", "numpy")

    @staticmethod
    def finds_cuda():
        return paddle.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0


@pytest.mark.filterwarnings("ignore:Conversion of an array with ndim > 0:DeprecationWarning")
class TestScaler(ScalersAlike):
    """GradScaler has no effect on a CPU, but its kernels run there: it is made to see a GPU."""

    @pytest.fixture(autouse=True)
    def on_a_gpu(self, monkeypatch):
        place = SimpleNamespace(is_gpu_place=lambda: True)
        module = sys.modules["paddle.amp.grad_scaler"]
        monkeypatch.setattr(
            module, "_dygraph_tracer", lambda: SimpleNamespace(_expected_place=place)
        )
        # As auto_cast in float16 leaves it.
        monkeypatch.setattr(module.amp_global_state(), "amp_dtype", "float16")

    @staticmethod
    def set_scale(update, scale):
        update._scaler._scale = paddle.full([1], scale)


def test_threads_must_be_set_before_the_import():
    with pytest.raises(RuntimeError, match="OMP_NUM_THREADS must be 3 before paddle is imported"):
        Runtime(device="cpu", threads=3)


def test_native_update_in_fp32_follows_the_rule(runtime, workload):
    """In float64 the adapter adds something around the kernels; in float32 they run alone."""
    exact, single = (prepare(runtime, workload, precision=p) for p in ("fp64", "fp32"))
    for benchmark in (exact, single):
        losses(benchmark, 2)
    begin = dict(workload.parameters(seed=0))
    head = next(name for name in HEADS if name in begin)
    changes = [dict(benchmark.parameters())[head] - begin[head] for benchmark in (exact, single)]
    assert np.linalg.norm(changes[1] - changes[0]) < 1e-2 * np.linalg.norm(changes[0])


@pytest.fixture
def like_cudnn(monkeypatch):
    """Makes running variances of batch norm unbiased, as those of cuDNN."""
    honest = paddle.nn.functional.batch_norm

    def batch_norm(x, mean, variance, *, training, momentum, **named):
        before = variance.clone()
        out = honest(x, mean, variance, training=training, momentum=momentum, **named)
        if training:
            count = x.size // x.shape[1]
            kept = before * np.float64(np.float32(momentum))
            variance.set_value(kept + (variance - kept) * (count / (count - 1)))
        return out

    for where in (paddle.nn.functional, paddle.nn.layer.norm):
        monkeypatch.setattr(where, "batch_norm", batch_norm)
    asked = averages_unbiased.__wrapped__  # its cached answer is of the honest one
    monkeypatch.setattr("mbench_paddle.runtime.averages_unbiased", asked)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("compiler", ["eager", "static"])
def test_the_cpu_averages_biased_variances(runtime, compiler, exact):
    assert not averages_unbiased(COMPILERS[compiler], "cpu", exact=exact)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp64", 1e-12), ("fp32", 1e-4)])
@pytest.mark.usefixtures("like_cudnn")
def test_nothing_is_made_good_where_variances_are_unbiased(runtime, precision, tolerance):
    assert averages_unbiased.__wrapped__(COMPILERS["eager"], "cpu", exact=precision == "fp64")
    test_running_statistics_are_the_canonical_ones(runtime, precision, tolerance)
    made = prepare(runtime, RESNET, precision=precision, load=False)
    assert not any("running variances" in said for said in made.differences)


def test_a_variance_that_is_none_ends_the_case(runtime, monkeypatch):
    monkeypatch.setattr("mbench_paddle.statistics.SAMPLE", np.ones((1, 1, 2, 2)))
    asked = averages_unbiased.__wrapped__
    monkeypatch.setattr("mbench_paddle.runtime.averages_unbiased", asked)
    with pytest.raises(Unsupported, match="its running statistics cannot be compared"):
        prepare(runtime, RESNET)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp64", 1e-12), ("fp32", 1e-4)])
def test_running_statistics_are_the_canonical_ones(runtime, precision, tolerance):
    """The test checks the first batch norm, whose inputs depend on no update but conv1's."""
    still = dataclasses.replace(RESNET.optimizer, learning_rate=0.0)
    workload = dataclasses.replace(RESNET, optimizer=still)
    benchmark = prepare(runtime, workload, precision=precision)
    with paddle.no_grad():
        x = benchmark.model.conv1(benchmark.batch["images"]).numpy().astype(np.float64)
    begin = dict(workload.parameters(seed=0))
    mean, variance = (begin[f"bn1.running_{kind}"].astype(np.float64) for kind in ("mean", "var"))
    for _ in range(3):
        losses(benchmark, 1)
        mean = 0.9 * mean + 0.1 * x.mean(axis=(0, 2, 3))
        variance = 0.9 * variance + 0.1 * x.var(axis=(0, 2, 3), ddof=1)
        found = dict(benchmark.parameters())
        np.testing.assert_allclose(found["bn1.running_mean"], mean, rtol=0, atol=tolerance)
        np.testing.assert_allclose(found["bn1.running_var"], variance, rtol=tolerance)


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_engine_takes_new_parameters_and_leaves_no_files(
    runtime, workload, precision, monkeypatch, tmp_path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    eager, engine = (
        prepare(runtime, workload, mode="inference", compiler=compiler, precision=precision)
        for compiler in ("eager", "engine")
    )
    first = infer(engine)
    for benchmark in (eager, engine):
        benchmark.load_parameters(workload.parameters(seed=1))
    expected, found = infer(eager), infer(engine)
    for name, output in found.items():
        tolerance = 1e-5 if precision == "fp32" else 1e-12
        assert np.linalg.norm(output - expected[name]) < tolerance * np.linalg.norm(output)
        assert np.linalg.norm(output - first[name]) > 0.1 * np.linalg.norm(output)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("compiler", ["eager", "static", "engine"])
@pytest.mark.parametrize(
    ("precision", "said"),
    [
        ("tf32", "needs a CUDA device"),
        ("fp16", "use bf16 with engine"),
        ("amp-fp16", "use bf16 with engine"),
        ("amp-bf16", "use bf16 with engine"),
        ("int3", "int3"),
    ],
)
def test_precisions_that_cpu_lacks(runtime, precision, said, compiler):
    with pytest.raises(Unsupported, match=said):
        prepare(runtime, RESNET, mode="inference", precision=precision, compiler=compiler)


@pytest.mark.parametrize("compiler", ["eager", "static"])
def test_bf16_on_cpu_is_the_engines(runtime, compiler):
    with pytest.raises(Unsupported, match="bfloat16 on CPU in its inference engine only"):
        prepare(runtime, RESNET, precision="bf16", compiler=compiler)


@pytest.mark.filterwarnings("ignore:amp_guard can only be enabled on CUDAPlace")
def test_precision_without_effect_is_unsupported(runtime, monkeypatch):
    """AMP has no effect on a CPU: PaddlePaddle warns, and goes on in float32."""
    monkeypatch.setattr(PaddlePaddle, "lacks", ())
    with pytest.raises(Unsupported, match=r"amp-bf16 has no effect here: products are .*float32"):
        prepare(runtime, RESNET, precision="amp-bf16")


def test_engine_without_effect_is_unsupported(runtime, monkeypatch):
    if not paddle.base.core.supports_bfloat16():
        pytest.skip("this CPU has no bfloat16")
    monkeypatch.setattr("mbench_paddle.engine.LEAST_EFFECT", 10.0)
    with pytest.raises(Unsupported, match="bf16 has no effect here: logits changes by"):
        prepare(runtime, RESNET, mode="inference", precision="bf16", compiler="engine")


def test_engine_does_not_train(runtime):
    with pytest.raises(Unsupported, match="inference engine does not train"):
        prepare(runtime, RESNET, compiler="engine")


def test_cinn_needs_a_build_that_has_it(runtime):
    if paddle.is_compiled_with_cinn():
        pytest.skip("this build has CINN")
    with pytest.raises(Unsupported, match="has no CINN"):
        prepare(runtime, RESNET, compiler="cinn")


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_static_agrees_with_eager_and_compiles_once(runtime, workload, mode):
    compiled = prepare(runtime, workload, mode=mode, compiler="static", precision="fp64")
    eager = prepare(runtime, workload, mode=mode, precision="fp64")
    if mode == "inference":
        expected, found = infer(eager), infer(compiled)
        for name, output in found.items():
            np.testing.assert_allclose(output, expected[name], rtol=1e-10, atol=1e-13)
        return
    expected = losses(eager, 3)
    assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
    graphs = len(CompileSIRCache().cache)
    compiled.load_parameters(workload.parameters(seed=0))
    assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
    assert len(CompileSIRCache().cache) == graphs


def test_static_dropout_draws_anew_each_step(runtime):
    benchmark = prepare(runtime, BERT, compiler="static", dropout=True)
    assert len(set(losses(benchmark, 3))) == 3


def test_a_broken_graph_is_unsupported():
    layer = paddle.nn.Linear(3, 3)

    def breaks(batch):
        x = layer(batch["x"])
        if float(x.sum()) > 0:  # needs the value
            x = x + 1
        return layer(x)

    broken = OneGraph(paddle.jit.to_static(breaks, backend=None))
    with pytest.raises(Unsupported, match="graphs of this, not one"):
        broken({"x": paddle.ones([2, 3])})


def test_one_graph_that_runs_in_several_parts_is_unsupported():
    """Generators cannot be traced: their functions are compiled one by one, here one twice."""

    def part(x):
        return paddle.tanh(x) + 1

    def breaks(batch):
        return [part(*(batch[name] for name in (at,))) for at in ("x", "y")]

    broken = OneGraph(paddle.jit.to_static(breaks, backend=None))
    with pytest.raises(Unsupported, match=r"breaks this into [0-9]+ functions"):
        broken({"x": paddle.ones([2, 3]), "y": paddle.ones([2, 3])})


@pytest.mark.filterwarnings("ignore:Conversion of an array with ndim > 0:DeprecationWarning")
def test_counts_the_flops_that_the_workload_states(runtime):
    counted = prepare(runtime, RESNET, mode="inference").counted_flops()
    assert counted == pytest.approx(RESNET.forward_flops(), rel=0.01)


def test_resnet_of_other_widths_is_refused(runtime):
    narrow = dataclasses.replace(RESNET, config=ResNetConfig(widths=(8, 16, 32, 64)))
    with pytest.raises(ValueError, match="does not support these widths"):
        prepare(runtime, narrow)


def test_resnet_of_blocks_that_paddle_has_no_depth_for(runtime):
    odd = dataclasses.replace(RESNET, config=ResNetConfig(blocks=(2, 1, 3, 1), image_size=48))
    made = prepare(runtime, odd, load=False)
    assert {name: array.shape for name, array in made.parameters()} == {
        tensor.name: tensor.shape for tensor in odd.tensors()
    }


@pytest.mark.parametrize(
    "workload",
    [*densenet.MODELS.values(), *googlenet.MODELS.values(), *gpt2.MODELS.values(), BERT],
    ids=lambda workload: workload.name,
)
def test_shapes_take_no_memory(runtime, workload):
    """The parameters of GPT-2 XL alone would take 6 GB."""
    before = peak_resident_bytes()
    found = runtime.shapes(workload)
    assert {t.name: t.shape for t in workload.tensors()} == found
    assert peak_resident_bytes() - before < 50e6


def test_shapes_of_an_lstm_are_unsupported(runtime):
    with pytest.raises(Unsupported, match="cannot build lstm without its memory"):
        runtime.shapes(LSTM)


def test_auxiliary_heads_count_their_values_too(runtime):
    """Unbiased variances need these counts, from a pass that leaves the model in training mode."""
    (workload,) = googlenet.MODELS.values()
    workload = workload.resized(image_size=64)
    benchmark = prepare(runtime, workload, batch_size=2, load=False)
    values = 2 * 4 * 4
    assert benchmark.natives()["aux1.conv.bn.running_var"].factor == values / (values - 1)
    assert benchmark.model.training
    assert all(layer.training for layer in benchmark.model.sublayers())


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_paddle_visions_dropout_gets_its_rate(rate):
    model = build_mobilenet(mobilenet.MobileNetConfig(dropout=rate))
    dropouts = [layer for layer in model.sublayers() if isinstance(layer, paddle.nn.Dropout)]
    assert [layer.p for layer in dropouts] == [rate]
