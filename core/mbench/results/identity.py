"""What makes a case of one run the same case in another."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.axes import AXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.axes import Axes
    from mbench.contract.case import Case
    from mbench.machine.records import System

__all__ = ["CALIBRATED", "MACHINE", "MATCHED", "MATCHED_BY_FRAMEWORK", "REPEATED", "STEP_TIME",
           "TRACED", "CaseIdentity", "planned_identity"]  # fmt: skip

MACHINE = ("hostname", "cpu", "physical_cores", "logical_cores", "memory_bytes", "gpus",
           "variables")  # fmt: skip
"""The fields of a System by which a machine is recognised."""

# The fields that have to agree, by the purpose for which a case of another run is looked up.
CALIBRATED = (*MACHINE, "framework", "version", "workload", "axes")
"""Identical processes scatter alike."""
REPEATED = (*CALIBRATED, "spec", "nodes", "mbench")
"""Any remaining difference between two results is noise of the machine."""
STEP_TIME = ("hostname", "spec", "workload", "axes")
"""A step takes about as long, as far as can be known before an environment is found."""
MATCHED = ("label", "axes")
"""The two may be compared, and a difference is due to what changed meanwhile."""
MATCHED_BY_FRAMEWORK = ("framework", "axes")
"""The same, for frameworks whose labels differ."""
TRACED = ("protocol", "cpu", "label", "axes")
"""Points of one line of a history; versions change along it."""


@dataclass(frozen=True, kw_only=True)
class CaseIdentity:
    """A case with everything that identifies it in other runs.

    How much has to agree depends on the purpose: see the tuples of field names above. What is not
    known is left empty.
    """

    axes: Axes
    framework: str
    """Name of the adapter."""
    label: str = ""
    """The framework with its settings, numbered where it was given twice."""
    spec: str = ""
    """The framework as it was given, without settings."""
    version: str = ""
    """Version of the framework."""
    workload: str = ""
    """Where the facts of the model are: "module:attribute"."""
    machine: Mapping[str, object] = field(default_factory=dict)
    """The machine that runs mbench, by the fields in MACHINE."""
    nodes: Sequence[str] = ()
    """Names of other machines that compute."""
    mbench: str = ""
    """Version of mbench."""
    protocol: str = ""
    """Name of the protocol."""

    def values(self, fields: Sequence[str]) -> dict[str, object]:
        """Some fields of this identity and of its `machine`, as plain JSON data."""
        found: dict[str, object] = {}
        for name in fields:
            found[name] = self.machine.get(name) if name in MACHINE else getattr(self, name)
        if "axes" in found:
            found["axes"] = {axis.name: axis.value(self.axes) for axis in AXES}
        return found

    def key(self, fields: Sequence[str]) -> str:
        """The `values` as one text: cases with equal keys are alike for the purpose of `fields`."""
        return json.dumps(self.values(fields), sort_keys=True)


def planned_identity(
    case: Case, *, framework: str, version: str = "", spec: str = "", system: System
) -> CaseIdentity:
    """The identity of a case that is about to be measured on a machine."""
    return CaseIdentity(
        axes=case,
        framework=framework,
        spec=spec,
        version=version,
        workload=case.workload,
        machine={name: getattr(system, name) for name in MACHINE},
    )
