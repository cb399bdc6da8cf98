"""Diffusion transformers (Peebles and Xie 2023, arXiv:2212.09748).

Reference implementation: facebookresearch/DiT. A training step denoises latents whose noise and
timesteps are given. Its loss is that of the repository's SpacedDiffusion: the squared error of the
noise plus the variational bound from which the variances learn. Moving averages of weights are not
included. Shapes: B batch, C channels, H W latent pixels, L patches, D hidden, K classes.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from mbench.contract.workload import Optimizer, Size, Tensor, Workload
from mbench.workloads.images import Convolution, Linear

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from mbench.contract.workload import ProofFields
    from mbench.workloads.images import Layer

__all__ = ["CHANNELS", "MODELS", "TIMESTEPS", "DiTConfig", "DiTWorkload", "schedule"]

# As in the repository's training, except for the rate; see Optimizer.
RECIPE = Optimizer(rule="adamw", learning_rate=1e-7, weight_decay=0.0, epsilon=1e-8)
CHANNELS, TIMESTEPS = 4, 1000
"""Channels of latents, and steps of the diffusion."""
WAVES, PERIOD = 128, 10_000.0
"""Embedding of timesteps: this many cosines, then as many sines, with this maximum period."""
DROPPED = 10
"""One class in this many is replaced by class K, "none", which guidance needs."""


@dataclass(frozen=True)
class Embedding:
    """A row for each class, and one for "none"."""

    name: str
    rows: int
    width: int
    auxiliary: bool = False

    def tensors(self) -> Iterator[Tensor]:
        yield Tensor(self.name, (self.rows, self.width), 0.02 * math.sqrt(3))

    def macs(self) -> int:
        return 0


@dataclass(frozen=True)
class Modulation(Linear):
    """Shifts, scales and gates from the condition.

    Unlike in a model to be trained, their biases do not start at zero: zero gates would hide
    everything behind them.
    """

    def tensors(self) -> Iterator[Tensor]:
        weight, bias = super().tensors()
        yield weight
        yield dataclasses.replace(bias, scale=0.5)


@dataclass(frozen=True)
class Scores:
    """Attention's two products of each patch with all others. They have no tensors."""

    name: str
    hidden: int
    length: int
    auxiliary: bool = False

    def tensors(self) -> Iterator[Tensor]:
        return iter(())

    def macs(self) -> int:
        return 2 * self.length**2 * self.hidden


def schedule() -> tuple[np.ndarray, np.ndarray]:
    """(1000,), (1000,), float64: two numbers that the loss needs for each timestep.

    Variances rise linearly from 1e-4 to 0.02. The first number is the logarithm of the step's
    variance less that of its posterior's. The second is the weight of the noise's squared error, in
    units of the posterior's variance. Timestep 0 has the numbers of timestep 1: its bound differs,
    and no batch contains it.
    """
    import numpy as np

    variances = np.linspace(1e-4, 0.02, TIMESTEPS)
    kept = np.cumprod(1 - variances)
    before = np.append(1.0, kept[:-1])
    gaps = np.log((1 - kept[1:]) / (1 - before[1:]))
    weights = variances[1:] / ((1 - variances[1:]) * (1 - before[1:]))
    return np.append(gaps[0], gaps), np.append(weights[0], weights)


def waves(positions: np.ndarray, count: int, *, sines_first: bool) -> np.ndarray:
    """(N,) -> (N, 2 count), float64: the sines and cosines of each position."""
    import numpy as np

    angles = np.outer(positions, PERIOD ** (-np.arange(count) / count))
    parts = [np.cos(angles), np.sin(angles)]
    return np.concatenate(parts[::-1] if sines_first else parts, axis=1)


@dataclass(frozen=True, kw_only=True)
class DiTConfig:
    """Dimensions of a diffusion transformer. Its MLPs are four times as wide and use the tanh
    approximation of GELU. Norms have no weights.
    """

    layers: int
    hidden: int
    heads: int
    patch_size: int
    classes: int = 1000
    latent_size: int = 32
    epsilon: float = 1e-6

    @property
    def side(self) -> int:
        """Patches per side."""
        return self.latent_size // self.patch_size

    @property
    def patch_outputs(self) -> int:
        """Outputs of the last layer for each patch: noise and variance of its pixels."""
        return self.patch_size**2 * 2 * CHANNELS

    def without_dropout(self) -> DiTConfig:
        return self

    def timestep_waves(self) -> np.ndarray:
        """(1000, 256), float64: the fixed embedding of each timestep."""
        import numpy as np

        return waves(np.arange(TIMESTEPS), WAVES, sines_first=False)

    def positions(self) -> np.ndarray:
        """(L, D), float64: the fixed embedding of patch positions. The first half encodes the
        column, the second the row.
        """
        import numpy as np

        each = waves(np.arange(self.side), self.hidden // 4, sines_first=True)
        columns, rows = np.tile(each, (self.side, 1)), np.repeat(each, self.side, axis=0)
        return np.concatenate([columns, rows], axis=1)


@dataclass(frozen=True, kw_only=True)
class DiTWorkload(Workload):
    """The loss is the mean over the batch, and over all pixels and channels, of

    (e - n)^2 + (s + exp(-s) (1 + w (e' - n)^2) - 1) / (2 ln 2),  s = g (v + 1) / 2

    where e and v are the model's noise and variance, e' equals e but is not differentiated, n is
    the given noise, and g and w are the schedule's values at the timestep.
    """

    config: DiTConfig
    family: str = "dit"
    samples: str = "images"
    optimizer: Optimizer = RECIPE

    def resized(self, **sizes: int) -> Workload:
        found = super().resized(**sizes)
        config = cast("DiTConfig", found.config)
        if config.latent_size % config.patch_size:
            raise ValueError(
                f"latent_size of {self.name} must be a multiple of {config.patch_size}, "
                f"the patch size, not {config.latent_size}"
            )
        return found

    def layers(self) -> Iterator[Layer]:
        """Layers in the order of the repository's state_dict."""
        config = self.config
        hidden, patch, length = config.hidden, config.patch_size, config.side**2
        yield Convolution("x_embedder.proj", CHANNELS, hidden, patch, length, bias=True)
        yield Linear("t_embedder.mlp.0", 2 * WAVES, hidden)
        yield Linear("t_embedder.mlp.2", hidden, hidden)
        yield Embedding("y_embedder.embedding_table.weight", config.classes + 1, hidden)
        for layer in range(config.layers):
            at = f"blocks.{layer}"
            yield Linear(f"{at}.attn.qkv", hidden, 3 * hidden, positions=length)
            yield Scores(f"{at}.attn", hidden, length)
            yield Linear(f"{at}.attn.proj", hidden, hidden, positions=length)
            yield Linear(f"{at}.mlp.fc1", hidden, 4 * hidden, positions=length)
            yield Linear(f"{at}.mlp.fc2", 4 * hidden, hidden, positions=length)
            yield Modulation(f"{at}.adaLN_modulation.1", hidden, 6 * hidden)
        yield Linear("final_layer.linear", hidden, config.patch_outputs, positions=length)
        yield Modulation("final_layer.adaLN_modulation.1", hidden, 2 * hidden)

    def tensors(self) -> list[Tensor]:
        return [tensor for layer in self.layers() for tensor in layer.tensors()]

    def forward_flops(self) -> float:
        return 2.0 * sum(layer.macs() for layer in self.layers())

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """Leaves out elementwise operations: SiLU, tanh GELU, the modulation of the norms' outputs,
        and gates. Norms are listed as the framework's layer norm, which has weights.
        """
        config = self.config
        hidden, length, patch = config.hidden, config.side**2, config.patch_size
        tokens, pixels = batch_size * length, config.latent_size
        norm, added = f"op:layer_norm/{tokens}x{hidden}", f"op:add/{tokens}x{hidden}"
        heads = f"{config.heads}x{hidden // config.heads}"

        def linear(inputs: int, outputs: int, rows: int = tokens) -> str:
            return f"op:linear/{rows}x{inputs}x{outputs}"

        block = [
            linear(hidden, 6 * hidden, batch_size),
            *(norm, linear(hidden, 3 * hidden)),
            f"op:attention/{batch_size}x{length}x{heads}",
            *(linear(hidden, hidden), added, norm),
            *(linear(hidden, 4 * hidden), linear(4 * hidden, hidden), added),
        ]
        return [
            f"op:conv2d/{batch_size}x{CHANNELS}x{pixels}x{pixels}-o{hidden}-k{patch}-s{patch}",
            added,
            linear(2 * WAVES, hidden, batch_size),
            linear(hidden, hidden, batch_size),
            f"op:embedding/{batch_size}x{config.classes + 1}x{hidden}",
            f"op:add/{batch_size}x{hidden}",
            *block * config.layers,
            linear(hidden, 2 * hidden, batch_size),
            *(norm, linear(hidden, config.patch_outputs)),
        ]

    def held_numbers(self, *, training: bool) -> int:
        config = self.config
        layers = config.layers * config.side**2 * config.hidden if training else 0
        return layers + 2 * CHANNELS * config.latent_size**2

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """latents (B, 4, H, W) and the noise in them, of the same shape, float32, both of unit
        variance; timesteps (B,) from 1 to 999 and classes (B,), int64; and the schedule's gaps (B,)
        and weights (B,) at the timesteps, float32.
        """
        import numpy as np

        from mbench.contract import generator

        key, side = f"data/{seed}", self.config.latent_size
        clean, noise = (
            generator.uniform(f"{key}/{what}", (size, CHANNELS, side, side)) * math.sqrt(3)
            for what in ("latents", "noise")
        )
        timesteps = 1 + generator.integers(f"{key}/timesteps", (size,), below=TIMESTEPS - 1)
        classes = generator.integers(f"{key}/classes", (size,), below=self.config.classes)
        dropped = generator.integers(f"{key}/dropped", (size,), below=DROPPED) == 0
        kept = np.cumprod(1 - np.linspace(1e-4, 0.02, TIMESTEPS))[timesteps][:, None, None, None]
        gaps, weights = schedule()
        return {
            "latents": (np.sqrt(kept) * clean + np.sqrt(1 - kept) * noise).astype(np.float32),
            "timesteps": timesteps,
            "classes": np.where(dropped, self.config.classes, classes),
            "noise": noise.astype(np.float32),
            "gaps": gaps[timesteps].astype(np.float32),
            "weights": weights[timesteps].astype(np.float32),
        }


def model(
    name: str,
    title: str,
    config: DiTConfig,
    *,
    batch_sizes: dict[str, int],
    proof: ProofFields,
) -> DiTWorkload:
    return DiTWorkload(
        name=name,
        title=title,
        config=config,
        batch_sizes=batch_sizes,
        sizes={"latent_size": Size(standard=config.latent_size, least=config.patch_size)},
        proof={"batch_size": 2, "sizes": {}, "learning_rate": 2.0**-16, **proof},
    )


MODELS = {
    workload.name: workload
    for workload in (
        model(
            "dit-s-8",
            "DiT-S/8",
            DiTConfig(layers=12, hidden=384, heads=6, patch_size=8),
            batch_sizes={"cpu": 4, "cuda": 256},
            proof={},
        ),
        model(
            "dit-xl-2",
            "DiT-XL/2",
            DiTConfig(layers=28, hidden=1152, heads=16, patch_size=2),
            batch_sizes={"cpu": 1, "cuda": 32},
            proof={"sizes": {"latent_size": 8}, "layers": 2},
        ),
    )
}
"""For images of 256 x 256 pixels; latents have an eighth of their side."""
