"""TensorFlow 1's environment, and which tests need it or take long, also of the kit beside them.

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
"""The kit's only test for which XLA compiles a training step, which takes as long as all other
tests of its file.

Inference under XLA is tested all the same.
"""


@pytest.hookimpl(tryfirst=True)  # before thorough tests are left out
def pytest_collection_modifyitems(config, items):
    """Skip tests that need a worker, with mbench's reason, if no Python is found for it."""
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
    """mbench's message if this machine has no Python for TensorFlow 1; None if it has one."""
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
    """The same as the kit's; the environment is built if it does not exist yet."""
    from mbench_tensorflow1.plugin import TensorFlow1

    log = tmp_path_factory.mktemp("worker") / "worker.log"
    with scratch():
        yield Subject(
            adapter=TensorFlow1(), environment=environment(provision=True),
            workloads=mbench_workloads(), device="cpu", log=log,
        )  # fmt: skip
