"""Remote topics have the configuration and the ACLs that the flow copies, or a finding says which ones they lack."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its stubs
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract.parameters import TopicSyncParameters
from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.replication_policy import Policy, ReplicationPolicy
from kafka_replication.components.kafka.topic_sync import (
    ConfigDifference,
    TopicSetting,
    config_differences,
    copied_acl,
    missing_acls,
)
from kafka_replication.infra.local.endpoints import ADMIN, Endpoints
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.spark.checks.topics import acl_findings, config_findings, topic_setting_findings
from kafka_replication.spark.read.flows import OpenFlow
from tests.spark.documents import a_flow
from tests.spark.outcomes import Check, named
from tests.spark.scenes import CALL_SECONDS, Scene

EXCLUDED = (r"follower\.replication\.throttled\.replicas", r"message\.timestamp\.type")


def own(value: str) -> TopicSetting:
    return TopicSetting(value, "DYNAMIC_TOPIC_CONFIG")


def default(value: str) -> TopicSetting:
    return TopicSetting(value, "DEFAULT_CONFIG")


@pytest.mark.parametrize(
    ("here", "there", "found"),
    [
        pytest.param(own("5"), own("5"), [], id="equal"),
        pytest.param(own("5"), default("5"), [], id="the target's default is the same"),
        pytest.param(own("5"), own("6"), [("5", "6")], id="another value"),
        pytest.param(own("5"), default("6"), [("5", "6")], id="never copied"),
        pytest.param(default("5"), default("6"), [], id="both have their own default"),
        pytest.param(default("5"), own("6"), [(None, "6")], id="only the remote topic sets it"),
        pytest.param(TopicSetting("5", "STATIC_BROKER_CONFIG"), own("6"), [], id="the source's brokers set it"),
        pytest.param(
            TopicSetting("5", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
            default("6"),
            [("5", "6")],
            id="a default of the source cluster sets it",
        ),
    ],
)
def test_a_property_differs_if_the_connector_would_change_it(
    here: TopicSetting, there: TopicSetting, found: list[tuple[str | None, str | None]]
) -> None:
    given = config_differences({"retention.ms": here}, {"retention.ms": there}, EXCLUDED)
    assert [(each.wanted, each.found) for each in given] == found


def test_a_property_that_the_flow_leaves_out_or_the_target_does_not_know_is_not_compared() -> None:
    here = {"message.timestamp.type": own("LogAppendTime"), "new.property": own("1")}
    assert config_differences(here, {"message.timestamp.type": own("CreateTime")}, EXCLUDED) == []


class Refusing:
    """A cluster that answers every request for ACLs or configuration with this error."""

    def __init__(self, code: str) -> None:
        self._error = ClusterError(code, "refused", "cluster useast", "why", "remedy")

    def topic_acls(self) -> list[AclEntry]:
        raise self._error

    def settings(self, _: object) -> dict[str, dict[str, TopicSetting]]:
        raise self._error


def codes(source: str, target: str, **sync: Any) -> list[str]:
    flow = SimpleNamespace(
        parameters=a_flow().model_copy(update={"topic_sync": TopicSyncParameters(**{"configs_exclude": None, **sync})}),
        source=Refusing(source),
        target=Refusing(target),
        policy=ReplicationPolicy(Policy.DEFAULT, ".", "useast", "uswest"),
        partitions={"orders": 1},
        remote_partitions={"useast.orders": 1},
    )
    return [each.code for each in topic_setting_findings(cast(OpenFlow, flow))]


def test_a_source_without_an_authorizer_requires_no_acls() -> None:
    assert codes("authorizer-off", "timeout", acls=True) == []


@pytest.mark.parametrize("code", ["timeout", "not-authorized"])
def test_settings_that_cannot_be_read_are_reported_without_ending_the_check(code: str) -> None:
    assert codes(code, code, acls=True, configs_exclude=()) == ["topic-settings-not-visible"] * 2


def acl(operation: str, permission: str = "ALLOW", name: str = "orders", pattern: str = "LITERAL") -> AclEntry:
    return AclEntry("User:app", "TOPIC", pattern, name, operation, permission)


@pytest.mark.parametrize(
    ("given", "copied"),
    [
        pytest.param(acl("READ"), acl("READ", name="useast.orders"), id="a grant"),
        pytest.param(acl("WRITE"), None, id="nobody but the flow writes"),
        pytest.param(acl("ALL"), acl("READ", name="useast.orders"), id="ALL becomes READ"),
        pytest.param(acl("WRITE", "DENY"), acl("WRITE", "DENY", "useast.orders"), id="a denial"),
        pytest.param(acl("READ", pattern="PREFIXED"), None, id="a prefixed ACL"),
    ],
)
def test_acls_are_copied_as_mirrormaker_does(given: AclEntry, copied: AclEntry | None) -> None:
    assert copied_acl(given, "useast.orders") == copied


def test_an_acl_is_missing_if_its_topic_is_replicated_and_the_target_lacks_it() -> None:
    remotes = {"orders": "useast.orders"}
    here = [acl("READ"), acl("DESCRIBE"), acl("READ", name="other")]
    there = [acl("READ", name="useast.orders"), acl("READ", name="useast.stray")]
    assert missing_acls(here, there, remotes) == [acl("DESCRIBE", name="useast.orders")]


def test_a_finding_says_what_differs_on_which_topic() -> None:
    differences = {
        "orders": [ConfigDifference("retention.ms", "5", "6"), ConfigDifference("segment.ms", None, "7")],
        "bills": [],
    }
    (config,) = config_findings(differences, {"orders": "useast.orders", "bills": "useast.bills"}, "uswest")
    assert (config.code, config.severity, config.count) == ("topic-config-differs", FindingSeverity.ERROR, 1)
    assert config.message == (
        "1 remote topic on uswest does not have the configuration that the flow copies from the source: useast.orders: "
        "retention.ms is 6 instead of 5, segment.ms is 7 instead of the broker's default"
    )
    (acls,) = acl_findings([acl("READ", name="useast.orders")], "uswest")
    assert (acls.code, acls.severity) == ("topic-acls-differ", FindingSeverity.ERROR)
    assert acls.message == (
        "1 ACL that the flow copies is missing on uswest: useast.orders: allow Read to User:app from *"
    )


def found(check: Check, scene: Scene, accepted: Sequence[str] = ()) -> dict[str, tuple[FindingSeverity, str]]:
    sync = {"configsExclude": list(EXCLUDED), "acls": True}
    accept = [{"finding": each, "reason": "known"} for each in accepted]
    parity = named(check(scene.parameters(topicSync=sync, accepted=accept)), "parity")
    return {each.code: (each.severity, each.message) for each in parity.findings}


def test_settings_that_a_remote_topic_lacks_are_found_and_can_be_accepted(check: Check, endpoints: Endpoints) -> None:
    scene = Scene(endpoints, "settled")
    create_topics(scene.source, {"settled": 1}, {"retention.ms": "86400000", "message.timestamp.type": "CreateTime"})
    scene.replicate(partitions=1)
    read = AclBinding(
        ResourceType.TOPIC, "settled", ResourcePatternType.LITERAL, "User:settled-app", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    admin = AdminClient(scene.source.client_config(ADMIN))
    for future in admin.create_acls([read]).values():
        future.result(CALL_SECONDS)
    first = found(check, scene)
    severity, said = first["topic-config-differs"]
    assert severity is FindingSeverity.ERROR
    assert "useast.settled: retention.ms is 604800000 instead of 86400000" in said
    assert "useast.settled: allow Read to User:settled-app from *" in first["topic-acls-differ"][1]
    assert "missing-records" not in first
    again = found(check, scene, ("topic-config-differs", "topic-acls-differ"))
    assert [again[each][0] for each in ("topic-config-differs", "topic-acls-differ")] == [FindingSeverity.ACCEPTED] * 2
