"""From the values of options to experiments, for functions and commands alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.spec.arm import Arm
from mbench.spec.build import build, build_suite
from mbench.spec.suite import find_suite, suite_names

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mbench.plugins.manager import Plugins
    from mbench.spec.experiment import Experiment
    from mbench.spec.option import Given
    from mbench.spec.suite import Suite

__all__ = ["for_comparison", "for_proof", "for_run"]


def for_comparison(frameworks: Sequence[str], given: Given, plugins: Plugins) -> Experiment:
    """Two frameworks or more; raises UsageError."""
    if len(frameworks) < 2:
        raise UsageError(
            "compare takes two frameworks or more, and mbench list frameworks shows them; for one "
            "there is mbench run"
        )
    return build(frameworks, given, plugins)


def for_run(
    subject: str,
    frameworks: Sequence[str],
    given: Given,
    plugins: Plugins,
    *,
    explicit: Collection[str],
) -> tuple[Experiment, Suite | None]:
    """One framework, or a suite, of which `frameworks` are measured, or its own, or all.

    `explicit` are the options that take precedence over the suite. Raises UsageError.
    """
    suite = find_suite(subject)
    if suite is not None:
        everything = tuple(sorted(plugins.adapters.unique()))
        chosen = tuple(frameworks) or suite.frameworks or everything
        return build_suite(suite, chosen, given, plugins, explicit=explicit), suite
    name = Arm(subject).spec.name
    if plugins.framework(name) is None:
        raise plugins.unknown_framework(name, kind="framework or suite", besides=suite_names())
    if frameworks:
        raise UsageError("--frameworks is for suites; to compare there is mbench compare")
    return build((subject,), given, plugins), None


def for_proof(
    frameworks: Sequence[str],
    given: Given,
    plugins: Plugins,
    *,
    quick: bool = False,
    locate: str | None = None,
) -> Experiment:
    """One framework or more, the one that locates errors last; raises UsageError."""
    if not frameworks:
        raise UsageError("verify takes a framework or more, and mbench list frameworks shows them")
    proven = (*frameworks, *([locate] if locate else []))
    if quick or locate:
        given = quickly(proven, given, plugins, flag="--quick" if quick else "--locate")
    return build(proven, given, plugins)


def quickly(frameworks: Sequence[str], given: Given, plugins: Plugins, *, flag: str) -> Given:
    """In fp64, of the model that takes least unless models are given; raises UsageError."""
    from mbench.machine.cores import default_threads
    from mbench.proofs.proof_case import quickest

    if given.get("precision", ("fp64",)) != ("fp64",):
        raise UsageError(f"{flag} proves in fp64: leave out --precision, or leave out {flag}")
    given = {**given, "precision": ("fp64",)}
    if "models" in given or "operators" in given:
        return given
    modes = given.get("mode", ("train",))
    assert isinstance(modes, tuple)
    of_each = [
        [case.model for case in quickest(
            plugins.adapter(Arm(text).spec.name), plugins.workloads.unique(), device="cpu",
            mode=modes[0], threads=default_threads().count,
        )]
        for text in frameworks
    ]  # fmt: skip
    shared = [model for model in of_each[0] if all(model in models for models in of_each)]
    if not shared:
        raise UsageError("no model is supported by all of them: name some with --models")
    return {**given, "models": (shared[0],)}
