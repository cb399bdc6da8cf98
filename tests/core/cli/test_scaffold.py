"""`mbench new` writes packages from a template."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from mbench.cli.main import group
from mbench.cli.scaffold import PLACEHOLDERS, scaffold
from mbench.errors import UsageError


@pytest.fixture
def new(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def new(*arguments):
        return CliRunner().invoke(group, ["new", *arguments], catch_exceptions=False)

    return new


@pytest.mark.parametrize("kind", PLACEHOLDERS)
def test_nothing_of_the_templates_own_name_is_left(kind, tmp_path):
    files = scaffold(kind, "fast_net", tmp_path / "new")
    assert files
    texts = {str(f.relative_to(tmp_path)): f for f in files if f.suffix != ".npz"}
    for name, file in texts.items():
        assert PLACEHOLDERS[kind] not in (name + file.read_text()).lower()
    code = "".join(file.read_text() for name, file in texts.items() if name.endswith(".py"))
    assert "FastNet" in code
    assert "fast_net" in code
    for name, file in texts.items():
        if name.endswith(".py"):
            compile(file.read_text(), name, "exec")


@pytest.mark.parametrize("kind", PLACEHOLDERS)
def test_a_package_is_tested_and_released_by_its_workflows(kind, tmp_path):
    scaffold(kind, "fast_net", tmp_path)
    flows = {file.name: file.read_text() for file in (tmp_path / ".github/workflows").iterdir()}
    assert set(flows) == {"test.yml", "release.yml"}
    assert "run: pytest" in flows["test.yml"]
    assert "uses: ./.github/workflows/test.yml" in flows["release.yml"]
    assert "## Publishing" in (tmp_path / "README.md").read_text()


def test_an_adapter_without_autograd_only_infers(new, tmp_path):
    result = new("adapter", "fast_net", "--no-autograd")
    assert result.exit_code == 0, result.output
    assert steps(result.output)[1] == "mbench verify fast_net --models lstm-tiny --mode inference"
    files = [file for file in (tmp_path / "mbench-fast_net").rglob("*") if file.is_file()]
    assert not {"optimizer.py", "given.py"} & {file.name for file in files}
    assert {"lstm.py", "resnet.py", "compiler.py", "pyproject.toml"} <= {f.name for f in files}
    for file in files:
        text = file.read_text()
        assert "autograd" not in text.replace("--no-autograd", "")
        assert "mine" not in (file.name + text).lower().replace("determine", "")
        if file.suffix == ".py":
            compile(text, file.name, "exec")


def test_what_is_written_is_said_and_what_to_type_next(new, tmp_path):
    result = new("adapter", "fast_net")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "mbench-fast_net" / "mbench_fast_net" / "__init__.py").exists()
    assert "mbench-fast_net/pyproject.toml" in result.output
    assert steps(result.output) == [
        "pip install -e mbench-fast_net",
        "mbench verify fast_net --models lstm-tiny",
        "mbench run fast_net --models resnet10",
    ]
    result = new("model", "mixer", "--folder", "here/mixer")
    assert result.exit_code == 0, result.output
    assert "MIXER = MixerWorkload(" in (
        (tmp_path / "here/mixer/mbench_mixer/workload.py").read_text()
    )
    assert steps(result.output) == [
        "pip install -e here/mixer",
        "mbench new reference mixer",
        "mbench verify torch --models mixer",
        "mbench compare torch torch:inductor --models mixer",
    ]
    assert "a model with two layers" in (tmp_path / "here/mixer/README.md").read_text()


def steps(output):
    return [line.strip() for line in output.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tiny-modle",), "unknown model 'tiny-modle'; did you mean tiny-model"),
        (("resnet50",), "resnet50 comes with no implementation of its own: give --framework"),
        (("tiny-model", "--framework", "tinny"), "unknown framework 'tinny'"),
        (("gpt2-small", "--framework", "tiny"), "gpt2-small in Tiny: "),
        (("resnet101+layer2.2of4", "--framework", "torch"), "resnet101 has no stage 'layer2.2of4'"),
    ],
)
def test_a_reference_file_that_cannot_be_written(new, words, said):
    with pytest.raises(UsageError, match=said):
        new("reference", *words)


@pytest.mark.parametrize("name", ["Fast", "fast-net", "1st", "", "class", "../up"])
def test_a_name_that_is_none_in_python(name, tmp_path):
    with pytest.raises(UsageError, match="is not a valid Python name"):
        scaffold("adapter", name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_is_there_is_not_written_over(new, tmp_path):
    folder = tmp_path / "mbench-fast"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    with pytest.raises(UsageError, match="mbench-fast already exists: give another --folder"):
        new("adapter", "fast")
    assert (folder / "mine").read_text() == "mine"


def test_a_name_that_is_taken(new):
    with pytest.raises(UsageError, match="mbench already has the model 'resnet50'"):
        new("model", "resnet50")
    with pytest.raises(UsageError, match="mbench already has the adapter 'tiny'"):
        new("adapter", "tiny")


def test_a_folder_that_cannot_be_written(new, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write file/below"):
        new("adapter", "fast", "--folder", "file/below")
