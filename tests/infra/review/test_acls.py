"""`replicate acls`: what to grant where Strimzi does not manage users. It needs no cluster, credentials or Pulumi."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kafka_replication.infra.review.acls import (
    acl_commands,
    acl_documents,
    acl_phrase,
    acl_tables,
    stack_acls,
    unknown_principals,
    validations_without_user,
    widest_grants,
)
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from tests.builders import a_cluster, a_flow, a_topology
from tests.infra.stacks import write_stack

EAST, WEST = "useast", "uswest"


def settings_of(folder: Path, **clusters: dict[str, Any]) -> StackSettings:
    given = {EAST: a_cluster(bootstrapServers={"config": "useastBootstrap"}), WEST: a_cluster("us-west-2"), **clusters}
    return read_settings("test", write_stack(folder, a_topology(a_flow(topics=[".*"]), clusters=given)))


def test_acls_are_listed_without_an_address_or_a_password(tmp_path: Path) -> None:
    """Whoever manages the users of the clusters has neither the stack's configuration nor its passphrase."""
    found = acl_documents(stack_acls(settings_of(tmp_path)))
    assert {each["cluster"] for each in found} == {EAST, WEST}
    assert json.loads(json.dumps(found)) == found
    assert found[0] == {
        "cluster": EAST,
        "principal": "User:mirror",
        "resource": "group",
        "pattern": "prefixed",
        "name": "checkout-",
        "operations": ["DESCRIBE"],
    }


@pytest.mark.parametrize("in_the_stack", [False, True])
def test_the_keeper_gets_its_topic_and_transactional_id_if_asked_for_or_run_by_the_stack(
    tmp_path: Path, in_the_stack: bool
) -> None:
    image = f"registry.example.com/validation@sha256:{'0' * 64}"
    asked = {"image": image, "exporter": {"namespace": "monitoring", "keep": in_the_stack}}
    stacks = write_stack(tmp_path, a_topology(a_flow()), validation={"inCluster": asked})
    settings = read_settings("test", stacks)
    found = [
        acl for acl in stack_acls(settings, keeper=not in_the_stack) if acl.name == "mm2-positions.orders.internal"
    ]
    assert [(acl.cluster, acl.resource, acl.operations) for acl in found] == [
        (WEST, "topic", ("CREATE", "WRITE")),
        (WEST, "transactional_id", ("WRITE",)),
    ]
    without = asked | {"exporter": {"namespace": "monitoring"}}
    plain = read_settings("test", write_stack(tmp_path, a_topology(a_flow()), validation={"inCluster": without}))
    assert "mm2-positions.orders.internal" not in {acl.name for acl in stack_acls(plain)}


def test_a_narrow_table_shows_every_name_in_full(tmp_path: Path) -> None:
    console = Console(width=60, record=True, file=(tmp_path / "out").open("w"))
    for table in acl_tables(stack_acls(settings_of(tmp_path))):
        console.print(table)
    text = console.export_text()
    assert "User:mirror on useast" in text
    assert "…" not in text


@pytest.mark.process
def test_the_commands_can_be_run_as_they_are(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    lines = list(acl_commands(stack_acls(settings), settings.topology))
    script = "\n".join(["kafka-acls.sh() { printf '%s\\n' \"$*\"; }", *lines])
    environment = {
        "USEAST_SERVERS": "east:9093",
        "USEAST_CONFIG": "/etc/a file",
        "USWEST_SERVERS": "west:9093",
        "USWEST_CONFIG": "west.properties",
    }
    answer = subprocess.run(["bash", "-euc", script], env=environment, capture_output=True, text=True, check=True)
    run = answer.stdout.splitlines()
    assert len(run) == len([line for line in lines if not line.startswith("#")]) == len(stack_acls(settings))
    everything = (
        "--bootstrap-server east:9093 --command-config /etc/a file --add --allow-principal User:mirror "
        "--operation DescribeConfigs --operation Read --topic *"
    )
    assert everything in run
    assert any(line.endswith("--group checkout- --resource-pattern-type prefixed") for line in run)


@pytest.mark.process
def test_the_commands_fail_if_the_variable_with_the_address_is_not_set(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    script = "\n".join(acl_commands(stack_acls(settings), settings.topology))
    answer = subprocess.run(["bash", "-c", script], env={}, capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    assert "USEAST_SERVERS" in answer.stderr


def test_a_cluster_with_a_declared_kafkauser_needs_no_command(tmp_path: Path) -> None:
    declared = {"cluster": "kafka", "namespace": "kafka"}
    settings = settings_of(tmp_path, uswest=a_cluster("us-west-2", kafkaUser=declared))
    lines = list(acl_commands(stack_acls(settings), settings.topology))
    assert "# uswest: declared as a KafkaUser" in lines
    assert not [line for line in lines if "USWEST_SERVERS" in line]


def test_an_asterisk_is_quoted_for_the_shell(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    words = [shlex.split(line) for line in acl_commands(stack_acls(settings), settings.topology)]
    assert ["--topic", "*"] in [line[-2:] for line in words]


def test_the_unknown_principal_of_a_tls_login_is_reported(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, uswest=a_cluster("us-west-2", authentication={"type": "tls", "secret": "c"}))
    assert {acl.cluster for acl in stack_acls(settings)} == {EAST}
    assert list(unknown_principals(settings)) == ["clusters.uswest.authentication"]


VALIDATOR = {"type": "scram-sha-512", "username": "validator", "password": {"secret": "s", "key": "password"}}


def test_the_user_of_the_validation_is_granted_what_the_job_reads(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, uswest=a_cluster("us-west-2", validation={"authentication": VALIDATOR}))
    own = [acl for acl in stack_acls(settings) if acl.principal == "User:validator"]
    assert [(acl.cluster, acl_phrase(acl)) for acl in own] == [
        (WEST, "Describe, DescribeConfigs on cluster kafka-cluster"),
        (WEST, "Describe on group *"),
        (WEST, "DescribeConfigs, Read on topic *"),
    ]
    assert [alias for alias, _ in validations_without_user(settings)] == [EAST]


def test_a_validation_without_its_own_user_lists_the_acls_that_the_connectors_lack(tmp_path: Path) -> None:
    """The user of the flow may already read every topic of the source."""
    missing = dict(validations_without_user(settings_of(tmp_path)))
    assert [acl_phrase(acl) for acl in missing[EAST]] == [
        "Describe, DescribeConfigs on cluster kafka-cluster",
        "Describe on group *",
    ]
    assert {acl.principal for acl in missing[WEST]} == {"User:mirror"}


def test_the_validation_user_needs_a_kafkauser_where_the_user_operator_manages_users(tmp_path: Path) -> None:
    declared = {"cluster": "kafka", "namespace": "kafka"}
    west = a_cluster("us-west-2", kafkaUser=declared, validation={"authentication": VALIDATOR})
    settings = settings_of(tmp_path, uswest=west)
    lines = [line for line in acl_commands(stack_acls(settings), settings.topology) if line.startswith("# uswest")]
    assert lines == [
        "# uswest: declared as a KafkaUser",
        "# uswest: the User Operator manages the users, so declare a KafkaUser with the ACLs of User:validator",
    ]


def test_the_unknown_principal_of_a_validations_tls_login_is_reported(tmp_path: Path) -> None:
    own = {"authentication": {"type": "tls", "secret": "c"}}
    settings = settings_of(tmp_path, uswest=a_cluster("us-west-2", validation=own))
    assert list(unknown_principals(settings)) == ["clusters.uswest.validation.authentication"]


def test_a_pattern_whose_acls_allow_more_topics_than_it_selects_is_reported(tmp_path: Path) -> None:
    settings = read_settings("test", write_stack(tmp_path, a_topology(a_flow(topics=["orders", ".*-events", ".*"]))))
    (found,) = widest_grants(settings)
    assert (found.where, found.what) == (
        "replications.orders.topics.1",
        "the ACLs needed for `.*-events` allow `User:mirror` to read every topic on `useast`",
    )
