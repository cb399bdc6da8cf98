"""In the graph that TensorFlow has optimized, each read of a parameter has a place in the order of
its updates. Which one is run first is chance otherwise, and a layer may use the parameters of the
next step.
"""

from __future__ import annotations

from functools import cache

import pytest

from mbench.contract.case import Case
from mbench.proofs.proof_case import proof_case, proof_work
from mbench.scenarios.find import prepared, work_of

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

from tensorflow.python.eager import context

from mbench_tensorflow.runtime import Runtime


def optimized(model, **axes):
    """The nodes of a training step's graph by name, after TensorFlow's own optimizers."""
    case = proof_case(
        Case(model=model, workload="proven:MODELS", mode="train", batch_size=2, precision="fp64",
             compiler="graph", device="cpu", threads=2, **axes)
    )  # fmt: skip
    work = work_of(case, proof=proof_work(case))
    steps = prepared(Runtime(device="cpu", threads=2), work)
    steps.benchmark.load_parameters(work.workload.parameters(seed=0))
    context.enable_run_metadata()
    try:
        steps.run(0)
        steps.synchronize()
        graphs = context.export_run_metadata().function_graphs
    finally:
        context.disable_run_metadata()
    graph = max((one.post_optimization_graph for one in graphs), key=lambda one: len(one.node))
    return {node.name: node for node in graph.node}


def sources(node):
    """The names of the nodes whose values, or whose end, a node waits for."""
    return [one.lstrip("^").partition(":")[0] for one in node.input]


def out_of_order(nodes):
    """Pairs of a read and an update of the same variable that wait for each other in no order."""

    @cache
    def before(name):
        found = set()
        left = sources(nodes[name])
        while left:
            if (one := left.pop()) not in found:
                found.add(one)
                left += sources(nodes[one])
        return found

    reads = [node for node in nodes.values() if node.op == "ReadVariableOp"]
    updates = [node for node in nodes.values() if node.op == "AssignSubVariableOp"]
    assert len(reads) > len(updates) > 10
    return [
        (read.name, update.name)
        for read in reads
        for update in updates
        if sources(read)[0] == sources(update)[0]
        and read.name not in before(update.name)
        and update.name not in before(read.name)
    ]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("model", ["small-dit", "small-vit"])
def test_layers_that_are_computed_again_have_read_what_is_updated(model, parts):
    assert out_of_order(optimized(model, checkpoint=True, accumulate=parts)) == []
