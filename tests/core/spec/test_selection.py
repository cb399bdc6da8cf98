"""The words of `--models`: names, patterns, families, the zoo, and words that match nothing."""

from __future__ import annotations

import pytest

from mbench.errors import UsageError
from mbench.spec.selection import select


@pytest.mark.parametrize(
    ("words", "models"),
    [
        (["resnet18"], ["resnet18"]),
        (["tiny-model", "lstm"], ["tiny-model", "lstm"]),
        (["gpt2"], ["gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl"]),
        (["bert", "bert-large"], ["bert-base", "bert-large"]),
        (["wide*_2"], ["wide_resnet50_2", "wide_resnet101_2"]),
        (["vgg1[13]"], ["vgg11", "vgg13"]),
        (["squeezenet1_?", "alexnet"], ["squeezenet1_0", "squeezenet1_1", "alexnet"]),
        (["resnet50+layer3", "bert-large+*"], ["resnet50+layer3", "bert-large+encoder"]),
        (
            ["resnet18+*"],
            [f"resnet18+layer{stage}{half}" for stage in (1, 2, 3, 4) for half in ("", ".1of2")],
        ),
        (["ResNet50", "bert_base", "BERT-Base"], ["resnet50", "bert-base"]),
        (["gpt-2"], ["gpt2-small", "gpt2-medium", "gpt2-large", "gpt2-xl"]),
        (["mobilenetV2", "VGG11-BN"], ["mobilenet_v2", "vgg11_bn"]),
        (["ResNet-50+layer3"], ["resnet50+layer3"]),
        (
            ["resnet34", "resnet[13]*"],
            ["resnet34", "resnet10", "resnet18", "resnet101", "resnet152"],
        ),
    ],
)
def test_words_for_models(plugins, words, models):
    assert select(words, plugins.workloads) == models


def test_the_zoo_is_mbenchs_own(plugins):
    zoo = select(["zoo"], plugins.workloads)
    assert len(zoo) == 59
    assert "tiny-model" not in zoo
    assert set(select(["*"], plugins.workloads)) == {*zoo, "tiny-model", "tiny-deep", "tiny-images"}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("resnet51", "unknown model 'resnet51'; did you mean resnet50"),
        ("gpt", r"unknown model 'gpt'; did you mean gpt2"),
        ("zo", r"did you mean zoo\?"),
        ("xyzzy", "unknown model 'xyzzy'; mbench list models shows them all"),
        ("resnet50+layer5", "resnet50 has no stage 'layer5'; did you mean layer"),
        ("resnet50+", "resnet50 has no stage ''; available: layer1, layer2, layer3, layer4"),
        ("vgg11+layer1", r"vgg11 has no stage that can be made longer: leave out \+layer1"),
        ("resnet51+layer1", "unknown model 'resnet51'; did you mean resnet50"),
        ("resnett*", r"no model matches 'resnett\*'; mbench list models shows them all"),
    ],
)
def test_words_for_nothing(plugins, word, said):
    with pytest.raises(UsageError, match=said):
        select(["resnet18", word], plugins.workloads)
