"""Imports torchvision, beside a torch of another build too."""

from __future__ import annotations

import functools
import importlib

import torch

__all__ = ["import_torchvision"]


@functools.cache
def import_torchvision() -> torch.library.Library | None:
    """The index holds a CUDA build, whose operators do not load beside a CPU torch. The models
    need none of them, but the import fails on the two that it describes to torch: they are
    declared here where, and only where, they are missing. The result is to be kept.
    """
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms does not exist" not in str(error):
            raise
    else:
        return None
    library = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    importlib.import_module("torchvision")
    return library
