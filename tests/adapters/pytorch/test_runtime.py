"""PyTorch's side of a worker, on models small enough for seconds."""

from __future__ import annotations

import dataclasses
import importlib.util
import math

import numpy as np
import pytest

from mbench.contract.adapter import Unsupported
from mbench.contract.case import Case
from mbench.workloads.bert import BERT_BASE, BertConfig
from mbench.workloads.resnet import RESNET50, ResNetConfig

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch import plugin  # noqa: E402
from mbench_pytorch.compiler import COMPILERS  # noqa: E402
from mbench_pytorch.runtime import Runtime  # noqa: E402

# Rates at which a step shows, unlike those of timed steps.
RESNET = dataclasses.replace(
    RESNET50,
    config=ResNetConfig(blocks=(1, 1, 1, 1), classes=10, image_size=32),
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


def test_describes_itself(runtime):
    info = runtime.describe()
    assert info.version == torch.__version__
    assert info.devices[0] == "cpu"
    assert info.threads == 2
    assert {"torch", "torchvision", "transformers", "numpy"} <= set(info.versions)


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
    exact = prepare(runtime, workload, mode=mode, precision="fp64")
    benchmark = prepare(runtime, workload, mode=mode, precision=precision)
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
    """Gradients by torch, everything after them written out as the workload states it."""
    benchmark = prepare(runtime, workload, precision="fp64", plain_sgd=plain_sgd)
    rule = workload.optimizer.plain_sgd() if plain_sgd else workload.optimizer
    decays = {t.name: rule.weight_decay * t.decay for t in workload.tensors()}
    start = prepare(runtime, workload, precision="fp64", plain_sgd=True, clip=False)
    model = start._model
    weights = {n: p.detach().clone() for n, p in model.named_parameters()}
    slow = {n: torch.zeros_like(w) for n, w in weights.items()}
    square = {n: torch.zeros_like(w) for n, w in weights.items()}
    for step in (1, 2, 3):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(weights[name])
        model.zero_grad()
        start._compute(model, start._batch).backward()
        gradients = {n: p.grad for n, p in model.named_parameters()}
        if rule.clip_norm is not None:
            norm = math.sqrt(sum(float(g.square().sum()) for g in gradients.values()))
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
                weights[name] = weight - rate * mean / (spread.sqrt() + rule.epsilon)
        losses(benchmark, 1)
    start = dict(workload.parameters(seed=0))
    for name, found in benchmark.parameters():
        if name in weights:
            expected = weights[name].numpy()
            # The gradient of a key's bias is 0, and what is left of it is rounding.
            allowed = 1e-9 * np.linalg.norm(expected - start[name]) + 1e-17
            assert np.linalg.norm(found - expected) < allowed, name


def test_update_in_bf16_is_near_the_exact_one(runtime, workload):
    """The rate is large: smaller updates are lost to rounding, as bfloat16 has it."""
    optimizer = dataclasses.replace(workload.optimizer, learning_rate=0.1, clip_norm=None)
    workload = dataclasses.replace(workload, optimizer=optimizer)
    changes = []
    for precision in ("fp64", "bf16"):
        benchmark = prepare(runtime, workload, precision=precision)
        before = dict(benchmark.parameters())
        losses(benchmark, 1)
        changes.append({n: a - before[n] for n, a in benchmark.parameters()})
    exact, found = changes
    head = "fc.weight" if "fc.weight" in exact else "cls.seq_relationship.weight"
    difference = np.linalg.norm(found[head] - exact[head]) / np.linalg.norm(exact[head])
    assert difference < 0.1


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


def test_load_rejects_a_wrong_shape(runtime):
    benchmark = prepare(runtime, RESNET, load=False)
    with pytest.raises(ValueError, match=r"fc\.bias is \(10,\)"):
        benchmark.load_parameters([("fc.bias", np.zeros(11, np.float32))])


def test_load_rejects_a_tensor_left_out(runtime, workload):
    benchmark = prepare(runtime, workload, load=False)
    *arrays, (last, _) = workload.parameters(seed=0)
    with pytest.raises(ValueError, match=f"{last}, which was left out"):
        benchmark.load_parameters(arrays)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "amp-fp16", "int3"])
def test_precisions_that_cpu_lacks(runtime, precision):
    with pytest.raises(Unsupported, match=precision):
        prepare(runtime, RESNET, precision=precision)


def test_precision_without_effect_is_unsupported(runtime, monkeypatch):
    monkeypatch.setattr(
        "mbench_pytorch.precision.Precision.autocast", lambda self, function, device: function
    )
    with pytest.raises(Unsupported, match="amp-bf16 has no effect here: logits"):
        prepare(runtime, RESNET, precision="amp-bf16")


def test_cuda_is_unsupported_where_there_is_none():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    with pytest.raises(Unsupported, match="CUDA"):
        Runtime(device="cuda", threads=2)


def test_xla_needs_torch_xla(runtime):
    if importlib.util.find_spec("torch_xla") is not None:
        pytest.skip("torch_xla is installed here")
    with pytest.raises(Unsupported, match="torch_xla is not installed"):
        prepare(runtime, RESNET, compiler="xla")


def test_inductor_needs_a_compiler(runtime, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(Unsupported, match="install no-such-compiler, or name yours in CXX"):
        prepare(runtime, RESNET, compiler="inductor")


def test_unknown_compiler(runtime):
    with pytest.raises(Unsupported, match="no compiler graph"):
        prepare(runtime, RESNET, compiler="graph")


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("mode", ["train", "inference"])
def test_inductor_agrees_with_eager_and_compiles_once(runtime, mode):
    shallow = dataclasses.replace(BERT, config=dataclasses.replace(BERT.config, layers=1))
    try:
        compiled = prepare(runtime, shallow, mode=mode, compiler="inductor", precision="fp64")
    except Unsupported as error:
        pytest.skip(str(error))
    eager = prepare(runtime, shallow, mode=mode, precision="fp64")
    if mode == "train":
        expected = losses(eager, 3)
        assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
        with torch.compiler.set_stance("fail_on_recompile"):
            compiled.load_parameters(shallow.parameters(seed=0))
            assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
        return
    for each in (eager, compiled):
        each.step()
        each.synchronize()
    for name, expected in eager.outputs().items():
        np.testing.assert_allclose(compiled.outputs()[name], expected, rtol=1e-10, atol=1e-13)


def test_counts_the_flops_that_the_workload_states(runtime, workload):
    counted = prepare(runtime, workload, mode="inference").counted_flops()
    assert counted == pytest.approx(workload.forward_flops(), rel=0.05)


def test_peak_memory_is_this_process(runtime):
    assert prepare(runtime, RESNET).peak_memory_bytes() > 2**26


def test_resnet_of_other_widths_is_refused(runtime):
    narrow = dataclasses.replace(RESNET, config=ResNetConfig(widths=(8, 16, 32, 64)))
    with pytest.raises(ValueError, match="no such widths"):
        prepare(runtime, narrow)
