"""Models that run in seconds, with learning rates at which a step shows, and how tests run them."""

from __future__ import annotations

from dataclasses import replace

from cases import make_case

from mbench.scenarios.find import prepared, work_of
from mbench.workloads.bert import BERT_BASE, BertConfig
from mbench.workloads.resnet import RESNET50, ResNetConfig

__all__ = ["BERT", "infer", "losses", "prepare", "resnet"]

BERT = replace(
    BERT_BASE,
    config=BertConfig(
        layers=2, hidden=32, heads=2, intermediate=64, vocabulary=50, positions=16,
        sequence_length=12, predictions=3,
    ),
    optimizer=replace(BERT_BASE.optimizer, learning_rate=1e-4),
)  # fmt: skip


def resnet(**dimensions):
    """A ResNet of ten classes, as small as an adapter's model file allows."""
    return replace(
        RESNET50,
        config=ResNetConfig(classes=10, **dimensions),
        optimizer=replace(RESNET50.optimizer, learning_rate=1e-3),
    )


def prepare(runtime, workload, *, dropout=False, plain_sgd=False, load=True, **changes):
    """A benchmark of training in single precision, but for `changes`."""
    given = {"model": workload.name, "workload": "given:directly", "batch_size": 3, "threads": 2}
    case = make_case(**{**given, **changes})
    if not dropout:
        workload = replace(workload, config=workload.config.without_dropout())
    if plain_sgd:
        workload = replace(workload, optimizer=workload.optimizer.plain_sgd(1e-3))
    benchmark = prepared(runtime, work_of(case, workload)).benchmark
    if load:
        benchmark.load_parameters(workload.parameters(seed=0))
    return benchmark


def losses(benchmark, count):
    found = []
    for _ in range(count):
        benchmark.step(0)
        benchmark.synchronize()
        found.append(benchmark.loss())
    return found


def infer(benchmark):
    benchmark.step(0)
    benchmark.synchronize()
    return benchmark.outputs()
