"""Where TensorFlow 1 lives, and which tests wait: of the conformance kit too, beside which it runs.

Only a machine without TensorFlow 1's Python may skip what needs it. An environment that cannot be
built, for whatever reason, is a failure of those tests.
"""

from __future__ import annotations

import pytest

from mbench.cli.builtin import mbench_workloads
from mbench.engine.isolation import scratch
from mbench.environments.locate import find
from mbench.errors import EnvironmentUnavailable
from mbench.spec.arm import parse
from mbench.testing.subject import Subject

THOROUGH = "test_a_compiler_takes_each_batch_and_does_the_same_after_loading[xla-train]"
"""The kit's one test for which XLA compiles a training step: that takes as long as all the others
of its file. It infers under XLA all the same.
"""


@pytest.hookimpl(tryfirst=True)  # before what is thorough is left out
def pytest_collection_modifyitems(config, items):
    """Skip what has a worker, with mbench's reason, where no Python is found for one."""
    if config.getoption("adapter") not in (None, "tf1"):  # the kit tests another one
        return
    for item in items:
        if item.name == THOROUGH:
            item.add_marker("thorough")
    needing = [item for item in items if "subject" in item.fixturenames]
    if needing and (reason := no_python()):
        for item in needing:
            item.add_marker(pytest.mark.skip(reason=reason))


def no_python():
    """What mbench says where this machine has no Python for TensorFlow 1; None where it has one."""
    try:
        environment(provision=False)
    except EnvironmentUnavailable as error:
        if error.outcome == "unsupported":
            return str(error)
    except ImportError:  # the adapter is not installed, and no test is collected here
        pass
    return None


def environment(*, provision):
    from mbench_tensorflow1.plugin import TensorFlow1

    return find(parse("tf1"), TensorFlow1(), accelerator="cpu", provision=provision, report=print)


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    """As the kit's; the environment is built where it is not there yet."""
    from mbench_tensorflow1.plugin import TensorFlow1

    log = tmp_path_factory.mktemp("worker") / "worker.log"
    with scratch():
        yield Subject(
            adapter=TensorFlow1(), environment=environment(provision=True),
            workloads=mbench_workloads(), device="cpu", log=log,
        )  # fmt: skip
