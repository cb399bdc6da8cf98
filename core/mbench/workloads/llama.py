"""Llama as a causal language model (Touvron et al. 2023; Grattafiori et al. 2024).

Reference implementation: transformers' LlamaForCausalLM. Root mean square norms come before
attention and MLP. Queries and keys are rotated by their positions, and each group of query heads
shares a head of keys and values. Shapes: B batch, L sequence, D hidden, H heads, W width of a
head, V vocabulary.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.workload import Optimizer, Size, Tensor
from mbench.workloads.decoder import Decoder

if TYPE_CHECKING:
    import numpy as np

    from mbench.contract.workload import ProofFields, Workload

__all__ = ["MODELS", "LlamaConfig", "LlamaWorkload", "RotaryScaling"]

# As in Llama 2 and torchtitan's Llama 3, except for the rate; see Optimizer.
RECIPE = Optimizer(
    rule="adamw",
    learning_rate=1e-7,
    weight_decay=1e-1,
    betas=(0.9, 0.95),
    epsilon=1e-8,
    clip_norm=1.0,
)


@dataclass(frozen=True, kw_only=True)
class RotaryScaling:
    """How Llama 3.1 stretches its rotations over more positions than it was first trained with.
    Waves longer than original_positions / low are slowed down by `factor`, those shorter than
    original_positions / high are kept, and those in between are interpolated.
    """

    factor: float
    low: float = 1.0
    high: float = 4.0
    original_positions: int = 8192

    def scaled(self, frequency: float) -> float:
        turns = self.original_positions * frequency / (2 * math.pi)
        share = min(1.0, max(0.0, (turns - self.low) / (self.high - self.low)))
        return (1 - share) * frequency / self.factor + share * frequency


@dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """Dimensions of Llama. The MLP is SwiGLU; no linear layer has a bias.

    `tied`: the head's weight is the token embedding. `theta`: the base of rotation frequencies.
    """

    layers: int
    hidden: int
    heads: int
    key_value_heads: int
    intermediate: int
    vocabulary: int
    positions: int
    sequence_length: int
    prompt_length: int
    new_tokens: int
    logits_to_keep: int = 0
    tied: bool
    theta: float
    scaling: RotaryScaling | None = None
    epsilon: float = 1e-5

    @property
    def width(self) -> int:
        """Width of a head."""
        return self.hidden // self.heads

    def without_dropout(self) -> LlamaConfig:
        return self

    def rotations(self) -> tuple[np.ndarray, np.ndarray]:
        """(L, W/2), (L, W/2): cosines and sines, float64, by position and pair of channels.

        Pair i of a head is channels i and i + W/2. This is the convention of transformers; in the
        paper, neighbours are pairs.
        """
        import numpy as np

        half = self.width // 2
        frequencies = [self.theta ** (-at / half) for at in range(half)]
        if self.scaling is not None:
            frequencies = [self.scaling.scaled(frequency) for frequency in frequencies]
        angles = np.outer(np.arange(self.sequence_length), np.array(frequencies))
        return np.cos(angles), np.sin(angles)


@dataclass(frozen=True, kw_only=True)
class LlamaWorkload(Decoder):
    """The loss is the mean cross entropy of the next token, over all positions."""

    config: LlamaConfig
    family: str = "llama"
    optimizer: Optimizer = RECIPE

    def tensors(self) -> list[Tensor]:
        config, found = self.config, []
        hidden = config.hidden
        spread = 0.02 * math.sqrt(3)  # standard deviation 0.02, as in transformers
        # Weights that feed the residual sums start smaller, as in torchtitan: two sums per layer.
        summed = spread / math.sqrt(2 * config.layers)
        shared = config.key_value_heads * config.width

        def norm(name: str) -> None:
            found.append(Tensor(f"{name}.weight", (hidden,), 0.1, 1.0, decay=False))

        def linear(name: str, inputs: int, outputs: int, scale: float) -> None:
            found.append(Tensor(f"{name}.weight", (outputs, inputs), scale))

        found.append(Tensor("model.embed_tokens.weight", (config.vocabulary, hidden), spread))
        for layer in range(config.layers):
            at = f"model.layers.{layer}"
            linear(f"{at}.self_attn.q_proj", hidden, hidden, spread)
            linear(f"{at}.self_attn.k_proj", hidden, shared, spread)
            linear(f"{at}.self_attn.v_proj", hidden, shared, spread)
            linear(f"{at}.self_attn.o_proj", hidden, hidden, summed)
            linear(f"{at}.mlp.gate_proj", hidden, config.intermediate, spread)
            linear(f"{at}.mlp.up_proj", hidden, config.intermediate, spread)
            linear(f"{at}.mlp.down_proj", config.intermediate, hidden, summed)
            norm(f"{at}.input_layernorm")
            norm(f"{at}.post_attention_layernorm")
        norm("model.norm")
        if not config.tied:
            linear("lm_head", hidden, config.vocabulary, spread)
        return found

    def forward_flops(self) -> float:
        """Attention counts in full, as it is computed before the mask: torchtitan's convention."""
        config = self.config
        length = config.sequence_length
        return length * (self._token_flops() + self._attention_flops(length)) + self.kept * (
            2.0 * config.hidden * config.vocabulary
        )

    def masked_flops(self) -> float:
        length = self.config.sequence_length
        return length * self._attention_flops(length) / 2

    def lengthened(self) -> dict[str, Workload]:
        if not self.stages:
            return {}
        layers = self.config.layers
        whole = "layers" not in self.proof
        return self.forms("layers", layers, lambda more: {"layers": layers + more}, partly=whole)

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        config = self.config
        length = config.sequence_length
        found = self._operations(batch_size, length, length, self.kept)
        if training:
            found.append(f"op:cross_entropy/{batch_size * self.kept}x{config.vocabulary}")
        return found

    def decode_operations(self, batch_size: int) -> list[str]:
        """Attention covers all positions of the cache, as with a static cache."""
        each = self._operations(batch_size, 1, self.config.sequence_length, 1)
        return each * self.config.new_tokens

    def _operations(self, batch_size: int, length: int, positions: int, kept: int) -> list[str]:
        """Operations of the last `length` of `positions` tokens, with the logits of `kept`."""
        config, tokens = self.config, batch_size * length
        hidden, inner, heads = config.hidden, config.intermediate, config.heads
        shared = config.key_value_heads
        shape = f"{batch_size}x{length}"
        norm, sum_ = f"op:rms_norm/{tokens}x{hidden}", f"op:add/{tokens}x{hidden}"

        def linear(inputs: int, outputs: int, rows: int = tokens) -> str:
            return f"op:linear/{rows}x{inputs}x{outputs}-b0"

        layer = [
            norm,
            linear(hidden, hidden),
            *[linear(hidden, shared * config.width)] * 2,
            *(f"op:rotary/{shape}x{count}x{config.width}" for count in (heads, shared)),
            f"op:grouped_attention/{shape}x{positions}x{heads}x{shared}x{config.width}",
            *(linear(hidden, hidden), sum_, norm),
            *[linear(hidden, inner)] * 2,
            *(f"op:swiglu/{tokens}x{inner}", linear(inner, hidden), sum_),
        ]
        return [
            f"op:embedding/{tokens}x{config.vocabulary}x{hidden}",
            *layer * config.layers,
            norm,
            linear(hidden, config.vocabulary, batch_size * kept),
        ]

    def decode_flops(self) -> float:
        """FLOPs of the tokens after the prompt. Attention counts the positions up to each token,
        not the empty ones of the cache.
        """
        config = self.config
        first = config.prompt_length + 1
        attention = sum(
            self._attention_flops(length) for length in range(first, first + config.new_tokens)
        )
        head = 2.0 * config.hidden * config.vocabulary
        return config.new_tokens * (self._token_flops() + head) + attention

    def held_numbers(self, *, training: bool) -> int:
        config = self.config
        layers = config.layers * config.sequence_length * config.hidden if training else 0
        return layers + self.kept * config.vocabulary

    def cache_size(self) -> int:
        """A key and a value for each position."""
        config = self.config
        return 2 * config.layers * config.sequence_length * config.key_value_heads * config.width

    def read_numbers(self, batch_size: int) -> tuple[int, int]:
        config = self.config
        tables = [one.size for one in self.tensors() if one.name == "model.embed_tokens.weight"]
        looked_up = 0 if config.tied else sum(tables) - batch_size * config.hidden
        each = self.cache_size() // config.sequence_length
        first = config.prompt_length + 1
        attended = sum(range(first, first + config.new_tokens))
        weights = config.new_tokens * (self.parameter_count() - max(0, looked_up))
        return weights, batch_size * each * attended

    def _token_flops(self) -> float:
        """FLOPs of a token's linear layers, without the head."""
        config = self.config
        shared = config.key_value_heads * config.width
        each = config.hidden * (2 * config.hidden + 2 * shared + 3 * config.intermediate)
        return 2.0 * config.layers * each

    def _attention_flops(self, length: int) -> float:
        """FLOPs of a token that attends to `length` positions: scores and the weighted sum."""
        return 4.0 * self.config.layers * length * self.config.hidden


def model(
    name: str,
    title: str,
    *,
    config: LlamaConfig,
    batch_sizes: dict[str, int],
    proof: ProofFields,
    stages: tuple[str, ...] = ("layers",),
) -> LlamaWorkload:
    """`proof` adds to the small sizes that all proofs share."""
    most, vocabulary = config.positions, config.vocabulary
    smaller = proof.get("sizes", {})
    widths = {name: Size(standard=getattr(config, name)) for name in smaller}
    sizes = {"sequence_length": 16, "prompt_length": 11, "new_tokens": 5, **smaller}
    return LlamaWorkload(
        name=name,
        title=title,
        config=config,
        batch_sizes=batch_sizes,
        sizes={
            **widths,
            "sequence_length": Size(standard=config.sequence_length, most=most),
            "prompt_length": Size(standard=config.prompt_length, most=most),
            "new_tokens": Size(standard=config.new_tokens, most=most),
            "logits_to_keep": Size(standard=0, least=0, most=most),
            "vocabulary": Size(standard=vocabulary, least=2, most=vocabulary),
        },
        proof={"batch_size": 2, "learning_rate": 2.0**-16, **proof, "sizes": sizes},
        stages=stages,
    )


SMALL = LlamaConfig(
    layers=6, hidden=256, heads=16, key_value_heads=16, intermediate=768, vocabulary=2048,
    positions=2048, sequence_length=256, prompt_length=64, new_tokens=32, tied=False, theta=5e5,
)  # fmt: skip
"""torchtitan's debug model."""
LARGE = LlamaConfig(
    layers=32, hidden=4096, heads=32, key_value_heads=8, intermediate=14336, vocabulary=128256,
    positions=131072, sequence_length=8192, prompt_length=512, new_tokens=128, tied=False,
    theta=5e5, scaling=RotaryScaling(factor=8.0),
)  # fmt: skip
"""Llama 3.1 8B; the smaller models of its generation differ little from it."""
FEW_WORDS = 1024
"""Vocabulary in proofs of the large models, whose parameters, gradients and moments take 40 GB or
more in float64. These proofs have fewer layers, too."""
NARROW = 1024
"""Width of the MLP in the proof of the largest model, one layer of which takes 7 GB."""
MODELS = {
    workload.name: workload
    for workload in (
        model("llama-6m", "Llama 6M", config=SMALL, batch_sizes={"cpu": 4, "cuda": 64}, proof={}),
        model(
            "llama-15m",
            "Llama 15M",
            config=dataclasses.replace(
                SMALL, hidden=288, heads=6, key_value_heads=6, vocabulary=32000, positions=256,
                tied=True, theta=1e4,
            ),
            batch_sizes={"cpu": 1, "cuda": 32},
            proof={},
        ),
        model(
            "llama3.2-1b",
            "Llama 3.2 1B",
            config=dataclasses.replace(
                LARGE, layers=16, hidden=2048, intermediate=8192, tied=True,
                scaling=RotaryScaling(factor=32.0),
            ),
            batch_sizes={"cpu": 1, "cuda": 1},
            proof={"sizes": {"vocabulary": FEW_WORDS}, "layers": 2},
        ),
        model(
            "llama3.1-8b",
            "Llama 3.1 8B",
            config=LARGE,
            batch_sizes={"cpu": 1, "cuda": 1},
            proof={"sizes": {"vocabulary": FEW_WORDS, "intermediate": NARROW}, "layers": 1},
            stages=(),
        ),
    )
}  # fmt: skip
