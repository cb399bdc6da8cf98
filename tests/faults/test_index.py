"""Which tests show which faults: the rows of the table, see test_table.py, and further ones."""

from __future__ import annotations

import re
from pathlib import Path

ROWS = [number for number in range(1, 44) if number != 26]
"""The table has no row 26."""
FURTHER = {
    "time away": {
        "test_a_pause_longer_than_the_limit_is_survived_and_told": 4,
        "test_a_worker_that_is_stopped_alone_is_measured_again": 1,
        "test_a_worker_that_stays_stopped_is_said_to_be_so": 1,
    },
    "a worker's surroundings": {
        "test_a_debugging_aid_that_was_left_on_ends_each_case": 2,
        "test_what_runs_at_the_start_of_a_workers_python_is_seen": 7,
        "test_a_coverage_of_subprocesses_that_was_left_on_is_seen": 1,
        "test_what_an_arm_asks_for_in_vain_ends_it_by_name": 6,
        "test_a_library_of_the_shell_that_is_not_there_ends_each_case": 1,
        "test_what_was_changed_by_hand_is_named": 6,
    },
    "small files": {
        "test_a_broken_file_of_defaults_is_one_line_and_help_can_be_had": 4,
        "test_a_shared_file_that_is_no_business_of_ours_is_none": 4,
        "test_an_environments_record_keeps_nobody_waiting": 4,
    },
    "files of runs": {
        "test_a_run_whose_file_is_changed_by_others_stops_at_once": 3,
        "test_a_bad_line_costs_what_comes_after_it_and_is_named_in_words": 6,
    },
    "helper programs": {"test_an_mpirun_that_is_none_is_refused": 5},
    "others' words": {"test_row_32_a_limit_on_processes_is_one_line_that_names_it": 1},
    "signals": {
        "test_a_signal_while_a_worker_computes_ends_the_run_with_its_line": 5,
        "test_a_signal_while_an_environment_is_built_leaves_none": 2,
        "test_a_signal_in_the_report_says_where_the_run_is": 2,
    },
    "publishing": {
        "test_a_plan_and_a_mistake_show_no_secret": 2,
        "test_a_run_with_a_secret_is_resumed_with_the_same_one_only": 2,
    },
}
"""Faults of the same kinds that are not in the table: the tests that show them, each with how many
of its cases do.
"""


def test_forty_further_faults_are_shown():
    text = "\n".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    for tests in FURTHER.values():
        for name in tests:
            assert f"def {name}(" in text
    assert sum(count for tests in FURTHER.values() for count in tests.values()) >= 40


def test_every_row_of_the_table_is_found_by_its_number():
    text = "\n".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    found = {int(number) for number in re.findall(r"(?<![a-z])[Rr]ow[ _](\d+)(?!\d)", text)}
    assert found >= set(ROWS)
