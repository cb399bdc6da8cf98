"""Tasks: what is trained, on what, until when, and within what margins frameworks are alike.

A task is a TOML file, written before anything runs. A result contains its digest.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.contract.learning import SHAPES, Lesson, Schedule
from mbench.contract.workload import Optimizer
from mbench.errors import UsageError
from mbench.files import Toml, read_toml
from mbench.learning.fields import CHOICES, Field, read_table
from mbench.plugins.manager import nearest
from mbench.workloads.find import find_workload
from mbench.workloads.masked import MARKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.workload import Workload
    from mbench.plugins.manager import Plugins

__all__ = ["ACCURACY", "LOSS", "MASKED", "PHOTOGRAPHS", "Data", "Margin", "Target", "Task",
           "find_task", "task_names"]  # fmt: skip

FOLDER = Path(__file__).parent / "tasks"
ACCURACY, LOSS = "accuracy", "loss"
SMALL_MODELS = "mbench.workloads.cnn:MODELS"
"""Reference to the models that only tasks use."""
INPUTS = ("images", "features", "input_ids")
MASKED, PHOTOGRAPHS = "masked-text", "photographs"
KINDS = ("glyphs", "idx", PHOTOGRAPHS, "text", MASKED)
TEXTS = ("text", MASKED)
TEN = 10
"""Classes of glyphs, and of data in MNIST's format."""
PHOTOGRAPH_CENTER, PHOTOGRAPH_SPREAD = 114.5, 57.5
"""ImageNet's mean and standard deviation over all colours, in 0 to 255; pipelines use those of each
colour, see contract/feed.py."""

TABLES: Mapping[str, Mapping[str, Field]] = {
    "data": {
        "kind": Field(CHOICES(*KINDS)), "seed": Field(int, 0, least=0),
        "train": Field(int, 0, least=0), "test": Field(int, 0, least=0), "file": Field(str, ""),
        "folder": Field(str, ""), "size": Field(int, 16, least=8), "shift": Field(int, 0, least=0),
        "flip": Field(bool, False), "pad": Field(int, 0, least=0),
    },
    "model": {
        "name": Field(str), "inputs": Field(CHOICES(*INPUTS), "images"),
        "config": Field(dict, None),
    },
    "optimizer": {
        "rule": Field(CHOICES("sgd", "adamw")), "learning_rate": Field(float, above=0.0),
        "momentum": Field(float, 0.0, least=0), "weight_decay": Field(float, 0.0, least=0),
        "betas": Field(list, [0.9, 0.999]), "epsilon": Field(float, 1e-6, above=0.0),
        "clip_norm": Field(float, None, above=0.0), "decay_vectors": Field(bool, True),
        "spared": Field(list, []),
    },
    "schedule": {
        "shape": Field(CHOICES(*SHAPES), "constant"), "warmup": Field(float, 0.0, least=0, most=1),
        "milestones": Field(list, []), "factor": Field(float, 0.1, least=0),
        "final": Field(float, 0.0, least=0),
    },
    "loss": {
        "label_smoothing": Field(float, 0.0, least=0, most=1),
        "mixup": Field(float, 0.0, least=0),
    },
    "training": {"batch_size": Field(int, least=1), "steps": Field(int, least=20)},
    "evaluation": {
        "every": Field(int, least=1), "examples": Field(int, 0, least=0),
        "average": Field(int, 3, least=1),
    },
    "target": {"metric": Field(CHOICES(ACCURACY, LOSS)), "value": Field(float, above=0.0)},
    "margin": {
        "steps": Field(float, 0.05, above=0.0, most=1), "final": Field(float, above=0.0),
        "seeds": Field(int, least=2),
    },
    "proof": {
        "batch_size": Field(int, 0, least=1), "steps": Field(int, 0, least=1),
        "config": Field(dict, None),
    },
}  # fmt: skip
"""The keys of a task's file by table; those without a default are required."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """Where examples come from; see docs/learning.md for each kind."""

    kind: str
    seed: int
    train: int
    test: int
    file: str
    folder: str
    size: int
    pad: int


@dataclass(frozen=True, kw_only=True)
class Target:
    """The goal on held-out data: at least this accuracy, or at most this loss."""

    metric: str
    value: float

    @property
    def rises(self) -> bool:
        return self.metric == ACCURACY

    def __str__(self) -> str:
        return f"accuracy {100 * self.value:g} %" if self.rises else f"loss {self.value:g}"


@dataclass(frozen=True, kw_only=True)
class Margin:
    """Margins within which frameworks learn alike: `steps` to target, as a share; `final`, the
    target's metric after the last step, in its own units.
    """

    steps: float
    final: float


@dataclass(frozen=True, kw_only=True)
class Task:
    name: str
    title: str
    model: str
    workload: str
    """Reference to the model's workload."""
    data: Data
    lesson: Lesson
    every: int
    """Steps between two evaluations."""
    examples: int
    """Held-out examples per evaluation; 0: all."""
    average: int
    """Number of latest evaluations over which the target's metric is averaged: single ones scatter,
    and so would the step at which the first of them reaches the target."""
    target: Target
    margin: Margin
    seeds: int
    """Seeds per framework: as many as the task's statistical power needs."""
    image_size: int = 0
    """Pixels of each side of an image; 0 for text."""
    vocabulary: int = 0
    """Tokens that the model knows; 0 for images."""
    source: str = ""
    """The file that the task was read from."""

    @property
    def digest(self) -> str:
        """A digest of everything that the task asks for, but not of its name, title or file."""
        plain = asdict(self)
        for name in ("name", "title", "source"):
            del plain[name]
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def reference_file(self) -> Path:
        """Where the answers of layer 1 are stored, if anywhere: beside the task's file."""
        return Path(self.source).with_suffix(".reference.json")


def task_names() -> list[str]:
    """The names of the tasks that come with mbench."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_task(name: str, plugins: Plugins) -> Task:
    """The task in the file `name`, or the built-in one of that name; raises UsageError."""
    if name in task_names():
        return read_task(FOLDER / f"{name}.toml", f"task {name}", plugins)
    if name.endswith(".toml"):
        return read_task(Path(name), name, plugins)
    raise UsageError(
        f"unknown task {name!r}{nearest(name, task_names(), listing='mbench list tasks')} "
        "(mbench new task NAME writes one of your own)",
        option="--task",
    )


def read_task(path: Path, source: str, plugins: Plugins) -> Task:
    """The task in a file; raises UsageError with the line and the key."""
    file = read_toml(path, source=source)
    title = file.content.get("title", path.stem)
    if not isinstance(title, str):
        raise file.wrong("should be text", "title", table="")
    for key in file.content:
        if key != "title" and key not in TABLES:
            raise file.wrong(f"unknown key{nearest(key, TABLES)}", key, table="")
    given = {name: read_table(file, name, fields) for name, fields in TABLES.items()}
    data, model, rule = given["data"], given["model"], given["optimizer"]
    kind = data["kind"]
    image = kind not in TEXTS
    workload = reference_of(model["name"], file, plugins)
    config = numbers_of(model["config"], file, "model.config")
    whole = resolved(find_workload(workload, model["name"]), config, file)
    if (model["inputs"] == "input_ids") is image:
        fits = "input_ids is for text" if image else f'{kind} needs inputs = "input_ids"'
        raise file.wrong(fits, "inputs", table="model")
    length, predictions = lengths(kind, model["name"], whole, config, source)
    if not image and (given["loss"]["label_smoothing"] or given["loss"]["mixup"]):
        raise UsageError(f"{source}, loss: label smoothing and mixup are for images")
    if kind == PHOTOGRAPHS:
        check_photographs(data, model, whole, file)
    if not all(isinstance(part, str) and part for part in rule["spared"]):
        raise file.wrong("should be parts of names", "spared", table="optimizer")
    betas, milestones = rule["betas"], given["schedule"]["milestones"]
    if len(betas) != 2 or not all(isinstance(b, float) and 0 <= b < 1 for b in betas):
        raise file.wrong("should be two numbers, 0 or more and below 1", "betas", table="optimizer")
    if not all(isinstance(m, int | float) and 0 < m < 1 for m in milestones):
        raise file.wrong("should be shares of all steps, between 0 and 1", "milestones",
                         table="schedule")  # fmt: skip
    steps, every = given["training"]["steps"], given["evaluation"]["every"]
    if every > steps:
        raise file.wrong(f"{steps} steps end before the first evaluation", "every",
                         table="evaluation")  # fmt: skip
    lesson = Lesson(
        batch_size=given["training"]["batch_size"],
        steps=steps,
        optimizer=Optimizer(
            rule=rule["rule"], learning_rate=rule["learning_rate"], momentum=rule["momentum"],
            weight_decay=rule["weight_decay"], betas=(betas[0], betas[1]),
            epsilon=rule["epsilon"], clip_norm=rule["clip_norm"],
            decays_vectors=rule["decay_vectors"], spared=tuple(rule["spared"]),
        ),
        schedule=Schedule(**{**given["schedule"], "milestones": [float(m) for m in milestones]}),
        config=config,
        inputs=model["inputs"],
        classes=(whole.classes if kind == PHOTOGRAPHS else TEN) if image else 0,
        sequence_length=length,
        predictions=predictions,
        center=PHOTOGRAPH_CENTER if kind == PHOTOGRAPHS else 0.0,
        spread=PHOTOGRAPH_SPREAD if kind == PHOTOGRAPHS else 255.0,
        shift=data["shift"],
        flip=data["flip"],
        smoothing=given["loss"]["label_smoothing"],
        mixup=given["loss"]["mixup"],
        proof_batch=given["proof"]["batch_size"],
        proof_steps=given["proof"]["steps"],
        proof_config=numbers_of(given["proof"]["config"], file, "proof.config"),
    )  # fmt: skip
    resolved(find_workload(workload, model["name"]), lesson.reduced().config, file, "proof.config")
    own = {name: data[name] for name in ("kind", "seed", "train", "test", "file", "folder", "size",
                                         "pad")}  # fmt: skip
    return Task(
        name=path.stem, title=title, model=model["name"], workload=workload, data=Data(**own),
        lesson=lesson, every=every, examples=given["evaluation"]["examples"],
        average=given["evaluation"]["average"],
        target=Target(**given["target"]),
        margin=Margin(steps=given["margin"]["steps"], final=given["margin"]["final"]),
        seeds=given["margin"]["seeds"], source=str(path),
        image_size=getattr(whole, "image_size", 0) if image else 0,
        vocabulary=0 if image else getattr(whole, "vocabulary", 0),
    )  # fmt: skip


def reference_of(model: str, file: Toml, plugins: Plugins) -> str:
    """Reference to the workload of a task's model; raises UsageError."""
    from mbench.workloads.cnn import MODELS

    if model in MODELS:
        return SMALL_MODELS
    known = plugins.workloads.unique()
    if model not in known:
        raise file.wrong(
            f"unknown model {model!r}{nearest(model, [*MODELS, *known])}", "name", table="model"
        )
    return known[model]


def numbers_of(given: object, file: Toml, table: str) -> dict[str, int | float]:
    """The dimensions that override the model's own; raises UsageError."""
    config = given or {}
    assert isinstance(config, dict)
    for name, value in config.items():
        if type(value) not in (int, float):
            raise file.wrong("should be a number", name, table=table)
    return config


def resolved(
    workload: Workload, config: Mapping[str, int | float], file: Toml, table: str = "model.config"
) -> Any:
    """The model's config with the task's dimensions; raises UsageError for an unknown one."""
    known = [one.name for one in fields(workload.config)]  # type: ignore[arg-type]
    for name in config:
        if name not in known:
            lacks = f"{workload.name} has no such dimension{nearest(name, known)}"
            raise file.wrong(lacks, name, table=table)
    return replace(workload.config, **config)  # type: ignore[type-var]


def lengths(
    kind: str, model: str, whole: Any, config: Mapping[str, int | float], source: str
) -> tuple[int, int]:
    """Tokens of a sequence, and how many of them are masked; both 0 for images. Raises
    UsageError.
    """
    if kind not in TEXTS:
        return 0, 0
    masks = getattr(whole, "predictions", 0)
    if (kind == MASKED) is not bool(masks):
        raise UsageError(
            f'{source}, data, kind: {model} predicts masked tokens: use kind = "{MASKED}"'
            if masks else
            f"{source}, data, kind: {model} predicts the next token; {MASKED} is for models such "
            "as bert-base"
        )  # fmt: skip
    if kind != MASKED:
        if not config.get("sequence_length", 0):
            raise UsageError(f"{source}, model.config: text needs a sequence_length")
        return int(config["sequence_length"]), 0
    if not 0 < masks <= whole.sequence_length - MARKS:
        raise UsageError(
            f"{source}, model.config, predictions: {masks} of {whole.sequence_length} tokens "
            f"cannot be masked: {MARKS} of them mark the segments"
        )
    return whole.sequence_length, masks


def check_photographs(
    data: Mapping[str, Any], model: Mapping[str, Any], whole: Any, file: Toml
) -> None:
    """Raises UsageError for settings that tasks on photographs do not have."""
    if not hasattr(whole, "image_size") or model["inputs"] != "images":
        raise file.wrong(f"{model['name']} does not accept photographs", "name", table="model")
    for key in ("shift", "flip", "pad"):
        if data[key]:
            raise file.wrong("photographs get random crops and flips anyway: remove this", key,
                             table="data")  # fmt: skip
