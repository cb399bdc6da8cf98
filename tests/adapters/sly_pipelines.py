"""A worker's runtime whose input pipeline does not do what it is asked; a file says how it lies.

`Case.variables` name the adapter's package in SLY, and that file in SLY_LIE. This works for
adapters whose pipeline is a data set of Pillow's images behind a loader with processes. These read
the file for each sample, so one worker shows all faults.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mbench_tiny_images import SPY

__all__ = ["SAID", "Runtime"]

SAID = {
    "no-antialias": "resize without antialias",
    "file-twice": "one file comes twice, and another one is missing",
    "last-dropped": "1 of 10 samples are missing: the last are dropped",
    "pixels-kept": "pixels are kept from the epoch before",
    "crop-kept": "the crop is kept from the epoch before",
    "half-size": "decoded at half size",
    "labels-shifted": "labels are off by 1",
    "unshuffled": "samples come in the order of the folder, not in the one that was drawn",
    "unstopped": "the pipeline works while it is stopped",
    "more-cores": "its loaders may use {cores} cores, although 1 thread was requested",
}
"""What each fault must be called, in the order of planting: "more-cores" is last, because loaders
that took more cores keep them.
"""

PACKAGE = os.environ.get("SLY", "")
LIE = Path(os.environ.get("SLY_LIE", ""))
STASH = LIE.parent / "stash"
"""The folder for files that a spy reads while the worker is stopped."""


def lie() -> str:
    return LIE.read_text()


def plant(inputs):
    """Replace parts of an adapter's module of inputs by ones that may lie."""
    from PIL import Image  # tests of other adapters do without it

    honest_open, honest_resize = Image.open, Image.Image.resize

    class Samples(inputs.Samples):
        def __init__(self, source):
            super().__init__(source)
            self.kept = {}

        def __getitem__(self, key):
            at, box, flip = key
            now = lie()
            if now == "loader-dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if now == "loader-hangs":
                time.sleep(3600)
            if now == "more-cores":
                os.sched_setaffinity(0, range(os.cpu_count()))
            if now == "crop-kept":
                box, flip = self.kept.setdefault((now, at), (box, flip))
            if now == "pixels-kept":
                if (now, at) not in self.kept:
                    self.kept[now, at] = super().__getitem__(key)
                return self.kept[now, at]
            image, label, at = super().__getitem__((at, box, flip))
            return image, label + (now == "labels-shifted"), at

    class Batches(inputs.PlannedBatches):
        def __iter__(self):
            batches = [list(batch) for batch in super().__iter__()]
            now = lie()
            if now == "unshuffled":
                keys = sorted(key for batch in batches for key in batch)
                size = self.batch_size
                batches = [keys[at : at + size] for at in range(0, len(keys), size)]
            if now == "file-twice":
                batches[0][1] = batches[0][0]
            if now == "last-dropped":
                del batches[-1][-1]
            yield from batches

    class Files(inputs.Files):
        spy = None

        def __init__(self, benchmark, source):
            super().__init__(benchmark, source)
            self.paths = [source.files.path(at) for at in range(len(source.files))]

        def begin(self, plan):
            if lie() == "unstopped" and self.spy is None:
                STASH.mkdir()
                command = [sys.executable, "-c", SPY, str(os.getpid()), str(STASH), *self.paths]
                self.spy = subprocess.Popen(command, env={}, start_new_session=True)
            super().begin(plan)

        def close(self):
            super().close()
            if self.spy is not None:
                self.spy.kill()
                self.spy.wait()

    def opened(path, mode):
        """The file as the spy read it while the worker was stopped, if it did; else the file."""
        if lie() == "unstopped":
            with contextlib.suppress(OSError):
                return open(STASH / os.path.basename(path), mode)
        return open(path, mode)

    def opened_image(file, *given, **named):
        image = honest_open(file, *given, **named)
        if lie() != "half-size":
            return image
        width, height = image.size
        image.draft("RGB", (width // 2, height // 2))
        return honest_resize(image.convert("RGB"), (width, height))

    def resized(image, size, resample=None, *given, **named):
        if lie() != "no-antialias":
            return honest_resize(image, size, resample, *given, **named)
        scales = image.width / size[0], 0, 0, 0, image.height / size[1], 0
        kind = Image.Transform.AFFINE
        return image.transform(tuple(size), kind, scales, Image.Resampling.BILINEAR)

    inputs.Samples, inputs.PlannedBatches, inputs.Files = Samples, Batches, Files
    inputs.open = opened
    Image.open, Image.Image.resize = opened_image, resized


if PACKAGE:
    plant(importlib.import_module(f"{PACKAGE}.inputs"))
    Runtime = importlib.import_module(f"{PACKAGE}.runtime").Runtime
