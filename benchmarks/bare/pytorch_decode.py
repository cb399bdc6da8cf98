"""Decoding in PyTorch, by hand, and by transformers' own model and its `generate`."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache


def loops(steps):
    """Functions that decode n times, by name; and how many tokens are the same, and how far apart
    logits are.

    mbench's own loop is given the tokens that `generate` chooses after the first prompt.
    """
    benchmark, workload = steps.benchmark, steps.work.workload
    family, model, config = benchmark.family, benchmark.model, workload.config
    native = transformers_own(workload)
    prompt = benchmark.placed_batches[0]["input_ids"][:, : config.prompt_length].contiguous()
    new = config.new_tokens
    how = {
        "do_sample": False, "cache_implementation": "static", "disable_compile": True,
        "attention_mask": torch.ones_like(prompt),
    }  # fmt: skip

    @torch.inference_mode()
    def generated(tokens: int) -> torch.Tensor:
        """The prompt, followed by the tokens that are chosen."""
        found: torch.Tensor = native.generate(prompt, max_new_tokens=tokens, **how)
        return found

    chosen = generated(new + 1)[:, config.prompt_length :]
    tokens = [chosen[:, at : at + 1].contiguous() for at in range(new)]
    benchmark.tokens[0] = tokens
    positions = torch.arange(config.prompt_length, config.sequence_length).split(1)
    with torch.inference_mode():
        cache = family.prefill(model, prompt)[1]
        static = StaticCache(config=native.config, max_cache_len=config.sequence_length)
        native(prompt, past_key_values=static, use_cache=True)

    @torch.inference_mode()
    def plain(count: int) -> None:
        for _ in range(count):
            for token, position in zip(tokens, positions, strict=True):
                family.advance(model, cache, token, position)

    def rewind() -> None:
        """Set the static cache back to the end of the prompt."""
        for layer in static.layers:
            if hasattr(layer, "cumulative_length"):
                length = layer.cumulative_length
                if isinstance(length, torch.Tensor):
                    length.fill_(config.prompt_length)
                else:
                    layer.cumulative_length = config.prompt_length

    @torch.inference_mode()
    def forward(count: int) -> list[torch.Tensor]:
        for _ in range(count):
            rewind()
            found = [
                native(
                    token, past_key_values=static, position_ids=position[None], use_cache=True,
                    **placed(position),
                ).logits
                for token, position in zip(tokens, positions, strict=True)
            ]  # fmt: skip
        return found

    def placed(position: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"cache_position": position} if TAKES_POSITION else {}

    def generate(count: int) -> None:
        for _ in range(count):
            generated(new + 1)

    def first(count: int) -> None:
        for _ in range(count):
            generated(1)

    benchmark.step(0)
    own = torch.stack(benchmark._result["logits"], dim=1)  # (B, K, V)
    theirs = torch.cat(forward(1), dim=1)
    facts = {
        "same": int((own.argmax(-1) == chosen[:, 1:]).all(0).sum()),
        "apart": float((own - theirs).norm() / theirs.norm()),
    }
    return {"plain": plain, "forward": forward, "generate": generate, "first": first}, facts


def transformers_own(workload) -> LlamaForCausalLM:
    """transformers' whole model, with its own norms and rotations, on the canonical weights."""
    config = workload.config
    native = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=config.vocabulary, hidden_size=config.hidden,
            intermediate_size=config.intermediate, num_hidden_layers=config.layers,
            num_attention_heads=config.heads, num_key_value_heads=config.key_value_heads,
            hidden_act="silu", max_position_embeddings=config.positions,
            rms_norm_eps=config.epsilon, tie_word_embeddings=config.tied, pad_token_id=None,
            rope_parameters={"rope_type": "default", "rope_theta": config.theta},
            attn_implementation="sdpa",
        )
    ).eval()  # fmt: skip
    weights = {name: torch.from_numpy(array) for name, array in workload.parameters(seed=0)}
    missing, unexpected = native.load_state_dict(weights, strict=False)
    assert not unexpected, unexpected
    assert set(missing) <= {"lm_head.weight"}, missing
    native.tie_weights()
    settings = native.generation_config
    settings.eos_token_id = settings.pad_token_id = None  # nothing ends early
    return native


TAKES_POSITION = "cache_position" in LlamaForCausalLM.forward.__code__.co_varnames
"""Before transformers 5, the position in a cache was an argument; since then, the cache counts."""
