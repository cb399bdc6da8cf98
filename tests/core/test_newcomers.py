"""The faults that newcomers ran into, each with the tests that cover it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FAULTS = {
    "F1: compare torch jax ends in 'unknown framework', without a word on how to install it": (
        "core/plugins/test_separate_adapters.py::test_every_command_says_so",
        "core/plugins/test_separate_adapters.py::test_names_and_aliases_are_taken_in_any_case",
    ),
    "F2: --fast ends without an answer, and its advice starts again from nothing": (
        "core/measure/test_rounds.py::"
        "test_sets_that_are_made_in_any_case_have_fewer_rounds_and_say_what_they_took",
        "core/cli/test_resume.py::test_no_answer_is_finished_by_the_pairs_that_are_lacking",
    ),
    "F3: explain takes six times its budget, and shows tables without an interval": (
        "core/cli/test_explain.py::"
        "test_a_budget_is_kept_and_what_does_not_fit_is_measured_later",
        "core/cli/test_explain.py::test_a_budget_that_does_not_hold_three_sets_is_refused",
        "core/explain/test_summary.py::test_two_sets_make_no_interval_and_no_tables",
    ),
    "F4: explain hides that it was disturbed, on which machine and by which command": (
        "core/cli/test_explain.py::test_the_phases_that_sleep_are_found",
        "core/explain/test_page.py::"
        "test_the_page_begins_with_the_answer_then_how_certain_it_is_and_whether_to_believe_it",
    ),
    "F5: mbench.load fails in a notebook without ipywidgets": (
        "core/results/test_database.py::test_a_notebook_without_ipywidgets_is_no_obstacle",
    ),
    "F6: the documented gate in Python passes when it saw nothing": (
        "core/api/test_result.py::test_a_gate_is_one_call",
        "core/cli/test_compare.py::test_a_gate_that_saw_nothing_is_an_error_in_ci",
        "core/reports/test_gate.py::test_a_stored_run_is_gated_as_a_new_one_is",
    ),
    "F7: diff's first words contradict its exit code": (
        "core/reports/test_differences.py::test_a_regression_fails_the_build",
        "core/reports/test_differences.py::test_a_gate_that_sees_nothing_does_not_pass",
        "core/reports/test_differences.py::test_junit_has_an_error_for_what_cannot_be_compared",
    ),
    "F8: a busy machine makes a winner by 36 times, and nothing is said before it measures": (
        "core/results/test_machine.py::"
        "test_no_winner_is_named_where_every_round_was_disturbed",
        "core/machine/test_glance.py::test_load_is_told_with_what_to_do_and_comes_first",
    ),
    "F9: mbench new model ends in an error at its next step": (
        "core/cli/test_scaffold.py::test_what_is_written_is_said_and_what_to_type_next",
        "adapters/pytorch/test_model_plugin.py::"
        "test_a_strangers_model_is_listed_gets_a_reference_file_and_is_proven",
    ),
    "F10: an arm under a compiler is described as eager": (
        "core/sdk/test_benchmark.py::"
        "test_a_tier_is_not_said_to_run_as_under_another_compiler",
    ),
    "F11: reports of --scale lose the scale": (
        "core/reports/test_remarks.py::"
        "test_what_labels_do_not_distinguish_is_named_without_empty_brackets",
        "core/reports/test_overview.py::test_scales_are_told_apart",
    ),
    "F12: --mode both is unknown": ("core/spec/test_values.py::test_both_modes",),
    "F13: the hint at a unit is a hundred times off": (
        "core/spec/test_values.py::"
        "test_a_share_without_its_sign_is_answered_with_what_is_meant",
    ),
    "F14: a home that cannot be written is not answered with where else": (
        "core/environments/test_build.py::"
        "test_a_folder_that_is_not_the_users_is_answered_with_where_else",
        "faults/test_places.py::test_a_home_and_a_folder_that_cannot_be_written",
    ),
    "F15: pages name what is not there": (
        "docs/test_docs.py::test_commands_in_the_pages_can_be_typed",
        "docs/test_docs.py::test_every_command_and_option_is_documented",
        "core/cli/test_main.py::test_lists",
    ),
    "F16: it takes longer than was said": (
        "core/measure/test_estimate.py::"
        "test_sets_that_are_made_in_any_case_take_what_they_took_before",
        "core/reports/progress/test_state.py::test_a_set_that_has_begun_is_measured_to_its_end",
        "core/machine/test_durations.py::test_the_last_time_is_foretold",
        "core/cli/test_calibrate.py::"
        "test_a_budget_that_was_too_small_is_followed_by_what_would_do",
    ),
    "F17: the page's headline and chart have opposite directions": (
        "core/reports/test_html.py::test_answer_chart_and_table_have_one_direction",
    ),
}  # fmt: skip


def functions_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_fault_is_here():
    assert [fault.partition(":")[0] for fault in FAULTS] == [f"F{n}" for n in range(1, 18)]


@pytest.mark.parametrize("fault", FAULTS)
def test_it_has_a_test(fault):
    for test in FAULTS[fault]:
        file, _, name = test.partition("::")
        assert name in functions_of(TESTS / file), test
