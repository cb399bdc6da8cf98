"""Decoders with a cache in PyTorch, and lies about both."""

from __future__ import annotations

import pytest
from decoding import Decoding, Mixtures
from forcing import Forcing

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")
pytest.importorskip("transformers", reason="transformers is not installed here")

from mbench_pytorch.vision import import_torchvision  # noqa: E402

KEPT = import_torchvision()

from transformers.models.llama import modeling_llama  # noqa: E402

from mbench_pytorch import decoder  # noqa: E402
from mbench_pytorch.models import llama  # noqa: E402


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # by inductor
class TestDecoding(Forcing, Decoding):
    package = "mbench_pytorch"
    compilers = ("eager", "inductor")

    def interleaves(self, monkeypatch):
        def turned(query, key, cosines, sines):
            def turn(x):
                half = x.shape[-1] // 2
                one, other = x[..., ::2], x[..., 1::2]
                c, s = cosines[:, None, :, :half], sines[:, None, :, :half]
                return torch.stack((one * c - other * s, other * c + one * s), -1).flatten(-2)

            return turn(query), turn(key)

        monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", turned)

    def groups_otherwise(self, monkeypatch):
        honest = torch.nn.functional.scaled_dot_product_attention

        def attention(query, key, value, **settings):
            settings.pop("enable_gqa", None)
            groups = query.shape[1] // key.shape[1]
            if groups > 1:
                key, value = (x.repeat(1, groups, 1, 1) for x in (key, value))
            return honest(query, key, value, **settings)

        def packed(tensor, groups):  # leaves heads in the order of the other grouping
            return tensor

        from transformers.integrations import sdpa_attention

        monkeypatch.setattr(sdpa_attention, "pack_gqa", packed)
        monkeypatch.setattr(sdpa_attention, "repeat_kv", lambda x, n: x.repeat(1, n, 1, 1))
        monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attention)

    def weighs_first(self, monkeypatch):
        def normed(norm, x):
            x = norm.weight * x
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + norm.epsilon)

        monkeypatch.setattr(decoder.RMSNorm, "forward", normed)

    def rounds_norms(self, monkeypatch):
        honest = decoder.RMSNorm.forward

        def normed(norm, x):
            return honest(norm, x.float().to(x.dtype))

        monkeypatch.setattr(decoder.RMSNorm, "forward", normed)

    def shifts_positions(self, monkeypatch):
        honest = llama.advance
        monkeypatch.setattr(
            llama, "advance", lambda model, cache, token, at: honest(model, cache, token, at - 1)
        )

    def sees_everything(self, monkeypatch):
        honest = decoder.states

        def states(*arguments, attention_mask=None, **settings):
            if attention_mask is not None:
                attention_mask = torch.ones_like(attention_mask)
            return honest(*arguments, attention_mask=attention_mask, **settings)

        monkeypatch.setattr(decoder, "states", states)

    def forgets_the_prompt(self, monkeypatch):
        honest = llama.prefill

        def prefill(model, tokens):
            logits, cache = honest(model, tokens)
            return logits, [tuple(torch.zeros_like(x) for x in layer) for layer in cache]

        monkeypatch.setattr(llama, "prefill", prefill)


class TestMixtures(Mixtures):
    package = "mbench_pytorch"
    compilers = ("eager", "inductor")

    def tensor(self, array):
        return torch.from_numpy(array)

    def flipped(self, x):
        return x.flip(-1)

    def shares(self, scores, numbers):
        return scores.softmax(-1).gather(-1, numbers)
