"""Decoding in JAX, by hand: a jitted function of one token, whose cache is donated."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def loops(steps):
    """Functions that decode n times, by name, and no facts about them."""
    benchmark = steps.benchmark
    family, model, config = benchmark.family, benchmark.model, benchmark.decoder
    ids = benchmark.placed_batches[0]["input_ids"]
    places = range(config.prompt_length, config.sequence_length)
    tokens = [ids[:, at : at + 1] for at in places]
    positions = [jnp.array(at, jnp.int32) for at in places]

    def net(params):
        return model.__class__(**{**vars(model), "params": params})

    fill = jax.jit(lambda params, tokens: family.prefill(net(params), tokens))
    advance = jax.jit(
        lambda params, cache, token, at: family.advance(net(params), cache, token, at),
        donate_argnums=(1,),
    )
    held = [fill(benchmark.params, ids[:, : config.prompt_length])[1]]

    def plain(count: int) -> None:
        cache, params = held.pop(), benchmark.params
        for _ in range(count):
            for token, position in zip(tokens, positions, strict=True):
                logits, cache = advance(params, cache, token, position)
        jax.block_until_ready(logits)
        held.append(cache)

    return {"plain": plain}, {}
