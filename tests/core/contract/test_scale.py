"""How many devices a case has, as one word."""

from __future__ import annotations

import pytest
from cases import make_case

from mbench.contract.rank import SINGLE, RankInfo, Scale, parse_scale


def test_a_scale_is_nodes_times_devices():
    scale = parse_scale("4x32")
    assert scale == Scale(nodes=4, devices_per_node=32)
    assert scale.devices == 128


@pytest.mark.parametrize(
    "word", ["", "8", "0x1", "1x0", "2X8", "2x", "x8", "2x8x1", "-1x2", "1.5x2"]
)
def test_what_is_no_scale_is_refused(word):
    with pytest.raises(ValueError, match="is not a scale"):
        parse_scale(word)


def test_a_case_counts_the_samples_of_all_its_devices():
    case = make_case(batch_size=16, scale="2x8")
    assert (case.devices, case.samples_per_step) == (16, 256)
    assert make_case(batch_size=16).samples_per_step == 16


def test_ranks_meet_with_the_first():
    place = RankInfo(rank=1, ranks=2, peers=["10.0.0.1:5000", "10.0.0.2:6000"])
    assert (place.meet, place.own) == ("10.0.0.1:5000", "10.0.0.2:6000")
    assert (SINGLE.meet, SINGLE.own) == ("", "")
