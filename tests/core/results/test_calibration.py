"""A stored calibration is found again for the same machine, version and case, and no other."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from mbench.contract.axes import AXES
from mbench.contract.case import Case
from mbench.errors import MbenchError
from mbench.machine.records import System
from mbench.results import calibration
from mbench.results.calibration import Calibration, keep, recall
from mbench.results.identity import CALIBRATED, MACHINE, planned_identity

SOME = {"variables": {"SOME": "variable"}}
SYSTEM = SimpleNamespace(**{name: f"some {name}" for name in MACHINE} | SOME)
CASE = SimpleNamespace(
    **{name: f"some {name}" for name in (*(a.name for a in AXES), "workload")} | SOME
)


def identity(system=SYSTEM, framework="tiny", version="1.2", case=CASE):
    return planned_identity(case, framework=framework, version=version, system=system)


NOW = datetime.now(timezone.utc).isoformat()
FOUND = Calibration(run="r", started=NOW, ratios=[1.01, 0.98], disturbances=["other load"])


def test_kept_and_found_again():
    here = identity()
    assert recall(here) is None
    keep(here, FOUND)
    assert recall(here) == FOUND
    newer = Calibration(run="s", started=NOW, ratios=[1.0], disturbances=[])
    keep(here, newer)
    assert recall(here) == newer
    assert len(list(calibration.folder().iterdir())) == 1


@pytest.mark.parametrize("name", [*MACHINE, *vars(CASE), "framework", "version"])
def test_another_machine_version_or_case_has_none(name):
    keep(identity(), FOUND)
    system, axes = SimpleNamespace(**vars(SYSTEM)), SimpleNamespace(**vars(CASE))
    for facts in (system, axes):
        if hasattr(facts, name):
            setattr(facts, name, {"OTHER": "one"} if name == "variables" else "other")
    framework = "flaky" if name == "framework" else "tiny"
    version = "1.3" if name == "version" else "1.2"
    assert recall(identity(system, framework, version, axes)) is None


def test_load_seed_and_switches_of_proofs_are_no_part_of_it():
    assert "load_average" not in MACHINE
    kept = identity().values(CALIBRATED)["axes"]
    assert "seed" not in kept
    assert set(kept) < set(Case.__dataclass_fields__)
    assert set(MACHINE) < set(System.__dataclass_fields__)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"calibration": 7}', '{"calibration": {"run": "r"}}',
     '{"calibration": {"run": "r", "started": "", "ratios": [0.0], "disturbances": []}}',
     '{"calibration": {"run": "r", "started": "", "ratios": [], "disturbances": []}}'],
)  # fmt: skip
def test_what_cannot_be_read_is_as_if_it_were_not_there(text):
    here = identity()
    keep(here, FOUND)
    (path,) = calibration.folder().iterdir()
    path.write_text(text)
    assert recall(here) is None


def test_a_folder_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MBENCH_CALIBRATIONS", str(tmp_path / "file" / "calibrations"))
    with pytest.raises(MbenchError, match="MBENCH_CALIBRATIONS"):
        keep(identity(), FOUND)


@pytest.mark.parametrize(("days", "counts"), [(0, True), (29, True), (31, False), (-400, False)])
def test_an_old_one_counts_for_nothing(days, counts):
    began = (datetime.now(timezone.utc) - timedelta(days=days)).isoformat()
    keep(identity(), Calibration(run="r", started=began, ratios=[1.01], disturbances=[]))
    assert (recall(identity()) is not None) == counts
