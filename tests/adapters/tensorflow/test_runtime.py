"""TensorFlow's side of a worker, on models small enough for seconds."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from mbench.contract.adapter import Unsupported
from mbench.contract.case import Case
from mbench.workloads.bert import BERT_BASE, BertConfig
from mbench.workloads.resnet import RESNET50, ResNetConfig

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

from mbench_tensorflow import optimizer, parameters, plugin  # noqa: E402
from mbench_tensorflow import precision as precisions  # noqa: E402
from mbench_tensorflow.compiler import COMPILERS  # noqa: E402
from mbench_tensorflow.runtime import Runtime  # noqa: E402

# Rates at which a step shows, unlike those of timed steps.
RESNET = dataclasses.replace(
    RESNET50,
    config=ResNetConfig(
        blocks=(1, 1, 1, 1), widths=(8, 8, 16, 16), stem=8, classes=10, image_size=32
    ),
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
        "compiler": "graph",
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


def test_describes_itself(runtime):
    info = runtime.describe()
    assert info.version == tf.__version__
    assert info.devices[0] == "cpu"
    assert info.threads == 2
    assert {"keras", "numpy"} < set(info.versions)


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


@pytest.mark.parametrize("mode", ["train", "inference"])
@pytest.mark.parametrize(
    ("precision", "dtype"),
    [
        ("fp32", np.float32),
        ("fp64", np.float64),
        ("amp-bf16", np.float32),
        ("bf16", np.float32),
    ],
)
def test_precisions(runtime, workload, mode, precision, dtype):
    exact = prepare(runtime, workload, mode=mode, precision="fp64", compiler="eager")
    benchmark = prepare(runtime, workload, mode=mode, precision=precision, compiler="eager")
    assert {array.dtype for _, array in benchmark.parameters()} == {np.dtype(dtype)}
    tolerance = 1e-5 if precision in ("fp32", "fp64") else 5e-2
    if mode == "train":
        assert losses(benchmark, 1) == pytest.approx(losses(exact, 1), rel=tolerance)
        return
    for each in (exact, benchmark):
        each.step()
        each.synchronize()
    for name, expected in exact.outputs().items():
        output = benchmark.outputs()[name]
        assert output.dtype == dtype
        difference = np.linalg.norm(output - expected) / np.linalg.norm(expected)
        assert difference < tolerance
        assert (difference > 1e-4) == (precision in ("amp-bf16", "bf16"))


def test_output_shapes(runtime):
    bert = prepare(runtime, BERT, mode="inference")
    resnet = prepare(runtime, RESNET, mode="inference")
    for benchmark in (bert, resnet):
        benchmark.step()
        benchmark.synchronize()
    shapes = {name: array.shape for name, array in bert.outputs().items()}
    assert shapes == {"mlm_logits": (3, 3, 50), "nsp_logits": (3, 2)}
    assert {name: array.shape for name, array in resnet.outputs().items()} == {"logits": (3, 10)}


@pytest.mark.parametrize("plain_sgd", [True, False])
def test_update_follows_the_documented_rule(runtime, workload, plain_sgd):
    """Gradients by TensorFlow, everything after them written out as the workload states it."""
    benchmark = prepare(runtime, workload, precision="fp64", plain_sgd=plain_sgd)
    rule = workload.optimizer.plain_sgd() if plain_sgd else workload.optimizer
    decays = {t.name: rule.weight_decay * t.decay for t in workload.tensors()}
    other = prepare(runtime, workload, precision="fp64", plain_sgd=True, clip=False)
    running = {t.name for t in workload.tensors() if not t.trainable}
    start = dict(workload.parameters(seed=0))
    weights = {n: a.astype(np.float64) for n, a in start.items() if n not in running}
    slow = {n: np.zeros_like(w) for n, w in weights.items()}
    square = {n: np.zeros_like(w) for n, w in weights.items()}
    for step in (1, 2, 3):
        gradients = gradients_at(other, {**start, **weights})
        if rule.clip_norm is not None:
            norm = math.sqrt(sum(float(np.square(g).sum()) for g in gradients.values()))
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
    for name, found in benchmark.parameters():
        if name in weights:
            # The gradient of a key's bias is 0, and what is left of it is rounding.
            allowed = 1e-9 * np.linalg.norm(weights[name] - start[name]) + 1e-17
            assert np.linalg.norm(found - weights[name]) < allowed, name


def gradients_at(benchmark, arrays):
    """The gradient of each parameter at `arrays`, by canonical name and in canonical layout."""
    benchmark.load_parameters(arrays.items())
    family, model, batch = benchmark._family, benchmark._model, benchmark._batch
    with tf.GradientTape() as tape:
        loss = family.loss(family.forward(model, batch, training=True), batch)
    names = parameters.trainable(model)
    gradients = tape.gradient(loss, list(names.values()))
    found = {}
    for name, gradient in zip(names, gradients, strict=True):
        array = tf.convert_to_tensor(gradient).numpy()
        kernel = parameters.is_kernel(parameters.named(model)[name])
        found[name] = parameters.to_canonical(array) if kernel else array
    return found


def test_update_in_bf16_is_near_the_exact_one(runtime, workload):
    """The rate is large: smaller updates are lost to rounding, as bfloat16 has it."""
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
    """Whose running variance is of the unbiased kind, which is seen where samples are few."""
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


@pytest.mark.parametrize("compiler", ["graph", "eager"])
def test_reload_starts_over(runtime, workload, compiler):
    benchmark = prepare(runtime, workload, compiler=compiler)
    first = losses(benchmark, 3)
    assert len(set(first)) == 3
    benchmark.load_parameters(workload.parameters(seed=0))
    assert losses(benchmark, 3) == first


@pytest.mark.parametrize("compiler", ["graph", "xla", "eager"])
def test_dropout_draws_anew_each_step(runtime, compiler):
    benchmark = prepare(runtime, BERT, dropout=True, compiler=compiler)
    found = []
    for _ in range(2):
        benchmark.load_parameters(BERT.parameters(seed=0))
        found += losses(benchmark, 1)
    assert found[0] != found[1]


def test_inference_leaves_parameters_and_repeats(runtime, workload):
    benchmark = prepare(runtime, workload, mode="inference", dropout=True)
    seen = []
    for _ in range(2):
        benchmark.step()
        benchmark.synchronize()
        seen.append(benchmark.outputs())
    for name in seen[0]:
        np.testing.assert_array_equal(seen[0][name], seen[1][name])
    found = dict(benchmark.parameters())
    for name, array in workload.parameters(seed=0):
        np.testing.assert_array_equal(found[name], array)


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


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("fc.bias", (11,), r"\(10,\)"),
        ("fc.weight", (64, 10), r"\(10, 64\)"),
        ("conv1.weight", (7, 7, 3, 8), r"\(8, 3, 7, 7\)"),
    ],
)
def test_load_rejects_a_wrong_shape(runtime, name, shape, expected):
    benchmark = prepare(runtime, RESNET, load=False)
    with pytest.raises(ValueError, match=f"{name} is {expected} in the model"):
        benchmark.load_parameters([(name, np.zeros(shape, np.float32))])


def test_load_rejects_a_tensor_left_out(runtime, workload):
    benchmark = prepare(runtime, workload, load=False)
    missing = workload.tensors()[0].name
    arrays = [(n, a) for n, a in workload.parameters(seed=0) if n != missing]
    with pytest.raises(ValueError, match=f"{missing}, which was left out"):
        benchmark.load_parameters(arrays)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "amp-fp16", "int3"])
def test_precisions_that_cpu_lacks(runtime, precision):
    with pytest.raises(Unsupported, match=precision):
        prepare(runtime, RESNET, precision=precision)


@pytest.mark.parametrize("place", ["outputs", "parameters"])
def test_precision_without_effect_is_unsupported(runtime, monkeypatch, place):
    policy = "float32" if place == "outputs" else "bfloat16"
    without = dataclasses.replace(precisions.PRECISIONS["amp-bf16"], policy=policy)
    monkeypatch.setitem(precisions.PRECISIONS, "amp-bf16", without)
    with pytest.raises(Unsupported, match="amp-bf16 has no effect here"):
        prepare(runtime, RESNET, precision="amp-bf16")


def test_cuda_is_unsupported_where_there_is_none():
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a CUDA device here")
    with pytest.raises(Unsupported, match="CUDA"):
        Runtime(device="cuda", threads=2)


def test_unknown_compiler(runtime):
    with pytest.raises(Unsupported, match="no compiler inductor"):
        prepare(runtime, RESNET, compiler="inductor")


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
        assert compiled._train.experimental_get_tracing_count() == 1
        return
    for each in (eager, compiled):
        each.step()
        each.step()
        each.synchronize()
    assert compiled._infer.experimental_get_tracing_count() == 1
    for name, expected in eager.outputs().items():
        np.testing.assert_allclose(compiled.outputs()[name], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("clip_norm", [None, 1e-3])
@pytest.mark.parametrize("compiled", [True, False])
def test_loss_scaling_skips_what_overflows(runtime, clip_norm, compiled):
    """On its own, in float32: no CPU has the fast float16 that needs it."""
    rule = dataclasses.replace(RESNET.optimizer.plain_sgd(), clip_norm=clip_norm)
    workload = dataclasses.replace(RESNET, optimizer=rule)
    weight = tf.Variable([0.0, 0.0])
    update = optimizer.Update(workload, {"w": weight}, precisions.PRECISIONS["amp-fp16"])

    def step(direction):
        with tf.GradientTape() as tape:
            scaled = update.scaled(tf.reduce_sum(weight * direction))
        update([tape.gradient(scaled, weight)])

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


def test_unknown_rule(runtime):
    strange = dataclasses.replace(RESNET.optimizer, rule="lion")
    with pytest.raises(ValueError, match="no optimizer 'lion'"):
        prepare(runtime, dataclasses.replace(RESNET, optimizer=strange))


def test_counts_the_flops_that_the_workload_states(runtime):
    """Of a model that is not tiny, for elementwise operations are counted too."""
    workload = RESNET50.resized(image_size=64, sequence_length=None)
    counted = prepare(runtime, workload, mode="inference", load=False).counted_flops()
    assert counted == pytest.approx(workload.forward_flops(), rel=0.02)


def test_peak_memory_is_this_process(runtime):
    assert prepare(runtime, RESNET).peak_memory_bytes() > 2**26
