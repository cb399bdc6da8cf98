"""Adapters in separate packages: naming one that is not installed says how to install it."""

from __future__ import annotations

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from mbench.cli.main import group
from mbench.errors import UsageError
from mbench.plugins import separate_adapters as separate
from mbench.plugins.manager import Plugins

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
PROJECTS = sorted(ROOT.glob("adapters/*/pyproject.toml"))


@pytest.fixture
def ours():
    """mbench's own plugins, without adapters that may be installed here."""
    return Plugins(external=False)


def described(folder: Path) -> dict[str, str]:
    """Titles by name of the adapters in a folder, from its plugin module, which imports no
    framework.
    """
    (plugin,) = folder.glob("mbench_*/plugin.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        module = import_module(f"{plugin.parent.name}.plugin")
    return {one.name: one.title for one in module.mbench_adapters()}


def test_the_table_is_of_the_adapters_of_the_checkout():
    known = {}
    for adapter in separate.separate_adapters():
        known.setdefault(adapter.folder, []).append(adapter)
    assert list(known) == [str(p.parent.relative_to(ROOT)) for p in PROJECTS]
    for folder, adapters in known.items():
        (leaflet,) = (ROOT / folder).glob("mbench_*/framework.toml")
        aliases = tomllib.loads(leaflet.read_text()).get("aliases", [])
        assert {adapter.name: adapter.title for adapter in adapters} == described(ROOT / folder)
        if len(adapters) == 1:  # an installed alias stands for one framework
            assert adapters[0].aliases == tuple(aliases)
        assert not aliases or len(adapters) == 1


@pytest.mark.parametrize(
    "name",
    ["onnxruntime", "ONNXRuntime", "ONNX-Runtime", "onnx", "openvino", "OpenVINO", "mindspore",
     "MegEngine", "tf1", "tensorflow1", "TensorFlow1", "keras-jax", "Keras", "keras-tf",
     "tinygrad"],
)  # fmt: skip
def test_a_name_of_one_is_answered_with_how_to_install_it(ours, monkeypatch, name):
    monkeypatch.chdir(ROOT)
    with pytest.raises(
        UsageError,
        match=r"^\w+( \w+)*'s adapter is a separate package: pip install \./adapters/\w+$",
    ):
        ours.adapter(name)


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "torch", "openvino"),
        ("run", "OpenVINO"),
        ("verify", "openvino"),
        ("env", "create", "openvino"),
    ],
)
def test_every_command_says_so(words, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MBENCH_DISABLE_EXTERNAL_PLUGINS", "1")
    with pytest.raises(UsageError) as caught:
        CliRunner().invoke(group, words, catch_exceptions=False)
    assert str(caught.value) == (
        "OpenVINO's adapter is a separate package: pip install ./adapters/openvino"
    )


def test_other_names_are_unknown_as_before(ours):
    with pytest.raises(UsageError, match=r"unknown framework 'onxruntim'; available: jax, mxnet,"):
        ours.adapter("onxruntim")


@pytest.mark.parametrize(
    ("name", "own"),
    [("PyTorch", "torch"), ("JAX", "jax"), ("TF", "tf"), ("torch", "torch")],
)
def test_names_and_aliases_are_taken_in_any_case(ours, name, own):
    assert ours.framework(name) == own
    assert ours.adapter(name).name == own


def test_an_installed_mbench_knows_its_checkout(monkeypatch, tmp_path):
    """pip records where it installed from; the folder may have a space, and may be gone."""
    checkout = tmp_path / "a checkout"
    (checkout / "adapters/openvino").mkdir(parents=True)
    (checkout / "adapters/openvino/pyproject.toml").touch()
    url = "file://" + str(checkout).replace(" ", "%20")

    class Installed:
        def read_text(self, name):
            return json.dumps({"url": url, "dir_info": {}}) if name == "direct_url.json" else None

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(separate, "__file__", str(tmp_path / "site/mbench/plugins/module.py"))
    monkeypatch.setattr(separate, "distribution", lambda name: Installed())
    assert separate.checkout("adapters/openvino") == checkout
    assert f"pip install '{checkout}/adapters/openvino'" in separate.install_hint("openvino")
    shutil.rmtree(checkout)
    assert separate.install_hint("openvino").endswith(
        "pip install ./adapters/openvino (in a checkout of mbench)"
    )
