"""The description of MXNet, which must be right without MXNet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mbench_mxnet.libraries import explain, load_cuda
from mbench_mxnet.plugin import MXNet


def test_requirements_of_the_pinned_version():
    assert MXNet().requirements(None, "cpu") == ("mxnet==1.9.1", "numpy==1.23.5")
    mxnet, numpy, *libraries = MXNet().requirements(None, "cuda")
    assert (mxnet, numpy) == ("mxnet-cu112==1.9.1", "numpy==1.23.5")
    assert "nvidia-cudnn-cu11==8.9.6.50" in libraries, "MXNet is linked with cuDNN 8"


def test_requirements_of_another_version():
    assert MXNet().requirements("1.9.0", "cpu") == ("mxnet==1.9.0", "numpy==1.23.5")


def test_environment_switches_tensorfloat32_off():
    assert MXNet().variables(threads=3, device="cuda")["NVIDIA_TF32_OVERRIDE"] == "0"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "libquadmath.so.0: cannot open shared object file: No such file or directory",
            "MXNet needs libquadmath.so.0: install libquadmath0",
        ),
        (
            "libgomp.so.1: cannot open shared object file: No such file or directory",
            "MXNet needs libgomp.so.1: install libgomp1",
        ),
        (
            "libcuda.so.1: cannot open shared object file: No such file or directory",
            "MXNet needs libcuda.so.1: install NVIDIA's driver",
        ),
        (
            "libcufft.so.10: cannot open shared object file: No such file or directory",
            "MXNet needs libcufft.so.10: pip install nvidia-cufft-cu11==10.9.0.58",
        ),
        (
            "libodd.so.7: cannot open shared object file:\nNo such file or directory",
            "MXNet's library does not load: libodd.so.7: cannot open shared object file: "
            "No such file or directory",
        ),
    ],
)
def test_explains_a_missing_library(said, told):
    assert explain(OSError(said)) == told


def test_cudas_libraries_are_loaded_from_where_pip_puts_them(tmp_path, monkeypatch):
    """Each library is loaded after those it needs; one that is missing here may be the system's."""
    for name, library in (("cublas", "libcublas.so.11"), ("cuda_runtime", "libcudart.so.11.0"),
                          ("cudnn", "libcudnn.so.8"), ("cudnn", "libodd.so.7")):  # fmt: skip
        folder = tmp_path / "nvidia" / name / "lib"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / library).touch()
    loaded = []

    def load(path):
        loaded.append(Path(path).name)
        if "cublas" in path:
            raise OSError("which loading MXNet will tell")

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    monkeypatch.setattr("ctypes.CDLL", load)
    load_cuda()
    assert loaded == ["libcudart.so.11.0", "libcublas.so.11", "libcudnn.so.8"]


def test_without_cudas_libraries_nothing_is_loaded(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("ctypes.CDLL", None)
    load_cuda()


def test_a_missing_library_is_unsupported():
    """A made-up mxnet fails as the real one does if the library is missing."""
    code = """
import importlib.abc, importlib.machinery, sys

class Broken(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "mxnet" else None

    def exec_module(self, module):
        import ctypes
        ctypes.CDLL("libsurely-missing.so.3")

sys.meta_path.insert(0, Broken())
from mbench.contract.adapter import Unsupported
try:
    import mbench_mxnet.runtime
except Unsupported as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("MXNet's library does not load: libsurely-missing.so.3: cannot")
