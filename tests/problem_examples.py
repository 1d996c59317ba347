"""Real messages for the catalogue of problems: those that the code makes while the tests named here run.

The tests run in a process of its own, `python -m tests.problem_examples FILE FOLDER`, which writes the messages to the
file as JSON, by code, in the order in which they were made. Their temporary folders are in the folder.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest

from kafka_replication.components.contract.problems import CannotRunError, Problem
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from tests.repository import ROOT

Messages = dict[str, list[str]]

#: Tests without whose messages an entry of the catalogue would say hardly anything, and the modules of which every test
#: counts. What a message of theirs says is the same in each run.
TESTS = (
    "test_a_change_that_does_not_fit_the_connectors_state_is_refused",
    "test_a_command_that_cannot_put_back_names_what_is_stopped",
    "test_a_command_that_fails_stops_the_switch_and_its_output_is_shown",
    "test_a_configuration_key_is_refused_without_a_stack",
    "test_a_connector_without_a_configuration_is_named",
    "test_a_drill_is_refused_if_a_position_is_not_proven",
    "test_a_fence_that_would_also_affect_replication_is_refused",
    "test_a_file_that_java_refuses_is_refused",
    "test_a_file_without_an_enabled_flow_is_refused",
    "test_a_flow_that_has_already_run_is_refused_with_a_remedy",
    "test_a_login_that_only_connectors_can_use_is_refused_with_the_key_to_set",
    "test_a_loss_that_may_matter_is_reported_and_exits_with_1",
    "test_a_malformed_file_is_refused",
    "test_a_missing_config_map_or_its_key_is_named",
    "test_a_missing_file_is_reported_by_path",
    "test_a_missing_or_unfinished_job_is_not_evidence",
    "test_a_mistake_is_named_with_its_line",
    "test_a_names_file_in_another_form_is_refused",
    "test_a_part_that_never_becomes_ready_is_reported_with_its_last_problem_and_stopped",
    "test_a_partition_in_two_lines_is_refused_in_either_order",
    "test_a_partition_that_mixes_records_of_both_origins_is_refused",
    "test_a_planned_failover_suggests_disaster_mode_if_the_source_does_not_answer",
    "test_a_property_that_the_topology_does_not_express_is_listed",
    "test_a_record_that_does_not_arrive_fails_the_drill_and_counts_as_skipped",
    "test_a_refusal_by_connect_is_reported_and_the_request_is_withdrawn",
    "test_a_refused_connection_is_reported",
    "test_a_restart_that_makes_no_sense_is_refused",
    "test_a_secret_that_is_not_mounted_is_reported_with_its_path",
    "test_a_source_without_a_mirror_maker_is_refused",
    "test_a_step_that_stalls_is_ended_with_its_last_lines",
    "test_a_target_cluster_that_does_not_answer_stops_the_move",
    "test_a_value_of_neither_cluster_is_refused_and_a_secret_is_not_shown",
    "test_a_workload_that_cannot_be_switched_is_refused_by_name",
    "test_an_agreement_allows_only_what_it_names",
    "test_an_encrypted_or_inline_kubeconfig_is_refused_without_showing_it",
    "test_an_incomplete_stack_file_is_refused_with_what_to_add",
    "test_an_invalid_project_file_is_refused",
    "test_an_obstacle_to_a_move_is_reported_with_a_remedy",
    "test_an_operator_that_is_down_leaves_nothing_armed",
    "test_an_unauthorized_and_a_forbidden_request_have_different_remedies",
    "test_an_unknown_ref_is_refused",
    "test_an_unknown_topology_is_refused_with_the_known_ones",
    "test_another_schema_version_is_refused",
    "test_arguments_that_contradict_each_other_are_refused",
    "test_connectors_without_a_kafkaconnector_belong_to_the_kafkaconnect_that_was_read",
    "test_diff_reports_every_stack_whose_cluster_cannot_be_reached",
    "test_every_task_of_a_stopped_connector_is_waited_for",
    "test_evidence_with_an_unknown_verdict_is_refused",
    "test_explain_refuses_an_unknown_code_and_says_what_to_name",
    "test_if_the_source_dies_the_fence_stays_and_the_error_says_how_to_lift_it",
    "test_missing_rights_are_named_with_the_role_that_gives_them",
    "test_nothing_is_planned_if_one_of_several_connectors_is_refused",
    "test_offsets_are_not_set_while_somebody_else_controls_the_connector",
    "test_records_that_only_the_source_has_are_exported_whole",
    "test_tasks_of_a_flow_are_looked_up_in_the_status_topic_of_its_workers",
    "test_tasks_that_do_not_end_stop_the_move_unless_agreed",
    "test_the_failover_is_undone_if_a_group_starts_after_the_look",
    "test_the_fence_is_removed_if_records_do_not_arrive_in_time",
    "test_the_first_deployment_says_what_to_create_and_where",
    "test_what_was_edited_or_not_deleted_is_reported_with_the_remedy_of_the_drift",
)
MODULES = ("test_could_not",)


def messages() -> Messages:
    """What the code says in these tests. Raises AssertionError if one of them fails."""
    sources = {str(file.relative_to(ROOT)): file.read_text() for file in sorted((ROOT / "tests").rglob("test_*.py"))}
    tests = [f"{file}::{name}" for name in TESTS for file, text in sources.items() if f"def {name}(" in text]
    tests += [file for file in sources if Path(file).stem in MODULES]
    assert len(tests) == len(TESTS) + len(MODULES), "a test that the catalogue needs was renamed, or two have its name"
    with TemporaryDirectory() as folder:
        file = Path(folder) / "messages.json"
        command = [sys.executable, "-m", __name__, str(file), str(Path(folder) / "tests"), *tests]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
        found: Messages = json.loads(file.read_text())
        return found


class _Recorder:
    """Notes each message that is made, without what a later run would not repeat."""

    def __init__(self, folder: str) -> None:
        self.made: Messages = {}
        self._folder = folder
        #: What differs from run to run or with every change of an object: folders, this process and digests.
        self._shown = (
            (re.compile(re.escape(folder) + r"/[^/\s`]+/"), ""),
            (re.compile(re.escape(f"{ROOT}/")), ""),
            (re.compile(rf"\b{os.getpid()}\b"), "4711"),
            (re.compile(r"-[0-9a-f]{10}\b"), "-1f0c2d9a4b"),
        )

    def noting(self, kind: type, text: Callable[[Any], str]) -> Any:
        """Replaces the constructor of a kind of message by one that notes it, too."""
        make = vars(kind)["__init__"]

        def noted(made: Any, *given: Any, **named: Any) -> None:
            make(made, *given, **named)
            said = text(made)
            for differs, shown in self._shown:
                said = differs.sub(shown, said)
            if self._folder not in said:
                self.made.setdefault(made.code, []).append(said)

        return patch.object(kind, "__init__", noted)


def _said(error: CannotRunError) -> str:
    """The message without its place and its details, such as a log."""
    return f"{error.code}: {error.what}, at {error.where}. {error.why} Remedy: {error.remedy}"


def _run(file: str, folder: str, *tests: str) -> int:
    recorder = _Recorder(folder)
    kinds: tuple[tuple[type, Callable[[Any], str]], ...] = (
        (CannotRunError, _said),
        (Problem, lambda problem: problem.text),
        (LeftOut, str),
    )
    with recorder.noting(*kinds[0]), recorder.noting(*kinds[1]), recorder.noting(*kinds[2]):
        code = pytest.main(["-q", "-p", "no:cacheprovider", f"--basetemp={folder}", *tests])
    Path(file).write_text(json.dumps(recorder.made))
    return int(code)


if __name__ == "__main__":
    sys.exit(_run(*sys.argv[1:]))
