"""Every model as published: parameters, multiply-adds, and what its variants change."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from mbench.cli.builtin import mbench_workloads
from mbench.contract.forms import form_of
from mbench.workloads.find import find_workload
from mbench.workloads.operators import OPERATORS

ZOO = {name: find_workload(ref, name) for name, ref in mbench_workloads().items()}

# Parameters, and billions of multiply-adds of a forward pass, as torchvision publishes them.
# It publishes GoogLeNet's without the auxiliary heads, and nothing about ResNet-50 v1.
PUBLISHED = {
    "alexnet": (61_100_840, 0.714),
    "densenet121": (7_978_856, 2.834),
    "densenet161": (28_681_000, 7.728),
    "densenet169": (14_149_480, 3.36),
    "densenet201": (20_013_928, 4.291),
    "inception_v3": (27_161_264, 5.713),
    "mnasnet0_5": (2_218_512, 0.104),
    "mnasnet0_75": (3_170_208, 0.215),
    "mnasnet1_0": (4_383_312, 0.314),
    "mnasnet1_3": (6_282_256, 0.526),
    "mobilenet_v2": (3_504_872, 0.301),
    "resnet18": (11_689_512, 1.814),
    "resnet34": (21_797_672, 3.664),
    "resnet50": (25_557_032, 4.089),
    "resnet101": (44_549_160, 7.801),
    "resnet152": (60_192_808, 11.514),
    "resnext50_32x4d": (25_028_904, 4.23),
    "resnext101_32x8d": (88_791_336, 16.414),
    "wide_resnet50_2": (68_883_240, 11.398),
    "wide_resnet101_2": (126_886_696, 22.753),
    "shufflenet_v2_x0_5": (1_366_792, 0.04),
    "shufflenet_v2_x1_0": (2_278_604, 0.145),
    "shufflenet_v2_x1_5": (3_503_624, 0.296),
    "shufflenet_v2_x2_0": (7_393_996, 0.583),
    "squeezenet1_0": (1_248_424, 0.819),
    "squeezenet1_1": (1_235_496, 0.349),
    "vgg11": (132_863_336, 7.609),
    "vgg11_bn": (132_868_840, 7.609),
    "vgg13": (133_047_848, 11.308),
    "vgg13_bn": (133_053_736, 11.308),
    "vgg16": (138_357_544, 15.47),
    "vgg16_bn": (138_365_992, 15.47),
    "vgg19": (143_667_240, 19.632),
    "vgg19_bn": (143_678_248, 19.632),
    "vit-b-16": (86_567_656, 17.564),
    # facebookresearch/DiT's, less its fixed table of positions (256 x 1152, and 16 x 384).
    "dit-s-8": (33_142_016, 0.358),
    "dit-xl-2": (675_129_632 - 294_912, 118.621),
}
# What transformers counts, and the LSTM's own: 8 layers of 4 gates with two biases each.
PARAMETERS = {
    "bert-base": 110_106_428,
    "bert-large": 336_226_108,
    "gpt2-small": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "llama-6m": 6_163_712,
    "llama-15m": 15_191_712,
    "llama3.2-1b": 1_235_814_400,
    "llama3.1-8b": 8_030_261_248,
    # facebookresearch/dlrm's: tables, the bottom MLP, the top one of 351 pairs and 16 numbers.
    "dlrm-small": 416_000 + 142_608 + 367 * 512 + 512 + 512 * 256 + 256 + 257,
    # MLPerf's tables, three layers of the cross network of 27 features, and both MLPs.
    "dlrm-v2": 204_184_588 * 128 + 3 * 3456 * 1025 + 171_392 + 3456 * 1024 + 1024 + 1_705_985,
    "mixtral-8x7b": 46_702_792_704,
    "moe-9m": 9_054_464,
    "lstm": 4 * 1024 * (256 + 7 * 1024 + 8 * 1024 + 8 * 2) + 100 * 1025,
    "googlenet": 6_624_904 + 2 * (2048 * 1024 + 1024 + 1024 * 1000 + 1000) + 128 * (1040 + 4),
    "lstm-small": 4 * 64 * (256 + 3 * 64 + 2 * 2) + 100 * 65,
    "lstm-tiny": 4 * 16 * (32 + 16 + 2) + 100 * 17,
    "resnet10": 5_418_792,  # torchvision.models.ResNet(BasicBlock, [1, 1, 1, 1])
    "resnet50_v1": 25_557_032,
    "vit-ti-16": 5_717_416,  # timm's vit_tiny_patch16_224 and vit_small_patch16_224
    "vit-s-16": 22_050_664,
}


def test_there_are_59_models():
    assert len(ZOO) == 59
    assert set(ZOO) == set(PUBLISHED) | set(PARAMETERS)
    assert all(workload.name == name for name, workload in ZOO.items())


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_and_multiply_adds_are_the_published_ones(name):
    parameters, billions = PUBLISHED[name]
    assert ZOO[name].parameter_count() == parameters
    assert round(ZOO[name].forward_flops() / 2e9, 3) == billions


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_the_known_ones(name):
    assert ZOO[name].parameter_count() == PARAMETERS[name]


def test_the_lstm_has_64_million_parameters():
    assert ZOO["lstm"].parameter_count() == 64_131_172


@pytest.mark.parametrize("name", ZOO)
def test_a_training_step_counts_as_three_forward_passes_and_auxiliary_heads(name):
    workload = ZOO[name]
    ratio = workload.flops(training=True) / workload.flops(training=False)
    assert workload.flops(training=False) == workload.forward_flops()
    if name in ("googlenet", "inception_v3"):
        assert 3 < ratio < 3.03
    else:
        assert ratio == 3


@pytest.mark.parametrize("name", ZOO)
def test_dropout_goes_where_there_is_any_and_nothing_else_does(name):
    config = ZOO[name].config
    rates = {field.name for field in dataclasses.fields(config) if "dropout" in field.name}
    without = config.without_dropout()
    assert all(getattr(config, rate) > 0 for rate in rates)
    assert without == dataclasses.replace(config, **dict.fromkeys(rates, 0.0))


def test_a_stride_in_the_first_convolution_saves_work_and_no_parameters():
    first, second = ZOO["resnet50_v1"], ZOO["resnet50"]
    assert [t.shape for t in first.tensors()] == [t.shape for t in second.tensors()]
    assert first.forward_flops() == pytest.approx(3.858e9 * 2, rel=1e-3)


def test_a_shortcut_has_weights_only_where_something_changes():
    def shortcuts(name):
        return [t.name for t in ZOO[name].tensors() if t.name.endswith("downsample.0.weight")]

    assert shortcuts("resnet18") == [f"layer{n}.0.downsample.0.weight" for n in (2, 3, 4)]
    assert shortcuts("resnet50") == [f"layer{n}.0.downsample.0.weight" for n in (1, 2, 3, 4)]


def test_batch_norm_doubles_no_names():
    for name in ("vgg19_bn", "mobilenet_v2", "googlenet", "inception_v3"):
        names = Counter(tensor.name for tensor in ZOO[name].tensors())
        assert set(names.values()) == {1}


@pytest.mark.parametrize("name", ["gpt2-small", "lstm", "bert-large"])
def test_sequences_are_resized(name):
    resized = ZOO[name].resized(sequence_length=32)
    assert resized.config.sequence_length == 32
    assert not resized.is_standard()
    assert ZOO[name].is_standard()
    assert ZOO[name].resized() is ZOO[name]
    with pytest.raises(ValueError, match="no size image_size"):
        ZOO[name].resized(image_size=64)


def test_sequences_beyond_the_context_are_refused():
    with pytest.raises(
        ValueError, match="sequence_length of gpt2-small must be 1 to 1024, not 1025"
    ):
        ZOO["gpt2-small"].resized(sequence_length=1025)


@pytest.mark.parametrize(
    ("name", "size", "least"), [("inception_v3", 298, 299), ("alexnet", 62, 63), ("vgg11", 31, 32)]
)
def test_images_too_small_are_refused(name, size, least):
    with pytest.raises(
        ValueError, match=f"image_size of {name} must be {least} or more, not {size}"
    ):
        ZOO[name].resized(image_size=size)
    assert ZOO[name].resized(image_size=least).forward_flops() > 0


def test_a_label_is_the_token_that_follows():
    workload = ZOO["gpt2-small"].resized(sequence_length=7)
    batch = workload.batch(3, seed=1)
    assert batch["input_ids"].shape == batch["labels"].shape == (3, 7)
    assert (batch["input_ids"][:, 1:] == batch["labels"][:, :-1]).all()


def test_sequences_of_features():
    workload = ZOO["lstm"].resized(sequence_length=16)
    batch = workload.batch(64, seed=0)
    assert batch["features"].shape == (64, 16, 256)
    assert batch["features"].std() == pytest.approx(1.0, rel=0.01)
    assert set(batch["labels"]) <= set(range(100))


LENGTHENED = [(ZOO[name], form) for name in ZOO for form in ZOO[name].lengthened()]


def test_stages_can_be_lengthened_of_plain_resnets_bert_and_llama():
    """A stage can grow by all of its blocks, and by half of them if reference files are small."""
    resnets = {18: "1of2 1of2 1of2 1of2", 34: "1of3 2of4 3of6 1of3", 50: "1of3 2of4 3of6 1of3"}
    assert {workload.name: list(workload.lengthened()) for workload, _ in LENGTHENED} == {
        **{
            f"resnet{n}": [
                form
                for stage, part in enumerate(parts.split(), start=1)
                for form in (f"layer{stage}", f"layer{stage}.{part}")
            ]
            for n, parts in resnets.items()
        },
        **{f"resnet{n}": [f"layer{stage}" for stage in (1, 2, 3, 4)] for n in (101, 152)},
        "bert-base": ["encoder", "encoder.6of12"], "bert-large": ["encoder"],
        **{name: ["layers", "layers.3of6"] for name in ("llama-6m", "llama-15m")},
        "llama3.2-1b": ["layers"],
    }  # fmt: skip


@pytest.mark.parametrize(("workload", "longer"), LENGTHENED)
def test_a_longer_form_has_the_flops_of_the_model_and_those_of_the_stage(workload, longer):
    """All blocks of a stage except the first are alike, and the first is not among those added."""
    form, stage, named = workload.lengthened()[longer], longer.partition(".")[0], form_of(longer)
    at = {"encoder": "bert.encoder.layer", "layers": "model.layers"}.get(stage, stage)

    def blocks(model):
        names = [tensor.name for tensor in model.tensors() if tensor.name.startswith(f"{at}.")]
        return len({name.removeprefix(f"{at}.").partition(".")[0] for name in names})

    assert form.name == f"{workload.name}+{longer}"
    share = named.added / named.blocks
    assert blocks(form) == round((1 + share) * blocks(workload))
    assert named.twice or named.blocks == blocks(workload)
    assert form.lengthened() == {}
    own = {tensor.name: tensor.shape for tensor in workload.tensors()}
    longer = {tensor.name: tensor.shape for tensor in form.tensors()}
    assert own.items() <= longer.items()
    assert all(name.startswith(f"{at}.") for name in longer.keys() - own.keys())
    added = form.forward_flops() - workload.forward_flops()
    assert added == pytest.approx(
        share * blocks(workload) * flops_of_a_block(workload, stage), rel=1e-12
    )
    more = Counter(form.operations(2, training=True))
    less = Counter(workload.operations(2, training=True))
    assert sum(OPERATORS[name].forward_flops() for name in (more - less).elements()) == (
        pytest.approx(2 * added, rel=1e-12)
    )
    assert not less - more


def flops_of_a_block(workload, stage):
    """FLOPs of the last block of a stage, counted by hand."""
    config = workload.config
    if stage == "encoder":
        hidden, length = config.hidden, config.sequence_length
        products = 4 * hidden * hidden + 2 * hidden * config.intermediate
        return 2.0 * length * (products + 2 * length * hidden)
    if stage == "layers":
        hidden, length = config.hidden, config.sequence_length
        shared = config.hidden * config.key_value_heads // config.heads
        products = hidden * (2 * hidden + 2 * shared + 3 * config.intermediate)
        return 2.0 * length * (products + 2 * length * hidden)
    number = int(stage.removeprefix("layer"))
    width, side = 64 * 2 ** (number - 1), 56 // 2 ** (number - 1)
    if not config.bottleneck:
        return 2.0 * side**2 * 2 * 9 * width * width
    return 2.0 * side**2 * (2 * 4 * width * width + 9 * width * width)
