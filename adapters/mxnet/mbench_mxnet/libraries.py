"""The shared libraries that MXNet's wheels expect to find: loads CUDA's from where pip has put
them, and says what to install if one is missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import re
from pathlib import Path

__all__ = ["CUDA", "explain", "load_cuda"]

CUDA = {
    "libcudart.so.11.0": "nvidia-cuda-runtime-cu11==11.8.89",
    "libnvrtc.so.11.2": "nvidia-cuda-nvrtc-cu11==11.8.89",
    "libnvToolsExt.so.1": "nvidia-nvtx-cu11==11.8.86",
    "libcublas.so.11": "nvidia-cublas-cu11==11.11.3.6",
    "libcudnn.so.8": "nvidia-cudnn-cu11==8.9.6.50",
    "libcufft.so.10": "nvidia-cufft-cu11==10.9.0.58",
    "libcurand.so.10": "nvidia-curand-cu11==10.3.0.86",
    "libcusparse.so.11": "nvidia-cusparse-cu11==11.7.5.86",
    "libcusolver.so.11": "nvidia-cusolver-cu11==11.4.1.48",
    "libnccl.so.2": "nvidia-nccl-cu11==2.21.5",
}
"""The libraries that libmxnet.so of mxnet-cu112 is linked with and that libcusolver opens at run
time, and the distribution of each: NVIDIA's own for the last CUDA 11, which also work for binaries
that were built with an earlier one. Each library comes after those that it needs."""
SYSTEM = {
    "libquadmath.so.0": "libquadmath0",
    "libgomp.so.1": "libgomp1",
    "libz.so.1": "zlib1g",
    "libcuda.so.1": "NVIDIA's driver",
}
"""The other libraries, with the Debian packages, or the driver, that bring them."""


def load_cuda() -> None:
    """Load the CUDA libraries installed in this environment, where the loader does not look.

    Once a library of the right name is loaded, libmxnet.so uses it. Others may be the system's.
    """
    found = importlib.util.find_spec("nvidia")  # a namespace package, of one or more folders
    for folder in (found.submodule_search_locations or ()) if found else ():
        for name, requirement in CUDA.items():
            own = requirement.partition("-cu11")[0].removeprefix("nvidia-").replace("-", "_")
            path = Path(folder, own, "lib", name)
            with contextlib.suppress(OSError):  # loading MXNet will report it
                if path.exists():
                    ctypes.CDLL(str(path))


def explain(error: OSError) -> str:
    """One line for the user: what to install, or the loader's message."""
    said = " ".join(str(error).split())
    match = re.match(r"([^\s:]+\.so[.\d]*): cannot open shared object file", said)
    if match and match[1] in CUDA:
        return f"MXNet needs {match[1]}: pip install {CUDA[match[1]]}"
    if match and match[1] in SYSTEM:
        return f"MXNet needs {match[1]}: install {SYSTEM[match[1]]}"
    return f"MXNet's library does not load: {said}"
