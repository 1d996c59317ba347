"""The commands of the drift workflow: what they run, where they report it, and that a difference fails the job."""

from pathlib import Path

from tests.workflows.workflow import Runner, a_repository, load, set_up

CREDENTIALS = "secrets.KUBECONFIG != ''"


def a_runner(tmp_path: Path, *, credentials: bool) -> Runner:
    """A machine whose `replicate` prints its arguments and finds a difference."""
    repository = a_repository(tmp_path / "repository")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    set_up(repository, replicate='#!/bin/sh\necho "$@ of $KUBECONFIG"\nexit 1\n')
    return Runner(repository, temporary, {CREDENTIALS: credentials, "secrets.KUBECONFIG": "a secret"})


def test_without_credentials_the_drift_job_only_says_so(tmp_path: Path) -> None:
    runner = a_runner(tmp_path, credentials=False)
    assert list(runner.run_job(load("drift")["jobs"]["drift"])) == ["Say that there are no credentials"]
    assert runner.summary.startswith("No cluster was compared")


def test_a_difference_is_reported_in_the_summary_and_fails_the_job(tmp_path: Path) -> None:
    runner = a_runner(tmp_path, credentials=True)
    answers = runner.run_job(load("drift")["jobs"]["drift"])
    assert [each.returncode == 0 for each in answers.values()] == [True, True, False]
    kubeconfig = runner.variables["KUBECONFIG"]
    assert runner.summary == f"diff --against cluster --markdown --fail-on none of {kubeconfig}\n"
    assert "a secret" not in "".join(answer.stdout + answer.stderr for answer in answers.values())
