"""Several processes that train one model together, and tests that all adapters have in common.

A rank's results are a mapping: the "losses" of its steps, the "differences" that it reports, and
the displacement of each tensor from the canonical parameters, by canonical name.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from cases import make_case
from small import BERT, resnet

from mbench.contract.adapter import Unsupported
from mbench.contract.case import ProofWork
from mbench.contract.compat import zipped
from mbench.scenarios.find import prepared, resolve, work_of
from mbench.workloads.operators.operator import PREFIX

__all__ = ["RATE", "WORKLOADS", "RanksAlike", "case", "in_ranks", "observed"]

RATE = 1e-3
WORKLOADS = {
    "resnet": resnet(blocks=(1, 1, 1, 1), image_size=32),
    "resnet18": resnet(blocks=(2, 2, 2, 2), bottleneck=False, image_size=32),
    "narrow": resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32),
    # Of one layer: compilers take as long for each further one.
    "bert": dataclasses.replace(BERT, config=dataclasses.replace(BERT.config, layers=1)),
}
RANKS = 2
STEPS = 3
TIMEOUT_SECONDS = 300
RANK = Path(__file__).with_name("rank.py")


def case(model, **changes):
    """Training of one of `WORKLOADS` in double precision, but for `changes`."""
    given = {"workload": "ranks:WORKLOADS", "batch_size": 3, "dropout": False, "precision": "fp64"}
    return make_case(model=model, **{**given, **changes})


def observed(runtime, case, work=None, *, steps=1, batch=0):
    """The results of `steps` steps on batch number `batch`, from the canonical parameters; of a
    collective, those of `exchanged`.
    """
    if case.model.startswith(PREFIX):
        return exchanged(runtime, case, batches=batch)
    (found,) = stepped(runtime, case, work, steps=steps, batches=[batch])
    return found


def stepped(runtime, case, work=None, *, steps=1, batches):
    """Yields the results of `steps` steps on each batch, by one benchmark: compilers take long."""
    workload = resolve(case)
    start = dict(workload.parameters(seed=0))
    benchmark = prepared(runtime, work_of(case, proof=work)).benchmark
    for batch in batches:
        benchmark.load_parameters(iter(start.items()))
        losses = []
        for _ in range(steps):
            benchmark.step(batch)
            benchmark.synchronize()
            losses.append(benchmark.loss())
        found = {name: array - start[name] for name, array in benchmark.parameters()}
        told = np.array(benchmark.differences)
        yield {"losses": np.array(losses), "differences": told, **found}


def exchanged(runtime, case, *, batches):
    """What a collective gives this rank for each batch, "0/output.0"; or why it is unsupported."""
    try:
        benchmark = prepared(runtime, work_of(case)).benchmark
    except Unsupported as lack:
        return {"unsupported": np.array(str(lack))}
    found = {}
    for at, batch in enumerate(batches):
        benchmark.step(batch)
        benchmark.synchronize()
        found.update({f"{at}/{name}": array for name, array in benchmark.outputs().items()})
    return found


def in_ranks(runtime, cases, *, works=None, ranks=2, steps=1, batch=0):
    """What each rank observed: for each case, a list of the ranks' results.

    `runtime` is "module:Class"; `works` has a ProofWork for each case; `steps` and `batch` may be
    lists, by case.
    """
    plugin = importlib.import_module(runtime.partition(".")[0] + ".plugin")
    (adapter,) = plugin.mbench_adapters()
    variables = adapter.variables(threads=1, device="cpu")
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**variables, **os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        job = {
            "peers": free_peers(ranks),
            "cases": [
                {**dataclasses.asdict(each), "scale": f"1x{ranks}"} for each in cases
            ],
            "works": [
                dataclasses.asdict(each) for each in works or [ProofWork()] * len(cases)
            ],
            "steps": [steps] * len(cases) if isinstance(steps, int) else steps,
            "batches": [batch] * len(cases) if isinstance(batch, int) else batch,
        }  # fmt: skip
        (folder / "job.json").write_text(json.dumps(job))
        logs = [(folder / f"{rank}.log").open("w+") for rank in range(ranks)]
        started = [
            subprocess.Popen(
                [sys.executable, str(RANK), runtime, str(rank), made],
                env=environment, stdout=log, stderr=subprocess.STDOUT,
            )
            for rank, log in enumerate(logs)
        ]  # fmt: skip
        try:
            codes = [process.wait(TIMEOUT_SECONDS) for process in started]
        finally:
            for process in started:
                process.kill()
                process.wait()
            said = []
            for log in logs:
                log.seek(0)
                said.append(log.read()[-4000:])
                log.close()
        assert not any(codes), "\n".join([f"exit codes {codes}", *said])
        return [
            [dict(np.load(folder / f"{at}-{rank}.npz")) for rank in range(ranks)]
            for at in range(len(cases))
        ]


def free_peers(count):
    """Addresses of this machine at which nobody listens."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    peers = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    return peers


class RanksAlike:
    """Base of an adapter's tests, which compare two processes' results with those of one alone.

    Ranks train under each of `compilers`; one process alone trains under the first. `models` are
    names in `WORKLOADS`: not all adapters can build a ResNet of any width.
    """

    runtime_name: str
    compilers: tuple[str, ...]
    models: tuple[str, ...] = ("narrow", "bert")

    @classmethod
    def cases(cls, **changes):
        return [
            case(model, compiler=compiler, **changes)
            for compiler in cls.compilers
            for model in cls.models
        ]

    def test_they_do_what_one_does_and_step_by_the_mean_of_all_gradients(self, runtime):
        """This is one test, so that ranks start once: two tests would each start their own."""
        same = plain = self.cases()
        works = [TOGETHER] * len(same) + [plain_work(of) for of in plain]
        left = in_ranks(
            self.runtime_name, same + plain, works=works, ranks=RANKS,
            steps=[STEPS] * len(same) + [1] * len(plain),
            batch=[1] * len(same) + [0] * len(plain),
        )  # fmt: skip
        found = list(zipped(same + plain, left))
        for of, each in found[: len(same)]:
            self.compare_on_one_batch(runtime, of, each)
        for of, each in found[len(same) :]:
            self.compare_on_their_own(runtime, of, each)

    def alone(self, runtime, of, work, **steps):
        """What one process alone does with any rank's batches: a list of each batch's results."""
        own = dataclasses.replace(of, compiler=self.compilers[0])
        return list(stepped(runtime, own, dataclasses.replace(work, parts=RANKS), **steps))

    def compare_on_one_batch(self, runtime, of, each):
        """All ranks train on rank 1's batch, over several steps.

        The optimizer is the workload's own, with clipping.
        """
        (expected,) = self.alone(runtime, of, TOGETHER, steps=STEPS, batches=[1])
        for found in each:
            assert found["losses"] == pytest.approx(expected["losses"], rel=1e-9)
            assert_near(trained(found, of), trained(expected, of), 1e-7)

    def compare_on_their_own(self, runtime, of, each):
        """Each rank trains on its own batch by plain gradient descent: its steps are the gradients.

        A sum in place of their mean would show as a factor, except where it is clipped. What is
        clipped must be the mean.
        """
        bare = dataclasses.replace(of, clip=False)
        parts = self.alone(runtime, bare, plain_work(of), batches=range(RANKS))
        mean = sum(trained(part, of) for part in parts) / len(parts)
        limit = clip_norm(of)
        if limit is not None:
            norm = np.linalg.norm(mean) / RATE
            assert norm > limit, "nothing would be clipped"
            mean = mean * limit / (norm + 1e-6)
        for found, own in zipped(each, parts):
            assert (trained(found, of) == trained(each[0], of)).all()
            assert_near(trained(found, of), mean, 1e-9)
            assert found["losses"] == pytest.approx(own["losses"], rel=1e-9)
            for tensor in WORKLOADS[of.model].tensors():
                if not tensor.trainable:  # a running statistic is each rank's own
                    assert_near(found[tensor.name], own[tensor.name], 1e-9)


TOGETHER = ProofWork(parts=RANKS)
"""Every process can train on the batches of any rank."""


def plain_work(case):
    return ProofWork(optimizer=WORKLOADS[case.model].optimizer).plain(RATE)


def clip_norm(case):
    return resolve(case).optimizer.clip_norm


def trained(found, case):
    """The displacement of the trainable tensors alone, as one vector."""
    tensors = WORKLOADS[case.model].tensors()
    return np.concatenate([found[one.name].ravel() for one in tensors if one.trainable])


def assert_near(found, expected, within):
    assert np.linalg.norm(found - expected) <= within * np.linalg.norm(expected)
