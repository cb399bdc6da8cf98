"""An honest pipeline's pixels are proven, and each planted fault of a pipeline is named."""

from __future__ import annotations

import base64
from functools import partial

import numpy as np
import pytest
from mbench_tiny_images import Files
from support.pipelines import Here

from mbench.contract import wire
from mbench.contract.feed import MEAN, SHARES, STD, pixel_box
from mbench.measure.pixel_proof import observe_pixels
from mbench.proofs import pixels
from mbench.proofs.resize import made, weights

SAID = {
    "no-antialias": "resize without antialias",
    "file-twice": "one file comes twice",
    "last-dropped": "1 of 10 samples are missing: the last are dropped",
    "pixels-kept": "pixels are kept from the epoch before",
    "crop-kept": "the crop is kept from the epoch before",
    "decoded-once": "decoded images are kept from the epoch before",
    "half-size": "decoded at half size",
    "labels-shifted": "labels are off by 1",
    "unshuffled": "samples come in the order of the folder",
}


def observed(folder, lie=""):
    pixels.write_probes(folder, "a")
    here = Here(folder, partial(Files, lie=lie))
    try:
        return observe_pixels(here, folder, depth=2, threads=1)
    finally:
        here.cycler.close()


def test_an_honest_pipeline_has_equal_pixels(tmp_path):
    found = observed(tmp_path)
    assert (found.grade, found.failures, found.psnr) == (pixels.EQUAL, [], None)
    assert found.said == "pixels equal"


@pytest.mark.parametrize("lie", SAID)
def test_a_fault_is_named(lie, tmp_path):
    found = observed(tmp_path, lie)
    assert any(SAID[lie] in said for said in found.failures), found.failures
    assert len(found.failures) == 1, found.failures


def test_another_decoder_is_described_by_its_differences(tmp_path):
    found = observed(tmp_path, "other-decoder")
    assert (found.grade, found.failures) == (pixels.ANOTHER, [])
    assert 2 < found.largest < 4
    assert found.psnr > 35
    assert "another decoder: largest difference" in found.said


def test_roundings_are_within_one():
    given = pixels.Asked(0).epoch("a")
    images = [given.wanted(at, size=pixels.SIZE) + 0.9 for at in range(len(given.ids))]
    whole = np.stack(images).astype("<f4")
    normal = ((whole / 255 - MEAN) / STD).transpose(0, 3, 1, 2).astype("<f4")
    labels = [pixels.probe_of(at)[1] for at in given.ids]
    report = wire.Fed(
        batches=2, ids=list(given.ids), labels=labels, pixels=[],
        images=base64.b64encode(np.ascontiguousarray(normal).tobytes()).decode(),
    )  # fmt: skip
    found = pixels.judge([(given, report)])
    assert (found.grade, found.failures) == (pixels.WITHIN_ONE, [])


def test_weights_sum_to_one_and_widen_with_the_scale():
    for before, after in ((97, 64), (64, 64), (20, 64)):
        found = weights(before, after)
        assert np.allclose(found.sum(axis=1), 1)
    assert (weights(64, 64) == np.eye(64)).all()
    assert (weights(256, 64)[32] > 0).sum() == 8
    assert (weights(256, 64, antialias=False)[32] > 0).sum() == 2


def test_a_crop_is_mirrored_after_it_was_cut():
    image = np.arange(4 * 8 * 3).reshape(4, 8, 3)
    left = (0, 0, SHARES, SHARES // 2)
    assert (
        made(image, left, flip=True, size=4) == made(image, left, flip=False, size=4)[:, ::-1]
    ).all()


@pytest.mark.parametrize(("height", "width"), [(375, 500), (1, 1), (7, 3), (640, 427)])
def test_boxes_lie_within_the_image(height, width):
    for box in [
        (0, 0, 0, 0),
        (0, 0, SHARES, SHARES),
        (65535, 65535, 1, 1),
        (5000, 60000, 655, 5000),
    ]:
        top, left, tall, wide = pixel_box(box, height, width)
        assert top >= 0
        assert left >= 0
        assert tall > 0
        assert wide > 0
        assert top + tall <= height
        assert left + wide <= width
