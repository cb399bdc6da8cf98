"""Options that adapters bring along: their compilers' switches, and what mixed precision is."""

from __future__ import annotations

from types import SimpleNamespace

import click
import pytest

from mbench.cli import compare
from mbench.cli.sweeps import mixed_precision, sweep_of
from mbench.cli.switches import switches
from mbench.contract.axes import AXES
from mbench.errors import UsageError

OPTIONS = {
    **dict.fromkeys(axis.name for axis in AXES), "model": ("m",), "amp": None, "threads": 3,
    "steady": None, "seed": 0, "sizes": {}, "clip": True, "variables": {}, "device": "cpu",
    "operators": None,
}  # fmt: skip


class Adapters:
    """Plugins of made-up adapters, which differ in their switches and their mixed precision."""

    def __init__(self, **adapters):
        self.adapters = SimpleNamespace(unique=lambda: adapters)
        self.adapter = adapters.__getitem__


def made_up(title, *, names=(), cuda="amp-fp16"):
    mixed = {"cpu": "amp-bf16", "cuda": cuda}.__getitem__
    return SimpleNamespace(title=title, switches=names, mixed=mixed)


@pytest.fixture
def context():
    found = Adapters(one=made_up("One", names=("fuse",)), two=made_up("Two", names=("fuse", "go")))
    return click.Context(compare.command, info_name="compare", obj=found)


def test_each_switch_is_an_option_behind_compiler(context):
    names = [parameter.name for parameter in compare.command.get_params(context)]
    at = names.index("compiler")
    assert names[at + 1 : at + 3] == ["fuse", "go"]
    assert switches(context.obj) == ["fuse", "go"]
    assert "--fuse / --no-fuse" in compare.command.get_help(context)


def sweep(context, **options):
    chosen = {**OPTIONS, **dict.fromkeys(switches(context.obj)), **options}
    return sweep_of(context, ("one", "two"), chosen)


def test_a_switch_chooses_its_compiler(context):
    def compilers(**options):
        return sweep(context, **options).wanted.get("compiler")

    assert compilers() is None
    assert compilers(fuse=True) == ("fuse",)
    assert compilers(fuse=False) is None
    assert compilers(fuse=True, compiler=("fuse", "x")) == ("fuse", "x")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fuse": True, "compiler": ("x",)}, "--fuse contradicts --compiler x; give one of them"),
        ({"fuse": False, "compiler": ("fuse",)}, "--no-fuse contradicts --compiler fuse"),
        ({"amp": True, "precision": ("fp32",)}, "--amp contradicts --precision fp32"),
        ({"steady": True, "steadiness": ("usual",)}, "--steady contradicts --steadiness usual"),
    ],
)
def test_what_contradicts_is_said(context, options, said):
    with pytest.raises(UsageError, match=said):
        sweep(context, **options)


@pytest.mark.parametrize(("device", "precision"), [("cpu", "amp-bf16"), ("cuda", "amp-fp16")])
def test_amp_is_the_mixed_precision_that_frameworks_have(context, device, precision):
    assert sweep(context, amp=True, device=device).wanted["precision"] == (precision,)
    assert "precision" not in sweep(context, amp=False, device=device).wanted


def test_amp_names_frameworks_that_differ():
    found = Adapters(one=made_up("One"), two=made_up("Two", cuda="amp-bf16"))
    assert mixed_precision(found, ("one", "two"), device="cpu") == "amp-bf16"
    with pytest.raises(
        UsageError, match=r"amp-fp16 in One, amp-bf16 in Two.* --precision"
    ) as error:
        mixed_precision(found, ("one", "two==2"), device="cuda")
    assert error.value.option == "--amp"
