"""PaddlePaddle's side of a worker, on models small enough for seconds."""

from __future__ import annotations

import dataclasses
import math
import tempfile

import numpy as np
import pytest

from mbench.contract.adapter import Unsupported
from mbench.contract.case import Case
from mbench.workloads.bert import BERT_BASE, BertConfig
from mbench.workloads.resnet import RESNET50, ResNetConfig

paddle = pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from paddle.jit.sot.symbolic.compile_cache import CompileSIRCache  # noqa: E402

from mbench_paddle import plugin  # noqa: E402
from mbench_paddle.compiler import COMPILERS, OneGraph  # noqa: E402
from mbench_paddle.parameters import named, to_numpy  # noqa: E402
from mbench_paddle.precision import PRECISIONS  # noqa: E402
from mbench_paddle.runtime import Runtime  # noqa: E402

# What PaddlePaddle's own code warns of where it traces a cross entropy.
pytestmark = pytest.mark.filterwarnings("ignore:Tensor do not have 'place' interface")

# Rates at which a step shows, unlike those of timed steps.
RESNET = dataclasses.replace(
    RESNET50,
    config=ResNetConfig(classes=10, image_size=48),
    optimizer=dataclasses.replace(RESNET50.optimizer, learning_rate=1e-3),
)
BERT = dataclasses.replace(
    BERT_BASE,
    config=BertConfig(
        layers=2, hidden=32, heads=2, intermediate=64, vocabulary=50, positions=16,
        sequence_length=12, predictions=3,
    ),
    optimizer=dataclasses.replace(BERT_BASE.optimizer, learning_rate=1e-4),
)  # fmt: skip
WORKLOADS = {"resnet": RESNET, "bert": BERT}


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param]


def prepare(runtime, workload, *, dropout=False, plain_sgd=False, load=True, **changes):
    values = {
        "model": workload.name,
        "workload": "given:directly",
        "mode": "train",
        "batch_size": 3,
        "precision": "fp32",
        "compiler": "eager",
        "device": "cpu",
        "threads": 2,
    }
    if not dropout:
        workload = dataclasses.replace(workload, config=workload.config.without_dropout())
    if plain_sgd:
        workload = dataclasses.replace(workload, optimizer=workload.optimizer.plain_sgd())
    benchmark = runtime.prepare(Case(**{**values, **changes}), workload)
    if load:
        benchmark.load_parameters(workload.parameters(seed=0))
    return benchmark


def losses(benchmark, count):
    found = []
    for _ in range(count):
        benchmark.step()
        benchmark.synchronize()
        found.append(benchmark.loss())
    return found


def outputs(benchmark):
    benchmark.step()
    benchmark.synchronize()
    return benchmark.outputs()


def test_describes_itself(runtime):
    info = runtime.describe()
    assert info.version == paddle.__version__
    assert info.devices[0] == "cpu"
    assert info.threads == 2
    assert {"paddlepaddle", "numpy"} <= set(info.versions)


def test_threads_must_be_set_before_the_import():
    with pytest.raises(RuntimeError, match="OMP_NUM_THREADS must be 3 before paddle is imported"):
        Runtime(device="cpu", threads=3)


def test_has_the_compilers_that_the_plugin_names():
    assert list(COMPILERS) == list(plugin.COMPILERS)


def test_parameters_are_the_workloads(runtime, workload):
    benchmark = prepare(runtime, workload)
    found = dict(benchmark.parameters())
    assert {t.name: t.shape for t in workload.tensors()} == {n: a.shape for n, a in found.items()}
    assert benchmark.trainable_parameters() == workload.parameter_count()
    for name, array in workload.parameters(seed=0):
        np.testing.assert_array_equal(found[name], array)


def test_read_parameters_are_copies(runtime):
    benchmark = prepare(runtime, RESNET)
    before = dict(benchmark.parameters())["fc.bias"]
    kept = before.copy()
    losses(benchmark, 1)
    np.testing.assert_array_equal(before, kept)


@pytest.mark.parametrize(
    ("mode", "precision", "compiler", "dtype"),
    [
        ("train", "fp32", "eager", np.float32),
        ("train", "fp64", "eager", np.float64),
        ("inference", "fp32", "eager", np.float32),
        ("inference", "fp64", "eager", np.float64),
        ("inference", "fp32", "engine", np.float32),
        ("inference", "bf16", "engine", np.float32),
    ],
)
def test_precisions(runtime, workload, mode, precision, compiler, dtype):
    if precision == "bf16" and not paddle.base.core.supports_bfloat16():
        pytest.skip("this CPU has no bfloat16")
    exact = prepare(runtime, workload, mode=mode, precision="fp64")
    benchmark = prepare(runtime, workload, mode=mode, precision=precision, compiler=compiler)
    assert {array.dtype for _, array in benchmark.parameters()} == {np.dtype(dtype)}
    tolerance = 1e-5 if precision in ("fp32", "fp64") else 5e-2
    if mode == "train":
        assert losses(benchmark, 1) == pytest.approx(losses(exact, 1), rel=tolerance)
        return
    expected, found = outputs(exact), outputs(benchmark)
    for name, output in found.items():
        assert output.dtype == dtype
        difference = np.linalg.norm(output - expected[name]) / np.linalg.norm(expected[name])
        assert difference < tolerance
        assert (difference > 1e-4) == (precision == "bf16")


def test_output_shapes(runtime):
    bert = outputs(prepare(runtime, BERT, mode="inference"))
    resnet = outputs(prepare(runtime, RESNET, mode="inference"))
    shapes = {name: array.shape for name, array in bert.items()}
    assert shapes == {"mlm_logits": (3, 3, 50), "nsp_logits": (3, 2)}
    assert {name: array.shape for name, array in resnet.items()} == {"logits": (3, 10)}


@pytest.mark.parametrize("plain_sgd", [True, False])
def test_update_follows_the_documented_rule(runtime, workload, plain_sgd):
    """Gradients by paddle, everything after them written out as the workload states it."""
    benchmark = prepare(runtime, workload, precision="fp64", plain_sgd=plain_sgd)
    rule = workload.optimizer.plain_sgd() if plain_sgd else workload.optimizer
    decays = {t.name: rule.weight_decay * t.decay for t in workload.tensors()}
    start = prepare(runtime, workload, precision="fp64", plain_sgd=True, clip=False)
    native = {n: v for n, v in named(start._model).items() if not v.tensor.stop_gradient}
    weights = {n: to_numpy(v.tensor) for n, v in native.items()}
    slow = {n: np.zeros_like(w) for n, w in weights.items()}
    square = {n: np.zeros_like(w) for n, w in weights.items()}
    for step in (1, 2, 3):
        for name, weight in weights.items():
            native[name].tensor.set_value(weight)
        start._update.zero_gradients()
        start._compute(start._batch).backward()
        gradients = {n: v.tensor.grad.numpy() for n, v in native.items()}
        if rule.clip_norm is not None:
            norm = math.sqrt(sum(float(np.sum(g**2)) for g in gradients.values()))
            scale = min(1.0, rule.clip_norm / (norm + 1e-6))
            gradients = {n: g * scale for n, g in gradients.items()}
        for name, gradient in gradients.items():
            weight, rate = weights[name], rule.learning_rate
            if rule.rule == "sgd":
                slow[name] = rule.momentum * slow[name] + gradient + decays[name] * weight
                weights[name] = weight - rate * slow[name]
            else:
                first, second = rule.betas
                slow[name] = first * slow[name] + (1 - first) * gradient
                square[name] = second * square[name] + (1 - second) * gradient**2
                mean, spread = slow[name] / (1 - first**step), square[name] / (1 - second**step)
                weight = weight - rate * decays[name] * weight
                weights[name] = weight - rate * mean / (np.sqrt(spread) + rule.epsilon)
        losses(benchmark, 1)
    begin = dict(workload.parameters(seed=0))
    for name, found in benchmark.parameters():
        if name in weights:
            expected = weights[name].T if native[name].transposed else weights[name]
            # The gradient of a key's bias is 0, and what is left of it is rounding.
            allowed = 1e-9 * np.linalg.norm(expected - begin[name]) + 1e-17
            assert np.linalg.norm(found - expected) < allowed, name


def test_native_update_in_fp32_follows_the_rule(runtime, workload):
    """In float64 something is added around the kernels; here they are alone."""
    exact, single = (prepare(runtime, workload, precision=p) for p in ("fp64", "fp32"))
    for benchmark in (exact, single):
        losses(benchmark, 2)
    begin = dict(workload.parameters(seed=0))
    head = "fc.weight" if "fc.weight" in begin else "cls.seq_relationship.weight"
    changes = [dict(benchmark.parameters())[head] - begin[head] for benchmark in (exact, single)]
    assert np.linalg.norm(changes[1] - changes[0]) < 1e-2 * np.linalg.norm(changes[0])


@pytest.mark.parametrize(("precision", "tolerance"), [("fp64", 1e-12), ("fp32", 1e-4)])
def test_running_statistics_are_the_canonical_ones(runtime, precision, tolerance):
    """Of the first batch norm, whose inputs do not depend on any update but conv1's."""
    still = dataclasses.replace(RESNET.optimizer, learning_rate=0.0)
    workload = dataclasses.replace(RESNET, optimizer=still)
    benchmark = prepare(runtime, workload, precision=precision)
    with paddle.no_grad():
        x = benchmark._model.conv1(benchmark._batch["images"]).numpy().astype(np.float64)
    begin = dict(workload.parameters(seed=0))
    mean, variance = (begin[f"bn1.running_{kind}"].astype(np.float64) for kind in ("mean", "var"))
    for _ in range(3):
        losses(benchmark, 1)
        mean = 0.9 * mean + 0.1 * x.mean(axis=(0, 2, 3))
        variance = 0.9 * variance + 0.1 * x.var(axis=(0, 2, 3), ddof=1)
        found = dict(benchmark.parameters())
        np.testing.assert_allclose(found["bn1.running_mean"], mean, rtol=0, atol=tolerance)
        np.testing.assert_allclose(found["bn1.running_var"], variance, rtol=tolerance)


def test_reload_starts_over(runtime, workload):
    benchmark = prepare(runtime, workload)
    first = losses(benchmark, 3)
    assert len(set(first)) == 3
    benchmark.load_parameters(workload.parameters(seed=0))
    assert losses(benchmark, 3) == first


def test_dropout_draws_anew_each_step(runtime):
    benchmark = prepare(runtime, BERT, dropout=True)
    found = []
    for _ in range(2):
        benchmark.load_parameters(BERT.parameters(seed=0))
        found += losses(benchmark, 1)
    assert found[0] != found[1]


@pytest.mark.parametrize("compiler", ["eager", "engine"])
def test_inference_leaves_parameters_and_repeats(runtime, workload, compiler):
    benchmark = prepare(runtime, workload, mode="inference", compiler=compiler, dropout=True)
    seen = [outputs(benchmark) for _ in range(2)]
    for name in seen[0]:
        np.testing.assert_array_equal(seen[0][name], seen[1][name])
    found = dict(benchmark.parameters())
    for name, array in workload.parameters(seed=0):
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_engine_takes_new_parameters_and_leaves_no_files(
    runtime, workload, precision, monkeypatch, tmp_path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    eager, engine = (
        prepare(runtime, workload, mode="inference", compiler=compiler, precision=precision)
        for compiler in ("eager", "engine")
    )
    first = outputs(engine)
    for benchmark in (eager, engine):
        benchmark.load_parameters(workload.parameters(seed=1))
    expected, found = outputs(eager), outputs(engine)
    for name, output in found.items():
        tolerance = 1e-5 if precision == "fp32" else 1e-12
        assert np.linalg.norm(output - expected[name]) < tolerance * np.linalg.norm(output)
        assert np.linalg.norm(output - first[name]) > 0.1 * np.linalg.norm(output)
    assert list(tmp_path.iterdir()) == []


def test_load_rejects_a_wrong_name(runtime):
    benchmark = prepare(runtime, RESNET, load=False)
    arrays = [("fc.scent", np.zeros(10, np.float32))]
    with pytest.raises(ValueError, match=r"no fc\.scent"):
        benchmark.load_parameters(arrays)


def test_load_rejects_a_name_given_twice(runtime):
    benchmark = prepare(runtime, RESNET, load=False)
    arrays = [("fc.bias", np.zeros(10, np.float32))] * 2
    with pytest.raises(ValueError, match=r"fc\.bias, or it came before"):
        benchmark.load_parameters(arrays)


def test_load_rejects_a_wrong_shape(runtime):
    benchmark = prepare(runtime, RESNET, load=False)
    with pytest.raises(ValueError, match=r"fc\.bias is \(10,\)"):
        benchmark.load_parameters([("fc.bias", np.zeros(11, np.float32))])


def test_load_rejects_a_tensor_left_out(runtime, workload):
    benchmark = prepare(runtime, workload, load=False)
    *arrays, (last, _) = workload.parameters(seed=0)
    with pytest.raises(ValueError, match=f"{last}, which was left out"):
        benchmark.load_parameters(arrays)


@pytest.mark.parametrize("compiler", ["eager", "static", "engine"])
@pytest.mark.parametrize("precision", ["tf32", "fp16", "amp-fp16", "amp-bf16", "int3"])
def test_precisions_that_cpu_lacks(runtime, precision, compiler):
    with pytest.raises(Unsupported, match=precision):
        prepare(runtime, RESNET, mode="inference", precision=precision, compiler=compiler)


@pytest.mark.parametrize("compiler", ["eager", "static"])
def test_bf16_on_cpu_is_the_engines(runtime, compiler):
    with pytest.raises(Unsupported, match="bf16 on CPU outside of its inference engine"):
        prepare(runtime, RESNET, precision="bf16", compiler=compiler)


@pytest.mark.filterwarnings("ignore:amp_guard can only be enabled on CUDAPlace")
def test_precision_without_effect_is_unsupported(runtime, monkeypatch):
    """AMP on CPU is one: PaddlePaddle warns, and goes on in float32."""
    amp = PRECISIONS["amp-bf16"]
    monkeypatch.setattr("mbench_paddle.runtime.resolve", lambda name, compiler: amp)
    with pytest.raises(Unsupported, match=r"amp-bf16 has no effect here: products are .*float32"):
        prepare(runtime, RESNET, precision="amp-bf16")


def test_engine_without_effect_is_unsupported(runtime, monkeypatch):
    if not paddle.base.core.supports_bfloat16():
        pytest.skip("this CPU has no bfloat16")
    monkeypatch.setattr("mbench_paddle.engine.LEAST_EFFECT", 10.0)
    with pytest.raises(Unsupported, match="bf16 has no effect here: logits changes by"):
        prepare(runtime, RESNET, mode="inference", precision="bf16", compiler="engine")


def test_engine_does_not_train(runtime):
    with pytest.raises(Unsupported, match="engine has no train"):
        prepare(runtime, RESNET, compiler="engine")


def test_cuda_is_unsupported_where_there_is_none():
    if paddle.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0:
        pytest.skip("there is a CUDA device here")
    with pytest.raises(Unsupported, match="CUDA"):
        Runtime(device="cuda", threads=2)


def test_cinn_needs_a_build_that_has_it(runtime):
    if paddle.is_compiled_with_cinn():
        pytest.skip("this build has CINN")
    with pytest.raises(Unsupported, match="has no CINN"):
        prepare(runtime, RESNET, compiler="cinn")


def test_unknown_compiler(runtime):
    with pytest.raises(Unsupported, match="no compiler graph"):
        prepare(runtime, RESNET, compiler="graph")


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_static_agrees_with_eager_and_compiles_once(runtime, workload, mode):
    compiled = prepare(runtime, workload, mode=mode, compiler="static", precision="fp64")
    eager = prepare(runtime, workload, mode=mode, precision="fp64")
    if mode == "inference":
        expected, found = outputs(eager), outputs(compiled)
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


@pytest.mark.filterwarnings("ignore:Conversion of an array with ndim > 0:DeprecationWarning")
def test_counts_the_flops_that_the_workload_states(runtime):
    counted = prepare(runtime, RESNET, mode="inference").counted_flops()
    assert counted == pytest.approx(RESNET.forward_flops(), rel=0.05)


def test_has_no_counter_for_models_of_several_inputs(runtime):
    assert prepare(runtime, BERT, mode="inference").counted_flops() is None


def test_peak_memory_is_this_process(runtime):
    assert prepare(runtime, RESNET).peak_memory_bytes() > 2**26


def test_resnet_of_other_widths_is_refused(runtime):
    narrow = dataclasses.replace(RESNET, config=ResNetConfig(widths=(8, 16, 32, 64)))
    with pytest.raises(ValueError, match="no such widths"):
        prepare(runtime, narrow)


def test_resnet_of_other_blocks_is_refused(runtime):
    short = dataclasses.replace(RESNET, config=ResNetConfig(blocks=(1, 1, 1, 1)))
    with pytest.raises(ValueError, match="no such blocks"):
        prepare(runtime, short)
