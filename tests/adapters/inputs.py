"""Tests of an adapter's input pipeline in this Python: pixels, steps on its batches, and faults."""

from __future__ import annotations

import math
import os
import platform
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest
from sly_pipelines import SAID

from mbench.cli.builtin import mbench_workloads
from mbench.contract import wire
from mbench.contract.case import Case
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.environments.environment import Environment
from mbench.machine.processor_time import family
from mbench.measure import pixel_proof
from mbench.measure.pixel_proof import observe_pixels, probe_case
from mbench.plugins.launcher import pids_here
from mbench.proofs import pixels


@contextmanager
def worker_on_probes(adapter, folder, **variables):
    """A worker for training on the probes, their folder, and a function that prepares training."""
    here = Environment(
        label=adapter.name, python=Path(sys.executable), python_version=platform.python_version(),
        managed=False, digest=None, packages={},
    )  # fmt: skip
    case = Case(
        model="resnet18", workload=mbench_workloads()["resnet18"], mode="train", batch_size=1,
        precision="fp32", compiler=next(iter(adapter.compilers)), device="cpu", threads=1,
        variables=variables,
    )  # fmt: skip
    photos = folder / "probes"
    pixels.write_probes(photos, "a")
    case = probe_case(case, photos)
    worker, _ = launch(adapter, here, case, log=folder / "worker.log", timeout=300)
    try:
        yield worker, photos, partial(worker.prepare, case)
    finally:
        worker.close()


def assert_reads_files(adapter, folder, *, grade):
    """Assert that pixels have `grade` and no failures, and that training steps take the batches."""
    with worker_on_probes(adapter, folder) as (worker, photos, prepare):
        assert_is_honest(worker, photos, prepare(), grade=grade)


def assert_is_honest(worker, photos, prepared, *, grade):
    found = observe_pixels(worker, photos, depth=prepared.depth, threads=1)
    assert (found.grade, found.failures) == (grade, []), found
    assert any("decoded" in said for said in prepared.differences)
    given = pixels.Asked(1).epoch("b")
    message = given.message()
    worker.ask(
        wire.Feed(ids=message.ids, boxes=message.boxes, flips=message.flips, content=7),
        wire.Feeding,
    )
    worker.run(2)
    fed = worker.ask(wire.AskFed(), wire.Fed)
    assert fed.ids == message.ids
    assert fed.batches == 2
    seen = worker.ask(wire.Look(), wire.Seen)
    assert math.isfinite(seen.loss)
    assert (seen.batch, seen.step) == (7, 2)
    worker.run(1)  # on a resident batch again
    assert worker.ask(wire.Look(), wire.Seen).batch != 7


def assert_names_faults(adapter, folder):
    """Assert that pixels are equal, and that each fault planted in the worker is reported by name.

    Finally loaders die and hang, and none of their processes may remain.
    """
    package = adapter.runtime.partition(".")[0]
    adapter.runtime = "sly_pipelines:Runtime"
    lie = folder / "lie"
    lie.write_text("")
    told, due = {}, dict(SAID)
    cores = os.cpu_count()
    if cores < 2:
        del due["more-cores"]
    with (
        pytest.MonkeyPatch.context() as patch,
        worker_on_probes(adapter, folder, SLY=package, SLY_LIE=str(lie)) as at,
    ):
        # On a busy machine, a process that works while the worker is stopped starts late.
        patch.setattr(pixel_proof, "STOPPED_SECONDS", 1.5)
        worker, photos, prepare = at
        prepared = prepare()
        assert_is_honest(worker, photos, prepared, grade="equal")
        for fault in due:
            lie.write_text(fault)
            told[fault] = observe_pixels(worker, photos, depth=prepared.depth, threads=1).failures
        begun = []
        assert end_of(worker, lie, "loader-dies", begun, seconds=60) == "failed"
        lie.write_text("")
        prepare()
        assert end_of(worker, lie, "loader-hangs", begun, seconds=3) == "timeout"
    assert len(set(begun)) > 2, "a loader is a process here"
    assert not psutil.wait_procs(begun, timeout=30)[1]
    wrong = {
        fault: told[fault]
        for fault, said in due.items()
        if told[fault] != [said.format(cores=cores)]
    }
    assert not wrong, wrong


def end_of(worker, lie, fault, begun, *, seconds):
    """The outcome of steps whose loader never returns; adds the worker's processes to `begun`."""

    def run():
        worker.ask(pixels.Asked(2).epoch("b").message(), wire.Feeding)
        begun.extend(one for pid in pids_here(worker) for one in family(pid))
        worker.run(2, timeout=seconds)

    lie.write_text(fault)
    with pytest.raises(CaseEnded) as end:
        run()
    return end.value.outcome
