"""`replicate init`: what it writes is valid at once, and a refusal leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from kafka_replication.infra.commands.app import app

pytestmark = pytest.mark.process

REPLICATE = (sys.executable, "-c", "from kafka_replication.infra.commands.app import main; main()")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_a_new_project_can_be_checked_and_rendered_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "mine", "--yes").exit_code == 0
    monkeypatch.chdir(tmp_path / "mine")
    assert run("check").output == "✓ local: 0 errors, 0 warnings\n✓ prod-us-west-2: 0 errors, 0 warnings\n"
    assert run("render", "prod-us-west-2", "--out", str(tmp_path / "out")).exit_code == 0
    assert (tmp_path / "out" / "useast-to-uswest" / "connect.yaml").is_file()
    assert json.loads(run("environments").output) == ["prod"]
    acls = run("acls", "prod-us-west-2")
    assert "User:validator on useast" in acls.stdout
    assert acls.stderr == "", "what `replicate validate` needs beside the ACLs that are printed"


GIVEN = ("--source", "fra", "--source-region", "eu-central-1", "--topics", "orders", "--groups", "checkout-.*")
ASSUMED_OF_LOGINS = """\
    clusters.*.tls.trust: key ca.crt of the Secrets fra-ca and uswest-ca
    clusters.*.authentication: SCRAM-SHA-512, user mirror, key password of the Secrets fra-mirror and uswest-mirror
    clusters.*.validation.authentication: SCRAM-SHA-512, user validator, key password of the Secrets fra-validator \
and uswest-validator
    replications.fra-to-uswest.namespace: mirror-fra-to-uswest exists and has these Secrets
"""
ASSUMED = f"""
Assumed; correct what is wrong:
  in mine/stacks/topologies/prod.yaml
    strimzi: 1.2
    clusters.fra.bootstrapServers: kafka.fra.example.com:9093
    replications.fra-to-uswest.target: uswest
    clusters.uswest.region: us-west-2
    clusters.uswest.bootstrapServers: kafka.uswest.example.com:9093
{ASSUMED_OF_LOGINS}\
  in mine/stacks/Pulumi.prod-us-west-2.yaml
    replication:topology: prod
    kubernetes:context: not set, so the current context of your kubeconfig
The stack is named prod-us-west-2. If that is wrong, start again in a new folder with --environment and --target-region.
"""


def test_every_fact_that_no_option_gave_is_listed_with_its_file_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a reader takes a made-up region, address or user for one of their own."""
    monkeypatch.chdir(tmp_path)
    assert ASSUMED in run("init", "mine", "--yes", *GIVEN).output
    rest = ("--strimzi", "1.2", "--source-servers", "a:1", "--target", "uswest", "--target-servers", "d:1")
    named = ("--target-region", "us-west-2", "--environment", "prod", "--context", "west")
    ours = run("init", "ours", "--yes", *GIVEN, *rest, *named).output
    assert (
        f"""
Assumed; correct what is wrong:
  in ours/stacks/topologies/prod.yaml
{ASSUMED_OF_LOGINS}"""
        in ours
    )
    assert "  in ours/stacks/Pulumi" not in ours
    assert "start again" not in ours


def test_a_fact_that_a_person_only_accepts_with_enter_is_listed_as_assumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the project, the environment, the addresses of both clusters, the version, and the context."""
    monkeypatch.chdir(tmp_path)
    terminal, stdin = os.openpty()
    os.write(terminal, b"\n" * 8)
    command = [*REPLICATE, "init", "mine", *GIVEN]
    answer = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False, timeout=300)
    os.close(stdin)
    os.close(terminal)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert ASSUMED in answer.stdout


def test_the_flow_gets_the_name_of_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "mine", "--yes", "--flow", "sales").exit_code == 0
    topology = yaml.safe_load((tmp_path / "mine" / "stacks" / "topologies" / "prod.yaml").read_text())
    assert list(topology["replications"]) == ["sales"]
    assert "create the namespace `mirror-sales`" in (tmp_path / "mine" / "README.md").read_text()


def test_a_requirement_that_only_this_machine_can_install_is_pointed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first command of the new README installs it, and so does every workflow."""
    monkeypatch.chdir(tmp_path)
    hint = "Before anybody else installs it, replace that with a wheel or a Git URL."
    assert hint in run("init", "mine", "--yes").output
    assert hint not in run("init", "ours", "--yes", "--package", "./replication.whl").output
    assert "\n./replication.whl\n" in (tmp_path / "ours" / "requirements.txt").read_text()


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["init", str(tmp_path / "mine"), "--source", "eu"], input="never read\n")
    assert answer.exit_code == 0
    assert "eu:" in (tmp_path / "mine" / "stacks" / "topologies" / "prod.yaml").read_text()


def test_the_next_commands_can_be_pasted_into_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "  cd 'my project'\n" in run("init", "my project", "--yes").output


@pytest.mark.usefixtures("heeded")
def test_ctrl_c_at_a_question_ends_with_130_and_writes_nothing(tmp_path: Path) -> None:
    """Otherwise a script would take it for a refusal, which ends with 1."""
    terminal, stdin = os.openpty()
    command = [*REPLICATE, "init", str(tmp_path / "mine")]
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        question = process.stdout.read(len("Name of the project"))
        try:
            for _ in range(5):
                # Python heeds a signal between two steps: one that comes right before it reads waits for the next.
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=60)
                    break
            assert process.returncode == 130, question
        finally:
            process.kill()
    os.close(stdin)
    os.close(terminal)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty_is_refused_before_any_question(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("theirs")
    terminal, stdin = os.openpty()
    command = [*REPLICATE, "init", str(tmp_path)]
    answer = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False, timeout=300)
    os.close(stdin)
    os.close(terminal)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "folder-not-empty" in answer.stderr
