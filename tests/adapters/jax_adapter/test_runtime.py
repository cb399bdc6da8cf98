"""JAX's side of a worker, on models that run in seconds."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest
import small
from alike import RuntimesAlike
from phases import PhasesAlike
from small import BERT, infer, losses, resnet

from mbench.contract.adapter import Unsupported
from mbench.workloads.gpt2 import MODELS as GPT2
from mbench.workloads.lstm import MODELS as LSTM
from mbench.workloads.resnet import MODELS as RESNETS

pytest.importorskip("jaxlib", reason="JAX is not installed here")

import jax
import jax.numpy as jnp

from mbench_jax import optimizer

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
SHALLOW = dataclasses.replace(BERT, config=dataclasses.replace(BERT.config, layers=1))
WORKLOADS = {"resnet": RESNET, "bert": SHALLOW}
prepare = partial(small.prepare, compiler="jit")


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param]


@pytest.mark.usefixtures("quickly_compiled")
class TestPhases(PhasesAlike):
    compilers = ("jit",)


@pytest.mark.usefixtures("quickly_compiled")
class TestAlike(RuntimesAlike):
    compiler = "jit"
    version = jax.__version__
    others = ("jaxlib", "optax", "numpy")

    @staticmethod
    def finds_cuda():
        return jax.default_backend() == "gpu"


def test_flops_are_not_told_where_xla_has_no_analysis(runtime, monkeypatch):
    made = prepare(runtime, RESNET)
    assert made.counted_flops() > 0
    monkeypatch.setattr(jax.stages.Lowered, "cost_analysis", lambda self: None)
    assert made.counted_flops() is None


def test_flops_are_not_told_where_the_users_variables_leave_out_the_cpu(runtime, monkeypatch):
    def unknown(backend):
        raise RuntimeError(f"Unknown backend {backend}")

    made = prepare(runtime, RESNET)
    monkeypatch.setattr(jax, "local_devices", unknown)
    assert made.counted_flops() is None


def test_compilers_agree_and_trace_once(runtime, workload, monkeypatch):
    """Donated state is not needed again: loading parameters starts from arrays of its own."""
    traced = []
    honest = optimizer.Update.__call__

    def counting(*given):
        traced.append(given)
        return honest(*given)

    monkeypatch.setattr(optimizer.Update, "__call__", counting)
    eager = prepare(runtime, workload, precision="fp64", compiler="eager")
    expected = losses(eager, 3)
    assert len(set(expected)) == 3
    traced.clear()
    compiled = prepare(runtime, workload, precision="fp64", tier="tuned")
    name, first = next(iter(compiled.params.items()))
    assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
    assert first.is_deleted(), f"{name} was not donated"
    compiled.load_parameters(workload.parameters(seed=0))
    assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
    assert len(traced) == 1


def test_outputs_agree_with_eager(runtime, workload):
    compiled = infer(prepare(runtime, workload, mode="inference", precision="fp64"))
    eager = infer(prepare(runtime, workload, mode="inference", precision="fp64", compiler="eager"))
    for name, expected in eager.items():
        assert expected.dtype == np.float64
        np.testing.assert_allclose(compiled[name], expected, rtol=1e-10, atol=1e-13)


def test_nothing_compiled_is_taken_from_a_disk(runtime):
    assert not jax.config.jax_enable_compilation_cache


def test_single_precision_after_double_is_single(runtime):
    """JAX's switch to 64 bits is per process, and is set anew for each case."""
    prepare(runtime, SHALLOW, mode="inference", precision="fp64")
    single = prepare(runtime, SHALLOW, mode="inference", precision="fp32")
    assert {array.dtype for array in single.params.values()} == {jnp.dtype("float32")}
    assert single.batch["input_ids"].dtype == jnp.int32
    assert infer(single)["nsp_logits"].dtype == np.float32


def test_update_in_bf16_is_near_the_exact_one(runtime):
    """The learning rate is large, since bfloat16 would round smaller updates away."""
    rule = dataclasses.replace(SHALLOW.optimizer, learning_rate=1.0, clip_norm=None)
    workload = dataclasses.replace(SHALLOW, optimizer=rule)
    changes = []
    for precision in ("fp64", "bf16"):
        benchmark = prepare(runtime, workload, precision=precision)
        before = dict(benchmark.parameters())
        losses(benchmark, 1)
        changes.append({n: a - before[n] for n, a in benchmark.parameters()})
    exact, found = (each["cls.seq_relationship.bias"] for each in changes)
    assert np.linalg.norm(found - exact) / np.linalg.norm(exact) < 0.02


def test_masks_are_drawn_anew_at_each_step(runtime):
    frozen = SHALLOW.optimizer.plain_sgd(0.0)
    workload = dataclasses.replace(SHALLOW, optimizer=frozen)
    benchmark = prepare(runtime, workload, dropout=True)
    assert len(set(losses(benchmark, 3))) == 3


@pytest.mark.parametrize(
    ("precision", "said"),
    [("tf32", "CUDA"), ("fp16", "use bf16"), ("amp-fp16", "use amp-bf16"), ("int3", "int3")],
)
def test_precisions_that_cpu_lacks(runtime, precision, said):
    with pytest.raises(Unsupported, match=said):
        prepare(runtime, RESNET, precision=precision)


def test_precision_without_effect_is_unsupported(runtime, monkeypatch):
    monkeypatch.setattr("mbench_jax.layers.Net.cast", lambda net, *arrays: arrays)
    with pytest.raises(Unsupported, match="amp-bf16 has no effect here: mlm_logits"):
        prepare(runtime, SHALLOW, precision="amp-bf16")


def test_unknown_rule(runtime):
    strange = dataclasses.replace(SHALLOW.optimizer, rule="lion")
    with pytest.raises(ValueError, match="no optimizer 'lion'"):
        prepare(runtime, dataclasses.replace(SHALLOW, optimizer=strange))


@pytest.mark.parametrize("name", ["resnext50_32x4d", "gpt2-small"])
def test_counts_the_flops_that_the_workload_states(runtime, name):
    """The count may differ by the zeros that pad images, which XLA leaves out."""
    workload = {**RESNETS, **GPT2}[name]
    workload = workload.resized(**workload.proof["sizes"])
    counted = prepare(runtime, workload, mode="inference", load=False).counted_flops()
    assert counted == pytest.approx(workload.forward_flops(), rel=0.03)


def test_does_not_count_the_flops_of_loops(runtime):
    config = dataclasses.replace(LSTM["lstm"].config, layers=2, features=8, hidden=16)
    workload = dataclasses.replace(LSTM["lstm"], config=config).resized(sequence_length=6)
    assert prepare(runtime, workload, mode="inference", load=False).counted_flops() is None
