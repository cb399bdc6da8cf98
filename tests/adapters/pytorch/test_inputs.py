"""PyTorch's own input pipeline: its pixels, steps on them, and faults that are planted in it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from inputs import assert_reads_files
from support.pipelines import Bench, Here

from mbench.measure.pixel_proof import observe_pixels
from mbench.proofs import pixels
from mbench_pytorch.plugin import PyTorch

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch import inputs  # noqa: E402
from mbench_pytorch.vision import import_torchvision  # noqa: E402

KEPT = import_torchvision()


def test_pixels_are_equal_and_steps_take_them(tmp_path):
    assert_reads_files(PyTorch(), tmp_path, grade="equal")


class Loads(Bench):
    """What the pipeline needs of a benchmark."""

    compiler = SimpleNamespace(device=torch.device("cpu"))
    precision = SimpleNamespace(parameters="float32")
    layout = torch.contiguous_format

    def to_numpy(self, tensor):
        return tensor.numpy()

    def pixels(self, batch):
        return batch["images"].numpy()


class Sly(inputs.Samples):
    """A data set that does not do as it is asked, by the name of its lie."""

    lie = ""

    def __init__(self, source):
        super().__init__(source)
        self.kept = {}

    def __getitem__(self, key):
        at, box, flip = key
        if self.lie == "crop-kept":
            box, flip = self.kept.setdefault(at, (box, flip))
        if self.lie == "pixels-kept":
            if at not in self.kept:
                self.kept[at] = super().__getitem__(key)
            return self.kept[at]
        image, label, at = super().__getitem__((at, box, flip))
        return image, label + (self.lie == "labels-shifted"), at


class SlyBatches(inputs.PlannedBatches):
    lie = ""

    def __iter__(self):
        batches = list(super().__iter__())
        if self.lie == "unshuffled":
            keys = sorted(key for batch in batches for key in batch)
            batches = [keys[at : at + self.batch_size] for at in range(0, len(keys), 5)]
        if self.lie == "file-twice":
            batches[0][1] = batches[0][0]
        if self.lie == "last-dropped":
            del batches[-1][-1]
        yield from batches


def resized_without_antialias(image, top, left, height, width, size, **given):
    from PIL import Image
    from torchvision.transforms.v2 import functional

    tensor = functional.pil_to_tensor(image)[:, top : top + height, left : left + width]
    plain = torch.nn.functional.interpolate(
        tensor[None].float(), size, mode="bilinear", antialias=False
    )
    found = plain[0].round().clamp(0, 255).to(torch.uint8).permute(1, 2, 0).numpy()
    return Image.fromarray(found)


def opened_at_half_size(file, opened=inputs.Image.open):
    image = opened(file)
    width, height = image.size
    image.draft("RGB", (width // 2, height // 2))
    return image.convert("RGB").resize((width, height))


SAID = {
    "crop-kept": "the crop is kept from the epoch before",
    "pixels-kept": "pixels are kept from the epoch before",
    "labels-shifted": "labels are off by 1",
    "unshuffled": "samples come in the order of the folder, not in the one that was drawn",
    "file-twice": "one file comes twice, and another one is missing",
    "last-dropped": "1 of 10 samples are missing: the last are dropped",
    "no-antialias": "resize without antialias",
    "half-size": "decoded at half size",
}


@pytest.mark.parametrize("lie", SAID)
def test_a_planted_fault_is_named(lie, tmp_path, monkeypatch):
    """In its one loader, which is a process that lives through all epochs."""
    monkeypatch.setattr(inputs, "Samples", Sly)
    monkeypatch.setattr(inputs, "PlannedBatches", SlyBatches)
    monkeypatch.setattr(Sly, "lie", lie)
    monkeypatch.setattr(SlyBatches, "lie", lie)
    if lie == "no-antialias":
        from torchvision.transforms.v2 import functional

        monkeypatch.setattr(functional, "resized_crop", resized_without_antialias)
    if lie == "half-size":
        monkeypatch.setattr(inputs.Image, "open", opened_at_half_size)
    pixels.write_probes(tmp_path, "a")
    here = Here(tmp_path, inputs.open_files, Loads(), loaders=1)
    try:
        found = observe_pixels(here, tmp_path, depth=2)
    finally:
        here.cycler.close()
    assert found.failures == [SAID[lie]]
