"""How the acceptance judges the reports of its steps, and the page that it writes."""

from __future__ import annotations

import pytest


def ended(**given):
    from acceptance.step import Ended

    usual = {"returncode": 0, "seconds": 1.0, "stopped": False, "interrupted": False, "said": ""}
    return Ended(**{**usual, **given})


def case(**given):
    usual = {
        "framework": "torch", "label": "torch", "outcome": "ok", "reason": "", "model": "m",
        "mode": "train", "batch_size": 8, "precision": "fp32", "compiler": "eager",
    }  # fmt: skip
    return {**usual, **given}


def test_profilers_that_tell_no_kernels_fail_unless_there_are_none():
    from acceptance.figures import figures_of
    from acceptance.judges import tells

    def document(*frameworks):
        return {"kernels": [
            {"label": label, "reason": reason, "libraries": {"CUDA": ""}, "kernels": [
                {"primitive": "kernel", "implementation": name, "count": 2, "milliseconds": at}
                for at, name in enumerate(names)]}
            for label, reason, names in frameworks
        ], "cases": [{"label": label} for label, *_ in frameworks]}  # fmt: skip

    def outcome(*frameworks, judged=True):
        return tells(judged=judged)(ended(), document(*frameworks))

    well, none = ("torch", "", ["a", "b"]), ("mxnet", "unsupported: it has none", [])
    assert outcome(well, well).outcome == "passed"
    passed = outcome(well, none)
    assert (passed.outcome, passed.reason) == ("passed", "mxnet: unsupported: it has none")
    for wrong in ([none], [well, ("tf", "failed: no trace", [])], [well, ("tf", "", [])], []):
        assert outcome(*wrong).outcome == "failed"
    assert outcome(("tf", "", []), judged=False).outcome == "passed"
    assert figures_of(document(well)) == {"cases": [], "kernels": [
        {"name": "torch", "reason": "", "libraries": {"CUDA": ""}, "calls": {"kernel": 4},
         "longest": ["b", "a"]}]}  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "outcome", "reason"),
    [
        ([case()], "passed", ""),
        ([case(), case(precision="tf32", outcome="unsupported", reason="CPU")], "passed",
         "torch m train 8 tf32 eager: unsupported: CPU"),
        ([case(outcome="unsupported", reason="no GPU")], "failed",
         "torch m train 8 fp32 eager: unsupported: no GPU"),
        ([case(), case(framework="jax", label="jax", outcome="unsupported", reason="no")], "failed",
         "jax m train 8 fp32 eager: unsupported: no"),
        ([case(), case(outcome="not-equal", reason="off")], "failed",
         "torch m train 8 fp32 eager: not-equal: off"),
        ([case(), case(outcome="timeout", reason="no round")], "out of time",
         "torch m train 8 fp32 eager: timeout: no round"),
        ([], "failed", "nothing was measured: last words"),
    ],
)  # fmt: skip
def test_cells_are_well_or_refused(cells, outcome, reason):
    from acceptance.judges import measured

    found = measured(ended(returncode=1, said="last words"), {"cases": cells})
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("ratio", "low", "high", "outcome"),
    [(1.02, 0.99, 1.05, "passed"), (1.005, 1.001, 1.009, "passed"), (1.05, 1.02, 1.08, "failed"),
     (None, None, None, "failed")],
)  # fmt: skip
def test_the_ratio_of_the_same_is_one(ratio, low, high, outcome):
    from acceptance.judges import same

    found = {"calibrations": [{"ratio": ratio, "low": low, "high": high, "reason": "none"}]}
    assert same(judged=True)(ended(), found).outcome == outcome
    assert same(judged=False)(ended(), found).outcome == ("passed" if ratio else "failed")


@pytest.mark.parametrize(
    ("ratio", "high", "outcome"),
    [(0.999, 1.0, "passed"), (0.993, 0.996, "passed"), (0.98, 0.99, "failed"),
     (0.98, None, "failed")],
)  # fmt: skip
def test_mbench_may_cost_half_a_percent(ratio, high, outcome):
    from acceptance.judges import close

    found = {"ratios": [{"framework": "torch", "ratio": ratio, "low": None, "high": high}]}
    assert close(within=0.005, judged=True)(ended(), found).outcome == outcome
    assert close(within=0.005, judged=False)(ended(), found).outcome == "passed"


def test_what_should_fall_short_passes_if_it_does_by_name():
    from acceptance.judges import goes_on_without, refused

    short = case(outcome="oom", reason="CUDA out of memory")
    assert refused(["oom"])(ended(returncode=1), {"cases": [short]}).outcome == "passed"
    assert refused(["oom"], "device")(ended(returncode=1), {"cases": [short]}).outcome == "failed"
    assert refused(["oom"])(ended(returncode=0), {"cases": [case()]}).outcome == "failed"
    assert refused(["oom"])(ended(returncode=2, said="what?"), None).outcome == "failed"
    lost = case(framework="tf", label="tf", outcome="failed", reason="is not installed here")
    without = goes_on_without("tf")
    assert without(ended(returncode=1), {"cases": [case(), lost]}).outcome == "passed"
    assert without(ended(returncode=1), {"cases": [short, lost]}).outcome == "failed"
    assert without(ended(returncode=0), {"cases": [case()]}).outcome == "failed"


def test_doctor_must_see_the_gpu():
    from acceptance.judges import finds_gpu

    checks = [{"name": "GPU", "status": "ok", "found": "H100 at 0000:3b:00.0"}]
    assert finds_gpu(ended(), {"checks": checks}).outcome == "passed"
    assert finds_gpu(ended(), {"checks": []}).outcome == "failed"


def test_reports_are_one_document_or_one_a_line(tmp_path):
    from acceptance.figures import read

    report = tmp_path / "report.json"
    for text, found in (
        ('{\n "a": 1\n}\n', {"a": 1}), ('{"a": 1}\n{"a": 2}\n{"a"', {"a": 2}), ("words", None),
        ("", None),
    ):  # fmt: skip
        report.write_text(text)
        assert read(report) == found


def test_figures_of_a_run_are_those_of_its_document(document):
    from acceptance.figures import cells_of, figures_of

    whole = document(seconds={"tiny": [[0.1] * 3] * 3, "flaky": [[0.1] * 3] * 3})
    found = figures_of(whole)
    assert len(found["cases"]) == len(cells_of(whole)) == 2
    assert found["cases"][0]["value"] == pytest.approx(800)
    assert found["cases"][0]["peak_memory_bytes"] == 100 * 2**20
    assert found["comparisons"][0]["ratio"] == pytest.approx(1)
    assert found["status"] == "complete"


def test_proofs_tell_the_worst_error_of_each_check():
    from acceptance.figures import figures_of

    def finding(check, error, gate=1e-9):
        return {"check": check, "error": error, "gate": gate, "where": "w", "passed": True}

    made = {"findings": [finding("outputs", 1e-12), finding("outputs", 1e-10),
                         finding("flops", None)], "worst": 1e-7, "grade": "proven"}  # fmt: skip
    (found,) = figures_of({"proofs": [case(proof=made)]})["proofs"]
    assert found["checks"][0] == {"check": "outputs", "error": 1e-10, "gate": 1e-9, "where": "w"}
    assert len(found["checks"]) == 2


def test_the_page_shows_steps_figures_and_commands(make, conduct, document, tmp_path):
    from acceptance.figures import figures_of
    from acceptance.page import page_of
    from acceptance.record import Record, Result

    whole = document(seconds={"tiny": [[0.1] * 3] * 3, "flaky": [[0.1] * 3] * 3})
    proof = {"findings": [{"check": "timed", "error": 2e-7, "gate": 1e-5, "where": ""}]}
    common = {"phase": "nine", "about": "it does", "outcome": "passed"}
    record = Record(
        folder=tmp_path, command="cuda.py", setting={"device": "cuda"}, versions={"torch": "2"},
        machine={"gpus": [{"name": "H100", "uuid": "GPU-1"}]},
    )  # fmt: skip
    record.results = [
        Result(name="compare", **common, reason="a | b", command="mbench compare tiny tiny",
               figures=figures_of(whole)),
        Result(name="verify", **common, reason="", command="mbench verify tiny",
               figures=figures_of({"proofs": [case(proof=proof)]})),
        Result(name="gauges", **common, reason="", command="gauges",
               figures=figures_of({"look_ms": {"median": 1.25}, "ramp": [[1.0, 1980]]})),
    ]  # fmt: skip
    page = page_of(record.document())
    assert "3 passed, 0 failed" in page
    assert "a \\| b" in page
    assert "| compare | flaky / tiny" in page
    assert "it does; 800.0 samples/s, 800.0 samples/s, ratio 1.0000 (1.0000 .. 1.0000); a" in page
    assert "timed 2.0e-07 of 1e-05" in page
    assert "| gauges | look_ms median | 1.25 |" in page
    assert "name H100, uuid GPU-1" in page
    assert "verify: mbench verify tiny" in page
