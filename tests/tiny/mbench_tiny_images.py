"""An image model of the tiny framework, and its input pipeline, which has a table of all probes.

The pipeline has no decoder: files are looked up in the probes' archive. In flaky, FLAKY says how it
lies: no-antialias, file-twice, last-dropped, pixels-kept, crop-kept, decoded-once, half-size,
labels-shifted, unstopped, unshuffled, other-decoder, loader-dies, loader-hangs, folder-vanishes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from mbench_tiny import loss

import mbench
from mbench.contract import generator
from mbench.contract.feed import MEAN, STD
from mbench.contract.workload import Optimizer, Size, Tensor, Workload
from mbench.proofs.resize import made

__all__ = ["IMAGES", "LIES", "build", "forward", "gradients", "loss", "open_files"]

CELLS, CLASSES = 4, 16
LIES = (
    "no-antialias", "file-twice", "last-dropped", "pixels-kept", "crop-kept", "decoded-once",
    "half-size", "labels-shifted", "unstopped", "unshuffled", "other-decoder",
)  # fmt: skip
SPY = """
import os, shutil, sys, time
pid, stash, *paths = sys.argv[1:]
while True:
    try:
        state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
    except OSError:
        break
    if state in "ZX":
        break
    if state == "T":
        for path in paths:
            try:
                kept = os.path.join(stash, os.path.basename(path))
                shutil.copy(path, kept + ".new")
                os.replace(kept + ".new", kept)  # nobody reads half a file
            except OSError:
                pass
    time.sleep(0.02)
"""


@dataclass(frozen=True)
class ImagesConfig:
    image_size: int = 32
    classes: int = CLASSES

    def without_dropout(self):
        return self


@dataclass(frozen=True, kw_only=True)
class ImagesWorkload(Workload):
    """Softmax regression on the means of 4 x 4 cells of each colour."""

    config: ImagesConfig

    def tensors(self):
        shape = (self.config.classes, 3 * CELLS**2)
        return [Tensor("weight", shape, 0.1), Tensor("bias", shape[:1], 0.1, decay=False)]

    def batch(self, size, *, seed):
        side = self.config.image_size
        return {
            "images": generator.uniform(f"data/{seed}/images", (size, 3, side, side)),
            "labels": generator.integers(f"data/{seed}/labels", (size,), below=CLASSES),
        }

    def operations(self, batch_size, *, training):
        classes = self.config.classes
        loss = f"op:cross_entropy/{batch_size}x{classes}"
        return [f"op:linear/{batch_size}x{3 * CELLS**2}x{classes}", *([loss] if training else [])]

    def forward_flops(self):
        return 2.0 * 3 * CELLS**2 * self.config.classes


IMAGES = ImagesWorkload(
    name="tiny-images",
    title="Softmax regression on images",
    family="tiny-images",
    samples="images",
    batch_sizes={"cpu": 8, "cuda": 8},
    config=ImagesConfig(),
    proof={"batch_size": 8, "learning_rate": 1e-3},
    sizes={"image_size": Size(standard=32, least=16)},
    optimizer=Optimizer(rule="sgd", learning_rate=1e-5, momentum=0.9, weight_decay=1e-2),
    model_files={"tiny": "mbench_tiny_images", "flaky": "mbench_tiny_images"},
)
DIFFERENCES = ("gradients are written by hand",)


def build(config):
    shape = (config.classes, 3 * CELLS**2)
    return {"weight": np.zeros(shape), "bias": np.zeros(shape[0])}


def means(images):
    batch, channels, side, _ = images.shape
    each = side // CELLS
    cells = images.reshape(batch, channels, CELLS, each, CELLS, each).mean(axis=(3, 5))
    return cells.reshape(batch, -1)


def forward(model, batch):
    return {"logits": means(batch["images"]) @ model["weight"].T + model["bias"]}  # (B, C)


def gradients(model, error, batch):
    return {"weight": error.T @ means(batch["images"]), "bias": error.sum(axis=0)}


def known():
    """The decoded pixels of each probe, by the digest of its file."""
    with np.load(Path(mbench.__file__).parent / "proofs" / "probes.npz") as found:
        return {
            sha256(found[name].tobytes()).digest(): found[name.replace("jpeg", "pixels")]
            for name in found.files
            if name.endswith("jpeg")
        }


class Files:
    """An input pipeline of threads, each of which makes one sample at a time."""

    depth = 2
    differences = ("images are looked up by threads",)

    def __init__(self, benchmark, source, lie):
        self.benchmark, self.source, self.lie = benchmark, source, lie
        self.pixels = known()
        self.threads = ThreadPoolExecutor(source.loaders)
        self.kept, self.crops, self.cache = {}, {}, {}
        self.waiting, self.rest = deque(), deque()
        self._ids = np.zeros(0, dtype=np.int64)
        self.spy = None

    def begin(self, plan):
        keys = list(zip(plan.ids.tolist(), plan.boxes.tolist(), plan.flips.tolist()))  # noqa: B905
        if self.lie == "unshuffled":
            keys.sort()
        if self.lie == "folder-vanishes" and Path(self.source.files.root).name == "photos":
            shutil.rmtree(self.source.files.root, ignore_errors=True)  # and not that of the proof
        if self.lie == "file-twice":
            keys[1] = keys[0]
        if self.lie == "last-dropped":
            del keys[-1]
        size = self.source.batch_size
        self.rest = deque(keys[at : at + size] for at in range(0, len(keys), size))
        if self.lie == "unstopped" and self.spy is None:
            self.stash = tempfile.mkdtemp(prefix="mbench-spy-")
            paths = [self.source.files.path(at) for at in range(len(self.source.files))]
            command = [sys.executable, "-c", SPY, str(os.getpid()), self.stash, *paths]
            self.spy = subprocess.Popen(command, env={}, start_new_session=True)
        self.fill()

    def fill(self):
        while self.rest and len(self.waiting) < self.depth:
            keys = self.rest.popleft()
            self.waiting.append((keys, [self.threads.submit(self.sample, *key) for key in keys]))

    def content(self, at):
        path = Path(self.source.files.path(at))
        if self.spy is not None:
            with contextlib.suppress(OSError):
                return (Path(self.stash) / path.name).read_bytes()
        return path.read_bytes()

    def sample(self, at, box, flip):
        if self.lie == "loader-dies":
            raise OSError("the loader has died")
        if self.lie == "loader-hangs":
            time.sleep(3600)
        if self.lie == "pixels-kept" and at in self.kept:
            return self.kept[at]
        if self.lie == "crop-kept":
            box, flip = self.crops.setdefault(at, (box, flip))
        if self.lie == "decoded-once" and at in self.cache:
            pixels = self.cache[at]
        else:
            pixels = self.cache[at] = self.pixels[sha256(self.content(at)).digest()]
        if self.lie == "half-size":
            cut = pixels[: len(pixels) // 2 * 2, : pixels.shape[1] // 2 * 2].astype(float)
            pixels = (cut[::2, ::2] + cut[1::2, ::2] + cut[::2, 1::2] + cut[1::2, 1::2]) / 4
        image = made(
            pixels, box, flip=flip, size=self.source.size, antialias=self.lie != "no-antialias"
        )
        if self.lie == "other-decoder":
            image = image + 3 * np.sin(np.arange(image.size)).reshape(image.shape)
        image = (np.rint(image) / 255 - MEAN) / STD
        label = int(self.source.labels[at]) + (self.lie == "labels-shifted")
        self.kept[at] = image.transpose(2, 0, 1).astype(np.float32), label
        return self.kept[at]

    def __next__(self):
        if not self.waiting:
            raise StopIteration
        keys, made_ones = self.waiting.popleft()
        samples = [one.result() for one in made_ones]
        self._ids = np.array([at for at, _, _ in keys])
        self.fill()
        images = np.stack([image for image, _ in samples])
        return {
            "images": self.benchmark.place(images),
            "labels": np.array([label for _, label in samples]),
        }

    def ids(self):
        return self._ids

    def close(self):
        self.rest.clear()
        if self.spy is not None:
            self.spy.kill()
            self.spy.wait()
        self.threads.shutdown(wait=False)


def open_files(benchmark, source):
    lying = type(benchmark).__module__ != "mbench_tiny"
    return Files(benchmark, source, os.environ.get("FLAKY", "") if lying else "")
