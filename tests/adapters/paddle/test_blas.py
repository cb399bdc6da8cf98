"""What PaddlePaddle's adapter reports about the path that MKL takes."""

from __future__ import annotations

import pytest

from mbench_paddle import blas


@pytest.fixture
def processor(tmp_path, monkeypatch):
    """A function that makes this machine's processor one of the given maker."""
    monkeypatch.delenv(blas.VARIABLE, raising=False)
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr(blas, "PROCESSOR", file)
    return lambda maker: file.write_text(f"processor\t: 0\nvendor_id\t: {maker}\n")


def test_on_processors_of_other_makers_a_reader_is_told(processor):
    processor("AuthenticAMD")
    (said,) = blas.differences()
    assert "slowest path" in said
    assert "MKL_DEBUG_CPU_TYPE=5" in said


def test_on_intels_own_there_is_nothing_to_tell(processor):
    processor("GenuineIntel")
    assert blas.differences() == []


def test_where_the_processor_is_not_known_nothing_is_claimed(processor):
    assert blas.differences() == []


def test_nothing_is_said_of_a_build_without_mkl(processor, monkeypatch, tmp_path):
    processor("AuthenticAMD")
    monkeypatch.setattr(blas, "LIBRARY", tmp_path / "none.so")
    assert blas.differences() == []


def test_a_choice_of_the_users_is_told(processor, monkeypatch):
    processor("AuthenticAMD")
    monkeypatch.setenv(blas.VARIABLE, "5")
    assert blas.differences() == ["MKL_DEBUG_CPU_TYPE=5 chooses the path of MKL's matrix products"]
