"""PyTorch without mbench on this device, to compare mbench's figures with. Prints a line of JSON
after each figure; the last line has them all.

Usage: python -m acceptance.bare_torch [--device cuda|cpu]
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import time
from typing import Any

import torch

from mbench.machine.nvml import seen_gpus
from mbench_pytorch.vision import import_torchvision

NCHW, NHWC = torch.contiguous_format, torch.channels_last
WAYS = {
    "fp32 nchw": (None, NCHW, False),
    "fp32 nhwc": (None, NHWC, False),
    "tf32 nhwc": (None, NHWC, True),
    "amp-fp16 nhwc": (torch.float16, NHWC, True),
    "amp-bf16 nhwc": (torch.bfloat16, NHWC, True),
}
"""Type of autocast, layout, TF32."""
ON_CPU = ("fp32 nchw", "amp-bf16 nhwc")
SIZES = {"cuda": (128, 224, 20), "cpu": (2, 64, 2)}
"""Batch, pixels and steps of ResNet-50."""
IEEE, TENSOR_CORES = 1e-6, 1e-5
"""A float32 product's relative error is below IEEE, a TF32 product's above TENSOR_CORES."""
IDLE_SECONDS = 8


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def clock_mhz() -> int | None:
    gpu = next(iter(seen_gpus()), None)
    return None if gpu is None else gpu.ask("GetClockInfo", gpu.nvml.NVML_CLOCK_SM)


def set_tf32(allowed: bool) -> None:
    torch.backends.cudnn.allow_tf32 = allowed
    torch.set_float32_matmul_precision("high" if allowed else "highest")


def training(way: str, device: str) -> dict[str, Any]:
    """Throughput and peak memory of ResNet-50's training."""
    dtype, layout, tf32 = WAYS[way]
    batch, pixels, steps = SIZES[device]
    torch.backends.cudnn.benchmark = True
    set_tf32(tf32)
    from torchvision.models import resnet50

    model = resnet50().to(device, memory_format=layout).train()
    images = torch.randn(batch, 3, pixels, pixels, device=device).contiguous(memory_format=layout)
    labels = torch.randint(1000, (batch,), device=device)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=1e-8, momentum=0.9, weight_decay=1e-4, fused=True
    )
    scaler = torch.amp.GradScaler(device, enabled=dtype is torch.float16)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype, enabled=dtype is not None):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    def peak_gib() -> float | None:
        """The peak since the last call; None on the CPU."""
        if device != "cuda":
            return None
        found = torch.cuda.max_memory_allocated() / 2**30
        torch.cuda.reset_peak_memory_stats()
        return found

    peak_gib()
    step()
    synchronize(device)
    first = peak_gib()
    for _ in range(steps // 4):
        step()
    synchronize(device)
    peak_gib()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    synchronize(device)
    elapsed = time.perf_counter() - begin
    return {
        "images_per_second": batch * steps / elapsed,
        "first_peak_gib": first,
        "steady_peak_gib": peak_gib(),
        "loss_scale": scaler.get_scale(),
        "sm_mhz": clock_mhz(),
    }


def product_errors() -> dict[str, float]:
    """Relative error of a float32 product against float64's, without and with TF32."""
    found = {}
    a = torch.rand(2048, 2048, device="cuda", dtype=torch.float64)
    for name, tf32 in (("fp32", False), ("tf32", True)):
        set_tf32(tf32)
        product = (a.float() @ a.float()).double()
        found[name] = float((product - a @ a).norm() / (a @ a).norm())
    return found


def ramp() -> list[list[float | None]]:
    """[ms since the work began, MHz] after a pause: how fast clocks recover."""
    time.sleep(IDLE_SECONDS)
    a = torch.rand(4096, 4096, device="cuda")
    found, begin = [], time.perf_counter()
    for _ in range(20):
        for _ in range(8):
            a @ a
        torch.cuda.synchronize()
        found.append([round(1e3 * (time.perf_counter() - begin), 1), clock_mhz()])
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=tuple(SIZES), default="cuda")
    device = parser.parse_args().device
    found: dict[str, Any] = {"wrong": []}
    keep = import_torchvision()  # what it declares lives as long as the program

    def tell() -> None:
        print(json.dumps(found), flush=True)

    if device == "cuda" and not torch.cuda.is_available():
        found["wrong"].append("PyTorch sees no GPU")
        tell()
        return
    batch, pixels, _ = SIZES[device]
    found |= {"torch": torch.__version__, "batch": batch, "pixels": pixels, "resnet50": {}}
    if device == "cuda":
        found["gpu"] = torch.cuda.get_device_name()
        found["product_errors"] = errors = product_errors()
        if errors["fp32"] > IEEE:
            found["wrong"].append(f"float32 products are off by {errors['fp32']:.1e}")
        if errors["tf32"] < TENSOR_CORES:
            found["wrong"].append(f"TF32 has no effect: {errors['tf32']:.1e}")
        tell()
    for way in WAYS if device == "cuda" else ON_CPU:
        found["resnet50"][way] = training(way, device)
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
        tell()
    if device == "cuda":
        found["ramp_ms_mhz"] = steps = ramp()
        highest = max((mhz for _, mhz in steps if mhz), default=0)
        there = itertools.dropwhile(lambda one: (one[1] or 0) < 0.95 * highest, steps)
        found["ramp_ms"] = next((ms for ms, _ in there), None)
        tell()
    del keep


if __name__ == "__main__":
    main()
