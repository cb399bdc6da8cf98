"""Turns the words of `--models` into models: names, globs, families, and the zoo."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from mbench.errors import MbenchError, UsageError
from mbench.plugins.manager import nearest
from mbench.scenarios.find import OURS, find_scenarios
from mbench.workloads.find import LONGER, OPERATORS, find_workload
from mbench.workloads.operators.operator import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.contract.workload import Workload
    from mbench.plugins.manager import Offers

__all__ = ["ZOO", "load_workload", "reference_of", "scenario_reference", "select"]

ZOO = "zoo"
"""The word for all of mbench's own models."""
SEPARATORS = re.compile(r"[-_. ]")


def select(words: Iterable[str], offers: Offers[str]) -> list[str]:
    """Every model that a word stands for, once, in the order of the words and of the listing.

    A word is a model's or an operator's name, in which case and separators do not matter; `zoo`; a
    pattern with * or ?; a family, which is all models of one architecture: "vgg"; or a model with a
    stage twice as long: "resnet50+layer3", where the stage may be a pattern. Raises UsageError for
    a word that stands for nothing.
    """
    found: dict[str, None] = {}
    for word in words:
        found |= dict.fromkeys(matching(word, offers))
    return list(found)


def matching(word: str, offers: Offers[str]) -> list[str]:
    if word in offers.by_name:
        return [word]
    if word.startswith(PREFIX):
        return [operator(word)]
    unique = offers.unique()
    if LONGER in word:
        return longer(word, offers)
    if word == ZOO:
        return [name for name, reference in unique.items() if reference.startswith("mbench.")]
    if any(sign in word for sign in "*?["):
        if models := fnmatch.filter(unique, word):
            return models
        raise UsageError(f"no model matches {word!r}; mbench list models shows them all")
    families = {name: family(name, reference) for name, reference in unique.items()}
    if models := [name for name in unique if families[name] == word]:
        return models
    known = [*unique, *{f for f in families.values() if f}, ZOO]
    if (meant := as_listed(word, known)) != word:
        return matching(meant, offers)
    raise UsageError(f"unknown model {word!r}{nearest(word, known, listing='mbench list models')}")


def as_listed(word: str, known: Iterable[str]) -> str:
    """The `known` name that differs from `word` only in case and separators, or `word` itself:
    "ResNet50" is resnet50, "bert_base" is bert-base.
    """
    bare = SEPARATORS.sub("", word.casefold())
    found = {name for name in known if SEPARATORS.sub("", name.casefold()) == bare}
    return found.pop() if len(found) == 1 else word


def operator(name: str) -> str:
    """The name, if it is an operator's; raises UsageError, which says how to write operators."""
    try:
        return find_workload(OPERATORS, name).name
    except ValueError as error:
        raise UsageError(f"{error}; mbench list operators shows them") from None


def longer(word: str, offers: Offers[str]) -> list[str]:
    """Variants of a model, which are not listed anywhere; raises UsageError if there are none."""
    model, _, stage = word.partition(LONGER)
    model = as_listed(model, offers.unique())
    forms = load_workload(offers.get(model), model).lengthened()
    if stages := fnmatch.filter(forms, stage):
        return [f"{model}{LONGER}{found}" for found in stages]
    if not forms:
        raise UsageError(f"{model} has no stage that can be made longer: leave out +{stage}")
    whole = [form for form in forms if "." not in form]
    raise UsageError(f"{model} has no stage {stage!r}{nearest(stage, whole)}")


def reference_of(model: str, offers: Offers[str]) -> str:
    """Where the workload of a selected model is found; raises UsageError."""
    if model.startswith(PREFIX):
        return OPERATORS
    reference: str = offers.get(model.partition(LONGER)[0])
    return reference


def family(name: str, reference: str) -> str:
    """The family, or "" if the workload does not load, which is reported when it is selected."""
    try:
        return load_workload(reference, name).family
    except MbenchError:
        return ""


def scenario_reference(mode: str, offers: Offers[str]) -> str:
    """Where the scenario of a mode is found, as stored in a case: empty for mbench's own.

    Raises MbenchError if what a plugin registered does not load.
    """
    reference: str = offers.get(mode)
    try:
        find_scenarios(mode, reference)
    except (Exception, SystemExit) as error:
        raise MbenchError(
            f"the scenario {reference!r} does not load: {type(error).__name__}: {error}"
        ) from None
    return "" if reference == OURS else reference


def load_workload(reference: str, model: str) -> Workload:
    """The workload that a plugin registered; raises MbenchError if it is not a workload."""
    from mbench.contract.workload import Workload

    try:
        workload = find_workload(reference, model)
        if not isinstance(workload, Workload):
            raise TypeError(f"{reference.partition(':')[2]} is not a workload")
        workload.resized(**workload.proof.get("sizes", {}))  # else its proof would fail there
    except (Exception, SystemExit) as error:
        raise MbenchError(
            f"the workload {reference!r} does not load: {type(error).__name__}: {error}"
        ) from None
    return workload
