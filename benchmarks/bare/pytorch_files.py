"""Images from files in PyTorch, by hand: DataLoader over torchvision's ImageFolder."""

from __future__ import annotations

from torch import float32, set_num_threads
from torch.utils.data import DataLoader

from mbench.contract.feed import MEAN, STD
from mbench_pytorch.runtime import import_torchvision

KEPT = import_torchvision()


class Transform:
    """The central square of 7/8 of the shorter side, resized and normalised."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, image):
        from torchvision.transforms.v2 import functional

        side = min(image.size) * 7 // 8
        left, top = (image.width - side) // 2, (image.height - side) // 2
        size = [self.size, self.size]
        image = functional.resized_crop(image, top, left, side, side, size, antialias=True)
        tensor = functional.to_dtype(functional.pil_to_tensor(image), float32, scale=True)
        return functional.normalize(tensor, list(MEAN), list(STD))


class Batches:
    """A batch sampler whose ids may change between epochs."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ids: list[int] = []

    def __iter__(self):
        for first in range(0, len(self.ids), self.size):
            yield self.ids[first : first + self.size]


def one_thread(_: int) -> None:
    set_num_threads(1)


def open_files(folder, *, batch_size: int, image_size: int, loaders: int):
    """A function from ids to an iterator of batches."""
    from torchvision.datasets import ImageFolder

    batches = Batches(batch_size)
    images = ImageFolder(folder.root, Transform(image_size))
    loader = DataLoader(
        images, batch_sampler=batches, num_workers=loaders, persistent_workers=True,
        worker_init_fn=one_thread,
    )  # fmt: skip

    def begin(ids: list[int]):
        batches.ids = ids
        return iter(loader)

    return begin
