"""The least memory that a case needs; no case that fits is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from mbench.cli.builtin import mbench_workloads
from mbench.contract.case import Case
from mbench.spec.footprint import least

GIB = 2**30
ZOO = mbench_workloads()


def case_of(model, *, mode="train", batch_size=1, precision="fp32", device="cpu", **axes):
    return Case(
        model=model, workload=ZOO[model], mode=mode, batch_size=batch_size, precision=precision,
        compiler="any", device=device, threads=1, **axes,
    )  # fmt: skip


def test_decoding_needs_weights_and_a_cache():
    """The cache: keys and values of 8 heads of 64 numbers in 16 layers, at 512 + 128 positions."""
    found = least(case_of("llama3.2-1b", mode="decode", batch_size=512))
    assert found.weights == 4 * 1_235_814_400
    assert found.cache == 512 * 640 * 2 * 16 * 8 * 64 * 4
    assert found.gradients == found.moments == 0
    half = least(case_of("llama3.2-1b", mode="decode", batch_size=512, precision="bf16"))
    assert (half.weights, half.cache) == (found.weights / 2, found.cache / 2)


def test_training_needs_gradients_moments_and_activations():
    one, eight = (least(case_of("vit-s-16", batch_size=n)) for n in (1, 8))
    assert one.weights == one.gradients == one.moments / 2 == 4 * 22_050_664
    assert eight.batch == 8 * one.batch
    # 12 layers of 197 positions. Besides weights, gradients and moments, a whole step of eight was
    # measured to take 1.2 GB.
    assert 8 * 12 * 197 * 384 * 4 < eight.batch < 1.2e9
    inference = least(case_of("vit-s-16", mode="inference"))
    assert inference.bytes < one.weights + 1e6


def test_micro_batches_divide_what_a_pass_holds_and_not_its_inputs():
    whole = least(case_of("gpt2-small", batch_size=8))
    parts = least(case_of("gpt2-small", batch_size=8, accumulate=4))
    inputs = 8 * 2 * 512 * 4
    assert parts.batch - inputs == pytest.approx((whole.batch - inputs) / 4)
    assert parts.fixed == whole.fixed


@pytest.mark.parametrize(("device", "memory"), [("cpu", 24), ("cuda", 80)])
def test_no_model_is_refused_at_its_usual_batch(device, memory):
    """Except models whose weights, gradients and moments alone need more memory."""
    from mbench.workloads.find import find_workload

    refused = set()
    for model in ZOO:
        size = find_workload(ZOO[model], model).usual_batch(device)
        case = case_of(model, batch_size=size, device=device)
        if least(case).refusal(case, bytes_there=memory * GIB, where="it"):
            refused.add(model)
    assert refused <= {"llama3.1-8b", "llama3.2-1b", "gpt2-xl", "mixtral-8x7b", "dlrm-v2"}


@pytest.mark.parametrize(("memory", "rows"), [(30, 2_000_000), (1, 30_000)])
def test_tables_that_do_not_fit_can_have_fewer_rows(memory, rows):
    """The message proposes a number of rows with which they do fit."""
    case = case_of("dlrm-v2", batch_size=128)
    said = least(case).refusal(case, bytes_there=memory * GIB, where="this machine")
    assert said.endswith(f"use --size rows={rows}, or more memory")
    fewer = replace(case, sizes={"rows": rows})
    assert not least(fewer).refusal(fewer, bytes_there=memory * GIB, where="this machine")


def test_a_model_that_fits_with_no_size_is_not_made_smaller():
    case = case_of("dlrm-v2")
    assert "--size" not in least(case).refusal(case, bytes_there=2**20, where="this machine")


def test_precisions_and_operators_of_which_nothing_is_known_are_left_alone():
    assert least(case_of("resnet18", precision="strange")) is None
    product = Case(
        model="op:matmul/65536x65536x65536", workload="mbench.workloads.operators:OPERATORS",
        mode="inference", batch_size=10**6, precision="fp32", compiler="any", device="cpu",
        threads=1,
    )  # fmt: skip
    assert least(product) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--models", "llama3.1-8b", "--mode", "decode", "--batch-size", "100000000"],
         "llama3.1-8b decode at batch size 100000000 needs at least"),
        (["--models", "resnet18", "--batch-size", "100000000"], "use a smaller --batch-size"),
        (["--models", "llama-15m", "--mode", "decode", "--new-tokens", "0"], "'0' is not a whole"),
        (["--models", "llama-15m", "--mode", "prefill", "--prompt-length", "500"],
         "prompt_length of llama-15m must be 1 to 256, not 500"),
    ],
)  # fmt: skip
def test_it_is_one_line_before_anything_is_built(tmp_path, options, said):
    done = subprocess.run(
        [sys.executable, "-m", "mbench", "compare", "torch", "jax", *options],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())
