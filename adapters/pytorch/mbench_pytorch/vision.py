"""Imports torchvision, even if torch is of a different build."""

from __future__ import annotations

import functools
import importlib

import torch

__all__ = ["import_torchvision"]


@functools.cache
def import_torchvision() -> torch.library.Library | None:
    """Import torchvision; returns the library that declares its missing operators, if any.

    The package index has a CUDA build, whose operators do not load with a CPU torch. The models
    need none of them, but the import fails on the two that torchvision describes to torch: they are
    declared here, only if they are missing. The library must be kept alive, so it is cached.
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
