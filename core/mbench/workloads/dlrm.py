"""Recommenders: DLRM (Naumov et al. 2019, arXiv:1906.00091), and DLRM-DCNv2, which has a low-rank
cross network in place of pairwise products (Wang et al. 2021, arXiv:2008.13535).

Reference implementation: facebookresearch/dlrm's DLRM_Net; for the cross network, torchrec's
LowRankCrossNet. Shapes: B batch, C continuous features, N category numbers in all bags of a
sample, T tables, D width of their rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.compat import zipped
from mbench.contract.workload import Optimizer, Size, Tensor, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = ["MODELS", "DlrmConfig", "DlrmWorkload"]

# Plain gradient descent, as in facebookresearch/dlrm and MLPerf's DLRM, except for the rate.
RECIPE = Optimizer(rule="sgd", learning_rate=1e-2)


@dataclass(frozen=True, kw_only=True)
class DlrmConfig:
    """Dimensions of DLRM. `bottom` and `top` are the output widths of the two MLPs' layers. A ReLU
    follows each layer except the last of `top`.
    """

    tables: tuple[int, ...]
    """Rows of each table, before `rows` limits them."""
    rows: int
    """The most rows that a table may have: a larger table keeps only its first ones."""
    bags: tuple[int, ...]
    """How many rows of each table are summed for a sample."""
    width: int
    bottom: tuple[int, ...]
    top: tuple[int, ...]
    continuous: int = 13
    cross_layers: int = 0
    """Layers of the cross network; 0 means pairwise products in its place."""
    rank: int = 0

    def without_dropout(self) -> DlrmConfig:
        return self

    @property
    def table_rows(self) -> list[int]:
        return [min(rows, self.rows) for rows in self.tables]

    @property
    def features(self) -> int:
        """Vectors that interact: one for each table, and the bottom MLP's output."""
        return len(self.tables) + 1

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of interacting vectors, each with all before it and none with itself: row by row
        below the diagonal of the matrix of their products.
        """
        return [(one, other) for one in range(self.features) for other in range(one)]

    @property
    def interactions(self) -> int:
        """How many numbers the top MLP takes."""
        if self.cross_layers:
            return self.features * self.width
        return self.width + len(self.pairs)


@dataclass(frozen=True, kw_only=True)
class DlrmWorkload(Workload):
    """The loss is the mean binary cross entropy of a click."""

    config: DlrmConfig
    family: str = "dlrm"
    samples: str = "samples"
    optimizer: Optimizer = RECIPE
    shrinks_by: str = "rows"

    def mlps(self) -> Iterator[tuple[str, int, int]]:
        """Name, inputs and outputs of each linear layer. Odd numbers in names belong to ReLUs."""
        config = self.config
        for name, inputs, outputs in (
            ("bot_l", config.continuous, config.bottom), ("top_l", config.interactions, config.top)
        ):  # fmt: skip
            sizes = (inputs, *outputs)
            for at, (one, other) in enumerate(zipped(sizes[:-1], sizes[1:])):
                yield f"{name}.{2 * at}", one, other

    def tensors(self) -> list[Tensor]:
        """Rows of tables have a norm of about 1."""
        config = self.config
        spread = math.sqrt(3 / config.width)
        found = [
            Tensor(f"emb_l.{at}.weight", (rows, config.width), spread)
            for at, rows in enumerate(config.table_rows)
        ]
        size, rank = config.interactions, config.rank
        for layer in range(config.cross_layers):
            found += [
                Tensor(f"crossnet.W_kernels.{layer}", (size, rank), math.sqrt(3 / rank)),
                Tensor(f"crossnet.V_kernels.{layer}", (rank, size), math.sqrt(3 / size)),
                Tensor(f"crossnet.bias.{layer}", (size,), 0.1),
            ]
        for name, inputs, outputs in self.mlps():
            found.append(Tensor(f"{name}.weight", (outputs, inputs), math.sqrt(6 / inputs)))
            found.append(Tensor(f"{name}.bias", (outputs,), 0.1))
        return found

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """continuous (B, C), float32 of unit variance; categories (B, N), int64: row numbers, one
        table after the other; labels (B,), float32, 0 or 1.
        """
        import numpy as np

        from mbench.contract import generator

        config, key = self.config, f"data/{seed}"
        shape = (size, config.continuous)
        bags = [
            generator.tokens(f"{key}/categories/{at}", (size, bag), below=rows)
            for at, (rows, bag) in enumerate(zipped(config.table_rows, config.bags))
        ]
        labels = generator.integers(f"{key}/labels", (size,), below=2)
        return {
            "continuous": generator.uniform(f"{key}/continuous", shape) * np.float32(math.sqrt(3)),
            "categories": np.concatenate(bags, axis=1),
            "labels": labels.astype(np.float32),
        }

    def forward_flops(self) -> float:
        """Pairwise products count in full: they are a matrix times its transpose."""
        config = self.config
        macs = sum(inputs * outputs for _, inputs, outputs in self.mlps())
        if config.cross_layers:
            macs += config.cross_layers * 2 * config.interactions * config.rank
        else:
            macs += config.features**2 * config.width
        return 2.0 * macs

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """Leaves out concatenations, and the cross network's product with its input."""
        config, size = self.config, self.config.interactions
        found = [
            f"op:embedding_bag/{batch_size}x{bag}x{rows}x{config.width}"
            for rows, bag in zipped(config.table_rows, config.bags)
        ]
        if config.cross_layers:
            found += config.cross_layers * [
                f"op:linear/{batch_size}x{size}x{config.rank}-b0",
                f"op:linear/{batch_size}x{config.rank}x{size}",
                f"op:add/{batch_size}x{size}",
            ]
        else:
            found.append(f"op:bmm/{batch_size}x{config.features}x{config.width}x{config.features}")
        layers = list(self.mlps())
        for _, inputs, outputs in layers:
            found.append(f"op:linear/{batch_size}x{inputs}x{outputs}")
        found += [f"op:relu/{batch_size}x{outputs}" for _, _, outputs in layers[:-1]]
        return found

    def step_numbers(self, batch_size: int, *, training: bool) -> int:
        """The rows that are looked up, and all other weights once. In training the update is dense:
        each parameter and its gradient are both written and read.
        """
        config = self.config
        whole = self.parameter_count()
        tables = sum(config.table_rows) * config.width
        looked_up = batch_size * sum(config.bags) * config.width
        return looked_up + whole - tables + (4 * whole if training else 0)


def model(name: str, title: str, config: DlrmConfig, *, cuda: int, proof_rows: int) -> DlrmWorkload:
    return DlrmWorkload(
        name=name,
        title=title,
        config=config,
        batch_sizes={"cpu": 128, "cuda": cuda},
        sizes={"rows": Size(standard=config.rows, least=4, most=config.rows)},
        proof={"batch_size": 4, "sizes": {"rows": proof_rows}, "learning_rate": 2.0**-7,
               "by_shape": True},
    )  # fmt: skip


# MLPerf's multi-hot Criteo 1TB, with at most 40 million rows per table.
CRITEO = (
    40_000_000, 39_060, 17_295, 7_424, 20_265, 3, 7_122, 1_543, 63, 40_000_000, 3_067_956, 405_282,
    10, 2_209, 11_938, 155, 4, 976, 14, 40_000_000, 40_000_000, 40_000_000, 590_152, 12_973, 108,
    36,
)  # fmt: skip
HOT = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)

MODELS = {
    workload.name: workload
    for workload in (
        model(
            "dlrm-small",
            "DLRM small",
            DlrmConfig(
                tables=(1000,) * 26, rows=1000, bags=(1, 2) * 13, width=16, bottom=(512, 256, 16),
                top=(512, 256, 1),
            ),
            cuda=32768,
            proof_rows=100,
        ),
        model(
            "dlrm-v2",
            "DLRM v2",
            DlrmConfig(
                tables=CRITEO, rows=40_000_000, bags=HOT, width=128, bottom=(512, 256, 128),
                top=(1024, 1024, 512, 256, 1), cross_layers=3, rank=512,
            ),
            cuda=8192,
            proof_rows=100,
        ),
    )
}  # fmt: skip
