"""What commands say if something that they were given does not exist, or if a program or a file fails them.

infra/PROBLEMS.md shows most of these messages.
"""

import os
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console
from typer.testing import CliRunner

from kafka_replication.components.clients.login import Purpose
from kafka_replication.components.contract.parameters import CredentialReference as CredentialReference
from kafka_replication.components.contract.parameters import SecretReference
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.commands import app
from kafka_replication.infra.deploy.engine.failures import engine_failure
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi
from kafka_replication.infra.kubernetes.readiness import wait_until_ready
from kafka_replication.infra.machine.steps import run_step
from kafka_replication.infra.operate.connectors.changes import connector_places, planned
from kafka_replication.infra.operate.connectors.operator import carry_out, chosen_places, read_live
from kafka_replication.infra.operate.move.flow_back import fail_back
from kafka_replication.infra.operate.move.source_only import export
from kafka_replication.infra.stack.listed_names import read_names
from kafka_replication.infra.stack.session import OpenStack, flow_named
from kafka_replication.infra.stack.settings import read_settings
from kafka_replication.spark.read.sessions import SessionOptions
from tests.builders import a_resolved_flow
from tests.components.clients.brokers import Cluster, Reader
from tests.infra.deploy.adoption.test_moves import plan_of
from tests.infra.operate.connectors.test_changes import a_request
from tests.infra.operate.move.night import Operator, a_call, a_night, fail_over
from tests.repository import ROOT

FLOW = a_resolved_flow()
EMPTY = cast(KubernetesApi, Operator())


def a_flow_misspelt() -> None:
    flow_named("order", [FLOW], "prod-us-west-2")


def a_connector_misspelt() -> None:
    chosen_places(FLOW, ["order-source"])


def a_resource_that_is_not_deployed() -> None:
    read_live(EMPTY, connector_places(FLOW))


def workers_that_do_not_exist() -> None:
    wait_until_ready(EMPTY, "prod-us-west-2", [FLOW], 0, 0)


def a_secret_that_does_not_exist() -> None:
    purpose = Purpose("The command asks both clusters of a flow with the login of the validation job.")
    secret = SecretReference(namespace="mirror-orders", name="useast-mirror", key="password")
    stack = OpenStack(read_settings("prod-us-west-2", ROOT / "stacks"))
    stack.kubernetes = EMPTY
    stack.credential("useast", CredentialReference(secret=secret), purpose)


def a_group_without_offsets_on_the_source() -> None:
    night = a_night(FLOW, Cluster(), Cluster(), {})
    night.source.hold("orders", [(0, "")])
    night.target.hold("useast.orders", [(0, "")])
    fail_over(night, groups=("checkout-web",))


def a_group_without_offsets_on_the_target() -> None:
    night = a_night(FLOW, Cluster(), Cluster(), {})
    night.source.hold("orders", [(0, "")])
    night.target.hold("useast.orders", [(0, "")])
    fail_back(a_call(groups=("checkout-web",), dry_run=True), night)


def a_folder_to_export_to_that_does_not_exist() -> None:
    export(Reader("useast", {}), [], Path("missing/records.jsonl"), lambda _: None, committed=False)


def a_program_that_fails() -> None:
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    remedy = "check the network and run it again."
    run_step(Console(file=StringIO()), "fetching jars", command, env=os.environ, remedy=remedy, cwd=Path("stacks"))


def an_engine_that_cannot_open_the_stack() -> None:
    said = "error: get stack secrets manager: passphrase must be set with PULUMI_CONFIG_PASSPHRASE"
    raise engine_failure(said, "prod-us-west-2", opened=False)


def a_connector_that_somebody_else_changes() -> None:
    night = a_night(FLOW, Cluster(), Cluster(), {})

    def conflicts() -> None:
        raise ApiError(409, "Conflict", "the object has been modified")

    night.operator.before_patch = conflicts
    places = [each for each in connector_places(FLOW) if each.role == "source"]
    changes = planned(a_request("paused"), places, read_live(night.api, places))
    carry_out(night.api, changes, 5, lambda _: None)


def a_file_of_topics_that_does_not_exist() -> None:
    read_names(Path("topics.txt"), {"useast", "uswest"})


def a_folder_without_the_jars_of_spark() -> None:
    SessionOptions(jars_dir=Path("jars")).jars()


def a_project_without_a_stack() -> None:
    answer = CliRunner().invoke(app.app, ["check"])
    assert answer.exception is not None
    raise answer.exception


def test_a_file_in_a_folder_that_does_not_exist_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["replicate", "--project", str(ROOT), "runbook", "prod-us-west-2", "--output", "runbooks/prod.md"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit):
        app.main()
    said = capsys.readouterr().err
    assert "file-unusable: no such file or directory, at runbooks/prod.md." in said


def test_a_mirror_that_the_operator_refuses_as_a_whole_cannot_be_moved(tmp_path: Path) -> None:
    def of_two_targets(body: Manifest) -> None:
        clusters = [{"alias": alias} for alias in ("useast", "uswest", "euwest")]
        mirrors = [{"sourceCluster": "useast", "targetCluster": "euwest"}]
        body["spec"] = {"connectCluster": "uswest", "clusters": clusters, "mirrors": mirrors}

    found = plan_of(tmp_path, of_two_targets).problems
    assert "mirror-refused" in {each.code for each in found}


@pytest.mark.parametrize(
    ("call", "code", "what"),
    [
        (a_flow_misspelt, "unknown-flow", "no flow `order`"),
        (a_connector_misspelt, "unknown-connector", "no connector `order-source`"),
        (a_resource_that_is_not_deployed, "not-deployed", "there is no such object"),
        (workers_that_do_not_exist, "not-ready", "it does not exist"),
        (a_secret_that_does_not_exist, "no-credential", "there is no such Secret for `useast`"),
        (a_group_without_offsets_on_the_source, "unknown-group", "no committed offset on the topics of flow `orders`"),
        (a_group_without_offsets_on_the_target, "unknown-group", "no committed offset on the remote topics of flow"),
        (a_folder_to_export_to_that_does_not_exist, "not-exported", "missing/records.jsonl: No such file or directory"),
        pytest.param(a_program_that_fails, "step-failed", "fetching jars failed after", marks=pytest.mark.process),
        (an_engine_that_cannot_open_the_stack, "engine-failed", "passphrase must be set"),
        (a_connector_that_somebody_else_changes, "changed-meanwhile", "somebody changed it at the same time"),
        (a_file_of_topics_that_does_not_exist, "no-topic-list", "there is no such file"),
        (a_folder_without_the_jars_of_spark, "spark-jars-missing", "no spark-sql-kafka"),
        (a_project_without_a_stack, "no-stack", "there is no stack"),
    ],
)
def test_the_message_says_what_could_not_be_done(
    call: Callable[[], None], code: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: kafka\nruntime: python\nstackConfigDir: stacks\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotRunError) as refused:
        call()
    assert refused.value.code == code
    assert what in refused.value.what
    assert refused.value.remedy.endswith(".")
    assert " STACK" not in refused.value.remedy, "the command knows the stack"
