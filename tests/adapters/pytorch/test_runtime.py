"""PyTorch's side of a worker, on models that run in seconds."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
from functools import partial

import numpy as np
import proven
import pytest
import small
from alike import RuntimesAlike, ScalersAlike
from phases import PhasesAlike
from small import BERT, infer, losses, resnet

from mbench.contract.adapter import Unsupported
from mbench.contract.precision import PRECISIONS
from mbench.contract.tier import DEFAULT, TUNED
from mbench.workloads.resnet import ResNetConfig

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch.compiler import COMPILERS  # noqa: E402
from mbench_pytorch.runtime import Benchmark  # noqa: E402
from mbench_pytorch.tiers import TIERS  # noqa: E402

RESNET = resnet(blocks=(1, 1, 1, 1), image_size=32)
WORKLOADS = {"resnet": RESNET, "bert": BERT}
prepare = partial(small.prepare, compiler="eager")


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param]


class TestPhases(PhasesAlike):
    compilers = ("eager",)


class TestAlike(RuntimesAlike):
    version = torch.__version__
    others = ("torch", "torchvision", "transformers", "numpy")

    @staticmethod
    def finds_cuda():
        return torch.cuda.is_available()


class TestScaler(ScalersAlike):
    @staticmethod
    def set_scale(update, scale):
        update._scaler.load_state_dict({**update._scaler.state_dict(), "scale": scale})


@pytest.mark.parametrize(("tier", "waits"), [(DEFAULT, True), (TUNED, False)])
def test_a_fused_optimizer_does_not_wait_for_scaled_gradients(runtime, tier, waits):
    made = prepare(runtime, RESNET, tier=tier)
    kind = PRECISIONS["amp-fp16"]
    update = made.updater(RESNET, made.update.parameters, kind, made.compiler, made.settings)
    said = "GradScaler waits for the gradients before each update"
    assert (said in update.differences) is waits


@pytest.mark.parametrize("precision", ["amp-bf16", "bf16"])
@pytest.mark.parametrize("mode", ["train", "inference"])
@pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN")  # by its own context
def test_an_lstm_is_run_in_bfloat16_by_any_processor(runtime, mode, precision):
    """oneDNN has kernels for it with AVX-512 alone; other processors must run it, too."""
    benchmark = prepare(runtime, proven.LSTM, mode=mode, precision=precision)
    found = losses(benchmark, 2) if mode == "train" else infer(benchmark)["logits"]
    assert np.isfinite(found).all()


@pytest.mark.parametrize("plain_sgd", [True, False])
def test_update_follows_the_documented_rule(runtime, workload, plain_sgd):
    """Gradients come from torch; everything after them is written out as the workload states it."""
    benchmark = prepare(runtime, workload, precision="fp64", plain_sgd=plain_sgd)
    rule = workload.optimizer.plain_sgd(1e-3) if plain_sgd else workload.optimizer
    decays = {t.name: rule.weight_decay * t.decay for t in workload.tensors()}
    start = prepare(runtime, workload, precision="fp64", plain_sgd=True, clip=False)
    model = start.model
    weights = {n: p.detach().clone() for n, p in model.named_parameters()}
    slow = {n: torch.zeros_like(w) for n, w in weights.items()}
    square = {n: torch.zeros_like(w) for n, w in weights.items()}
    for step in (1, 2, 3):
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(weights[name])
        model.zero_grad()
        start.compute(model, start.batch).backward()
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
    """The learning rate is large, since bfloat16 would round smaller updates away."""
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


@pytest.mark.parametrize(
    ("precision", "said"),
    [("tf32", "CUDA"), ("fp16", "use bf16"), ("amp-fp16", "use amp-bf16"), ("int3", "int3")],
)
def test_precisions_that_cpu_lacks(runtime, precision, said):
    with pytest.raises(Unsupported, match=said):
        prepare(runtime, RESNET, precision=precision)


def test_precision_without_effect_is_unsupported(runtime, monkeypatch):
    monkeypatch.setattr("mbench_pytorch.precision.autocast", lambda function, *rest: function)
    with pytest.raises(Unsupported, match="amp-bf16 has no effect here: logits"):
        prepare(runtime, RESNET, precision="amp-bf16")


def test_xla_needs_torch_xla(runtime):
    if importlib.util.find_spec("torch_xla") is not None:
        pytest.skip("torch_xla is installed here")
    with pytest.raises(Unsupported, match="torch_xla is not installed"):
        prepare(runtime, RESNET, compiler="xla")


def test_inductor_needs_a_compiler(runtime, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(Unsupported, match="install no-such-compiler, or name yours in CXX"):
        prepare(runtime, RESNET, compiler="inductor")


@pytest.mark.parametrize(
    ("there", "named", "said"),
    [
        (("gcc", "triton", "Python.h"), None, ""),
        (("clang", "triton", "Python.h"), None, ""),
        (("my-cc", "triton", "Python.h"), "my-cc", ""),
        (("gcc", "Python.h"), None, "needs triton on CUDA: install triton"),
        (("g++", "triton", "Python.h"), None, "install gcc or clang, or name yours in CC"),
        (("gcc", "triton", "Python.h"), "my-cc", "install my-cc, or name yours in CC"),
        (("gcc", "triton"), None, "needs Python.h: install Python's development headers"),
    ],
)
def test_inductor_on_cuda_needs_triton_and_a_c_compiler(there, named, said, monkeypatch, tmp_path):
    """Triton builds a launcher in C for each kernel, when it first runs."""
    for name in there:
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    if named:
        monkeypatch.setenv("CC", named)
    monkeypatch.setattr("mbench_pytorch.compiler.find_spec", lambda name: name in there)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    if not said:
        assert COMPILERS["inductor"]("cuda").device.type == "cuda"
        return
    with pytest.raises(Unsupported, match=said):
        COMPILERS["inductor"]("cuda")


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
        each.step(0)
        each.synchronize()
    for name, expected in eager.outputs().items():
        np.testing.assert_allclose(compiled.outputs()[name], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("device", "precision", "tier", "layout"),
    [
        ("cpu", "fp32", TUNED, torch.channels_last),
        ("cpu", "fp64", TUNED, torch.channels_last),
        ("cuda", "fp32", TUNED, torch.contiguous_format),
        ("cuda", "fp64", TUNED, torch.contiguous_format),
        ("cuda", "tf32", TUNED, torch.channels_last),
        ("cuda", "amp-fp16", TUNED, torch.channels_last),
        ("cuda", "amp-bf16", TUNED, torch.channels_last),
        ("cuda", "fp16", TUNED, torch.channels_last),
        ("cuda", "bf16", TUNED, torch.channels_last),
        ("cuda", "tf32", DEFAULT, torch.contiguous_format),
        ("cpu", "fp32", DEFAULT, torch.contiguous_format),
    ],
)
def test_channels_last_is_for_tensor_cores_and_the_cpu(device, precision, tier, layout):
    made = Benchmark.__new__(Benchmark)
    made.settings = TIERS[tier].settings
    made.compiler = COMPILERS["eager"](device)
    made.precision = PRECISIONS[precision]
    assert made.layout is layout


def test_counts_the_flops_that_the_workload_states(runtime, workload):
    counted = prepare(runtime, workload, mode="inference").counted_flops()
    assert counted == pytest.approx(workload.forward_flops(), rel=0.05)


def test_resnet_of_other_widths_is_refused(runtime):
    narrow = dataclasses.replace(RESNET, config=ResNetConfig(widths=(8, 16, 32, 64)))
    with pytest.raises(ValueError, match="does not support these widths"):
        prepare(runtime, narrow)
