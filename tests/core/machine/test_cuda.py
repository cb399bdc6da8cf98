"""Which of a machine's NVIDIA GPUs each process sees, tested without a GPU."""

from __future__ import annotations

import pytest

from mbench.errors import UsageError
from mbench.machine.cuda import Cuda


@pytest.mark.parametrize(
    ("chosen", "rank", "seen"),
    [(None, 1, "1"), ("0,1", 1, "1"), ("5, 3", 1, "3"), ("GPU-a,MIG-b", 0, "GPU-a")],
)
def test_each_process_of_a_machine_sees_a_gpu_of_its_own(monkeypatch, chosen, rank, seen):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert Cuda().visible(rank) == {"CUDA_VISIBLE_DEVICES": seen}


def test_a_gpu_that_is_named_twice_is_not_shared_by_two_processes(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0, 1,0")
    assert Cuda().visible(1) == {"CUDA_VISIBLE_DEVICES": "1"}
    with pytest.raises(UsageError, match="lists 0 twice: two processes would share it"):
        Cuda().visible(2)


def test_more_processes_than_gpus_are_refused(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    with pytest.raises(UsageError, match="lists 1 GPU, but this machine needs 2"):
        Cuda().visible(1)
