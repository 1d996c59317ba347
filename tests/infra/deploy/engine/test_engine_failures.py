"""A failure of the engine is reported with a remedy, and never refers to lines that nobody printed."""

import stat
from pathlib import Path

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.deploy.engine.deployment import open_stack
from kafka_replication.infra.deploy.engine.failures import engine_failure
from kafka_replication.infra.stack.settings import read_settings
from tests.repository import STACKS


def said(stderr: str, stdout: str = "") -> str:
    return f"\n code: 255\n stdout: {stdout}\n stderr: {stderr}\n"


@pytest.mark.parametrize(
    ("stderr", "opened", "remedy"),
    [
        pytest.param("error: PULUMI_ACCESS_TOKEN must be set for login", False, "`pulumi login`", id="no-login"),
        pytest.param("error: unable to open bucket file:///gone: stat", False, "PULUMI_BACKEND_URL", id="no-backend"),
        pytest.param("error: incorrect passphrase", True, "PULUMI_CONFIG_PASSPHRASE", id="another-passphrase"),
        pytest.param("error: no resource plugin 'x' found", True, "pulumi plugin install resource", id="no-plugin"),
        pytest.param("error: the stack is currently locked by 1 lock(s)", True, "pulumi cancel", id="locked"),
        pytest.param("error: quota exceeded", True, "correct the cause", id="anything-else"),
    ],
)
def test_a_failure_has_its_remedy(stderr: str, opened: bool, remedy: str) -> None:
    failure = engine_failure(said(stderr), "test", opened=opened)
    assert failure.what == stderr.removeprefix("error: ")
    assert remedy in failure.remedy
    assert "above" not in str(failure)
    assert ("nothing was changed" in failure.why) is not opened


REPORTED = (
    'error: 1 error occurred:\n\t* the Kubernetes API server reported that "mirror-orders/orders-source" failed to '
    "fully initialize or become live: server-side apply field conflict detected, see https://x for help\n"
    'The resource managed by field manager "pulumi-kubernetes-1a2b3c4d" had an apply conflict: Apply failed with '
)
PLACE = "of mirror-orders/orders-source"


@pytest.mark.parametrize(
    ("conflicts", "fields"),
    [
        pytest.param(
            '1 conflict: conflict with "kubectl-edit" using kafka.strimzi.io/v1 at 2026-01-02T03:04:05Z: '
            ".spec.tasksMax",
            [f"spec.tasksMax {PLACE}: kubectl-edit changed it at 2026-01-02T03:04:05Z"],
            id="one",
        ),
        pytest.param(
            '3 conflicts: conflicts with "argo":\n- .spec.config.offset.lag.max\n- .spec.state\n'
            'conflicts with "kubectl-edit" using kafka.strimzi.io/v1:\n- .spec.tasksMax',
            [
                f"spec.config.offset.lag.max {PLACE}: argo changed it",
                f"spec.state {PLACE}: argo changed it",
                f"spec.tasksMax {PLACE}: kubectl-edit changed it",
            ],
            id="several-of-two-managers",
        ),
    ],
)
def test_a_field_conflict_names_the_field_the_object_the_manager_and_the_remedy(
    conflicts: str, fields: list[str]
) -> None:
    failure = engine_failure(said(REPORTED + conflicts), "test", opened=True)
    assert (failure.code, failure.what.partition(": ")[2]) == ("field-conflict", "; ".join(fields))
    assert "`replicate up test --refresh` deploys the stack's value" in failure.remedy


def test_the_programs_error_is_reported_once() -> None:
    both = "error: a-code: what, at a.b.\nerror: an unhandled error occurred: a-code: what, at a.b."
    assert engine_failure(said(both), "test", opened=True).what == "a-code: what, at a.b."


def test_an_error_that_the_provider_counts_is_reported_without_the_count() -> None:
    counted = 'error: 1 error occurred:\n\t* KafkaConnect "orders" is invalid: spec.groupId: Required value'
    failure = engine_failure(said(f"{counted}\nerror: update failed"), "test", opened=True)
    assert failure.what == 'KafkaConnect "orders" is invalid: spec.groupId: Required value'


def test_without_an_error_line_the_engines_last_line_is_reported() -> None:
    assert engine_failure(said("panic: nil"), "test", opened=True).what == "panic: nil"


@pytest.mark.process
@pytest.mark.parametrize(
    "program",
    ["#!/bin/sh\necho v2.9.0", "#!/bin/sh\necho no library >&2; exit 3", "no program"],
    ids=["too-old", "broken", "not-executable-here"],
)
def test_an_unusable_pulumi_is_reported_with_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    file = tmp_path / "pulumi"
    file.write_text(program)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    # With another `pulumi` on the PATH, that one would run instead of a broken one.
    monkeypatch.setenv("PATH", str(tmp_path))
    settings = read_settings("prod-us-west-2", STACKS)
    with pytest.raises(CannotRunError, match="this `pulumi` cannot be used") as caught, open_stack(settings):
        raise AssertionError("a stack was opened")
    assert caught.value.where == str(file)
