"""Whether a step did what it should, by mbench's own JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acceptance.figures import cells_of
from acceptance.step import FAILED, OUT_OF_TIME, PASSED, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection

    from acceptance.step import Document, Ended, Judge

__all__ = ["close", "finds_gpu", "goes_on_without", "measured", "probed", "ran", "refused", "same",
           "tells"]  # fmt: skip

FEW_PERCENT = 0.01
"""An A/A ratio this close to 1 passes even if its interval excludes 1, as 1 in 20 does."""


def ended_well(ended: Ended, *codes: int) -> Verdict:
    if ended.returncode in codes:
        return Verdict(PASSED)
    return Verdict(FAILED, f"exit code {ended.returncode}: {ended.said}")


def ran(ended: Ended, document: Document | None) -> Verdict:
    """The step ended with exit code 0, whatever it printed."""
    return ended_well(ended, 0)


def probed(ended: Ended, document: Document | None) -> Verdict:
    """A program of ours ended with exit code 0, and printed figures that report nothing wrong."""
    verdict = ended_well(ended, 0)
    if verdict.outcome == PASSED and not document:
        return Verdict(FAILED, f"it told nothing: {ended.said}")
    if verdict.outcome == PASSED and document and document.get("wrong"):
        return Verdict(FAILED, "; ".join(document["wrong"]))
    return verdict


def measured(ended: Ended, document: Document | None) -> Verdict:
    """Every cell is ok or unsupported, and each framework has one that is ok."""
    if document is None:
        return Verdict(FAILED, f"no report, exit code {ended.returncode}: {ended.said}")
    cells = cells_of(document)
    if wrong := [cell for cell in cells if cell["outcome"] not in ("ok", "unsupported")]:
        short = all(cell["outcome"] == "timeout" for cell in wrong)
        return Verdict(OUT_OF_TIME if short else FAILED, "; ".join(map(told, wrong)))
    well = {cell["framework"] for cell in cells if cell["outcome"] == "ok"}
    if not well or well != {cell["framework"] for cell in cells}:
        reasons = [told(cell) for cell in cells if cell["framework"] not in well]
        return Verdict(FAILED, "; ".join(reasons) or f"nothing was measured: {ended.said}")
    return Verdict(PASSED, "; ".join(told(cell) for cell in cells if cell["outcome"] != "ok"))


def told(cell: dict[str, Any]) -> str:
    return f"{cell['name']}: {cell['outcome']}: {cell['reason']}"


def same(*, judged: bool) -> Judge:
    """What is compared with itself has the ratio 1; unless `judged`, this is only reported."""

    def judge(ended: Ended, document: Document | None) -> Verdict:
        found = (document or {}).get("calibrations") or (document or {}).get("comparisons") or []
        if document is not None and "cases" in document:
            verdict = measured(ended, document)
            if verdict.outcome != PASSED:
                return verdict
        if not found:
            return Verdict(FAILED, f"no ratio, exit code {ended.returncode}: {ended.said}")
        off = []
        for one in found:
            ratio, low, high = one["ratio"], one["low"], one["high"]
            if ratio is None:
                return Verdict(FAILED, one["reason"] or "no ratio")
            inside = low is not None and low <= 1 <= high
            if not inside and abs(ratio - 1) > FEW_PERCENT:
                off.append(f"{ratio:.4f} ({low}..{high})")
        if off and judged:
            return Verdict(FAILED, f"identical workers differ: {', '.join(off)}")
        return Verdict(PASSED, f"identical workers differ: {', '.join(off)}" if off else "")

    return judge


def close(*, within: float, judged: bool) -> Judge:
    """mbench is about as fast as a bare loop, by overhead.py; unless `judged`, only reported."""

    def judge(ended: Ended, document: Document | None) -> Verdict:
        verdict = probed(ended, document)
        if verdict.outcome != PASSED or document is None:
            return verdict
        found = document["ratios"]
        text = ", ".join(f"{one['framework']} {one['ratio']:.4f}" for one in found)
        # The interval decides: every ratio in it may be the true one.
        slow = [one for one in found if (one["high"] or one["ratio"]) < 1 - within]
        if slow and judged:
            return Verdict(FAILED, f"more than {100 * within:.1f} % below a bare loop: {text}")
        return Verdict(PASSED, text)

    return judge


def tells(*, judged: bool) -> Judge:
    """Each framework's profiler reported kernels, or it has none; unless `judged`, only reported.

    Other steps judge what could not be measured.
    """

    def judge(ended: Ended, document: Document | None) -> Verdict:
        found = (document or {}).get("kernels", [])
        if not found:
            return Verdict(FAILED, f"no kernels, exit code {ended.returncode}: {ended.said}")
        mute = [one for one in found if not one["kernels"]]
        said = "; ".join(f"{one['label']}: {one['reason'] or 'nothing was told'}" for one in mute)
        failed = [one for one in mute if not one["reason"].startswith("unsupported")]
        if judged and (failed or len(mute) == len(found)):
            return Verdict(FAILED, said)
        return Verdict(PASSED, said)

    return judge


def refused(outcomes: Collection[str], *words: str) -> Judge:
    """Every cell ends with one of `outcomes`, and its reason has one of `words`, if any."""

    def judge(ended: Ended, document: Document | None) -> Verdict:
        cells = cells_of(document or {})
        if not cells:
            return Verdict(FAILED, f"no outcome, exit code {ended.returncode}: {ended.said}")
        for cell in cells:
            reason = cell["reason"].lower()
            fits = not words or any(word.lower() in reason for word in words)
            if cell["outcome"] not in outcomes or not fits:
                wanted = " or ".join(outcomes)
                return Verdict(FAILED, f"should have been {wanted}, but {told(cell)}")
        verdict = ended_well(ended, 1)
        return verdict if verdict.outcome == FAILED else Verdict(PASSED, told(cells[0]))

    return judge


def goes_on_without(absent: str) -> Judge:
    """One framework has nowhere to run, and the others are measured."""

    def judge(ended: Ended, document: Document | None) -> Verdict:
        cells = cells_of(document or {})
        lost = [cell for cell in cells if cell["framework"] == absent]
        if not lost:
            return Verdict(FAILED, f"{absent} is not in the report: {ended.said}")
        if wrong := [cell for cell in cells if cell not in lost and cell["outcome"] != "ok"]:
            return Verdict(FAILED, told(wrong[0]))
        if lost[0]["outcome"] not in ("failed", "unsupported") or not lost[0]["reason"]:
            return Verdict(FAILED, told(lost[0]))
        verdict = ended_well(ended, 1)
        return verdict if verdict.outcome == FAILED else Verdict(PASSED, told(lost[0]))

    return judge


def finds_gpu(ended: Ended, document: Document | None) -> Verdict:
    """Doctor sees a GPU."""
    found = [one for one in (document or {}).get("checks", []) if one["name"] == "GPU"]
    if not found or found[0]["status"] != "ok":
        return Verdict(FAILED, found[0]["found"] if found else f"no GPU is seen: {ended.said}")
    return Verdict(PASSED, found[0]["found"])
