"""KafkaUsers are deployed in their cluster's region, with the ACLs of all flows and the configured password."""

from typing import Any

import pulumi
import pytest

from kafka_replication import KafkaUsers, KafkaUsersArgs, ReplicationError, Topology
from kafka_replication.components.checks import check_topology
from kafka_replication.components.render.flow_acls import flow_acls
from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_resolved_flow, a_topology
from tests.components.recorder import record

DECLARED = {"cluster": "kafka", "namespace": "kafka-east"}


def scram(password: dict[str, str], username: str = "mirror") -> dict[str, Any]:
    return {"type": "scram-sha-512", "username": username, "password": password}


def topology(source: dict[str, Any] | None = None, **replications: Any) -> Topology:
    """Flow `orders` from `useast`, whose user is declared, to `uswest`, whose user is not."""
    clusters = {"useast": a_cluster(kafkaUser=DECLARED, **(source or {})), "uswest": a_cluster("us-west-2")}
    parsed = parse_topology({**a_topology(clusters=clusters), "replications": replications or {"orders": a_flow()}})
    assert list(check_topology(parsed)) == []
    return parsed


def the_user(source: dict[str, Any] | None = None, **replications: Any) -> PlannedObject:
    return kafka_user_objects(topology(source, **replications), None)[-1]


def test_the_whole_kafkauser_of_a_source() -> None:
    source = {"authentication": scram({"config": "useastPassword"})}
    secret, user = kafka_user_objects(topology(source, orders=a_flow(topics=["orders"])), "us-east-1")
    labels = {"app.kubernetes.io/managed-by": "kafka-replication", "app.kubernetes.io/part-of": "kafka-users"}
    assert secret.manifest["metadata"] == {
        "name": "mirror-given-password",
        "namespace": "kafka-east",
        "labels": labels,
    }
    assert secret.secret_values == {"password": "useastPassword"}
    assert user.manifest == {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaUser",
        "metadata": {
            "name": "mirror",
            "namespace": "kafka-east",
            "labels": {**labels, "strimzi.io/cluster": "kafka"},
        },
        "spec": {
            "authentication": {
                "type": "scram-sha-512",
                "password": {"valueFrom": {"secretKeyRef": {"name": "mirror-given-password", "key": "password"}}},
            },
            "authorization": {
                "type": "simple",
                "acls": [
                    rule("group", "checkout-", "Describe", pattern="prefix"),
                    rule("topic", "heartbeats", "Create", "DescribeConfigs", "Read", "Write"),
                    rule("topic", "mm2-offset-syncs.uswest.internal", "Create", "Read", "Write"),
                    rule("topic", "orders", "DescribeConfigs", "Read"),
                ],
            },
        },
    }


def rule(kind: str, name: str, *operations: str, pattern: str = "literal") -> dict[str, Any]:
    resource = {"type": kind, "name": name, "patternType": pattern}
    return {"type": "allow", "resource": resource, "operations": list(operations), "host": "*"}


def test_both_api_versions_have_the_same_user() -> None:
    versions = {}
    for version in ("1.2", "0.48"):
        (user,) = kafka_user_objects(topology().model_copy(update={"strimzi": version}), None)
        versions[user.manifest.pop("apiVersion")] = user.manifest
    assert versions["kafka.strimzi.io/v1"] == versions["kafka.strimzi.io/v1beta2"]


@pytest.mark.parametrize(
    ("region", "count"),
    [
        pytest.param("us-east-1", 1, id="the region of the source, where we deploy no flow"),
        pytest.param("us-west-2", 0, id="another region"),
        pytest.param(None, 1, id="every region"),
    ],
)
def test_a_user_belongs_to_the_region_of_its_cluster(region: str | None, count: int) -> None:
    assert len(kafka_user_objects(topology(), region)) == count


def test_a_user_has_the_acls_of_all_flows_that_log_in_as_it() -> None:
    """Otherwise each stack would remove the ACLs that flows of other stacks need."""
    back = a_flow(source="uswest", target="useast", topics=["audit"])
    rules = the_user(orders=a_flow(), back=back).manifest["spec"]["authorization"]["acls"]
    names = {rule["resource"]["name"] for rule in rules}
    assert names >= {"orders", "mm2-offset-syncs.uswest.internal", "uswest.audit", "mirror-back-configs-internal"}


def test_an_acl_on_the_cluster_resource_has_no_name() -> None:
    rules = the_user(orders=a_flow(syncTopicAcls=True)).manifest["spec"]["authorization"]["acls"]
    assert {"type": "allow", "resource": {"type": "cluster"}, "operations": ["Describe"], "host": "*"} in rules


def test_an_acl_on_a_transactional_id_uses_strimzis_resource_type() -> None:
    back = a_flow(source="uswest", target="useast", exactlyOnce="enabled", connectors={"heartbeat": {"enabled": False}})
    rules = the_user(back=back).manifest["spec"]["authorization"]["acls"]
    assert rule("transactionalId", "mirror-back-", "Write", pattern="prefix") in rules


@pytest.mark.parametrize(
    ("authentication", "changes", "expected", "name"),
    [
        pytest.param(
            scram({"secret": "s", "key": "k"}),
            {},
            {"type": "scram-sha-512"},
            "mirror",
            id="a password that the operator generates",
        ),
        pytest.param(
            {"type": "tls", "secret": "mirror-user"},
            {},
            {"type": "tls"},
            "mirror-user",
            id="a certificate that the operator issues",
        ),
        pytest.param(
            {"type": "tls", "secret": "issued", "principal": "CN=mirror"},
            {"externalCertificate": True},
            {"type": "tls-external"},
            "mirror",
            id="a certificate of another authority",
        ),
    ],
)
def test_the_users_authentication_and_principal_follow_the_clusters_login(
    authentication: dict[str, Any], changes: dict[str, Any], expected: dict[str, Any], name: str
) -> None:
    source = a_cluster(authentication=authentication, kafkaUser={**DECLARED, **changes})
    clusters = {"useast": source, "uswest": a_cluster("us-west-2")}
    (user,) = kafka_user_objects(parse_topology(a_topology(clusters=clusters)), None)
    assert (user.manifest["spec"]["authentication"], user.name) == (expected, name)
    principals = {acl.principal for acl in flow_acls(a_resolved_flow(clusters)) if acl.cluster == "useast"}
    assert principals == ({f"User:CN={name}"} if authentication["type"] == "tls" else {f"User:{name}"})


@pytest.mark.parametrize(
    ("authentication", "changes", "code"),
    [
        pytest.param({**scram({"secret": "s", "key": "k"}), "type": "scram-sha-256"}, {}, "kafka-user-authentication"),
        pytest.param(None, {}, "kafka-user-authentication"),
        pytest.param(scram({"secret": "s", "key": "k"}), {"externalCertificate": True}, "kafka-user-authentication"),
        pytest.param(scram({"secret": "s", "key": "k"}, "Mirror_User"), {}, "kafka-user-name"),
        pytest.param({"type": "tls", "secret": "s", "principal": "CN=a,O=b"}, {}, "kafka-user-name"),
        pytest.param({"type": "tls", "secret": "s", "principal": "CN=a"}, {"name": "b"}, "kafka-user-name"),
        pytest.param({"type": "tls", "secret": "s" * 65}, {}, "kafka-user-name"),
    ],
    ids=[
        "SCRAM-SHA-256",
        "no login",
        "an external certificate together with a password",
        "a name that Kubernetes refuses",
        "a subject with more than a common name",
        "a name that differs from the certificate's",
        "a common name that is too long",
    ],
)
def test_a_login_that_the_user_operator_cannot_provide_is_refused(
    authentication: dict[str, Any] | None, changes: dict[str, Any], code: str
) -> None:
    source = a_cluster(authentication=authentication, kafkaUser={**DECLARED, **changes})
    parsed = parse_topology(a_topology(clusters={"useast": source, "uswest": a_cluster("us-west-2")}))
    assert [problem.code for problem in check_topology(parsed)] == [code]


def test_the_component_creates_the_password_before_the_user() -> None:
    source = {"authentication": scram({"config": "useastPassword"})}
    args = KafkaUsersArgs(topology=topology(source), secrets={"useastPassword": pulumi.Output.secret("hunter2")})
    recorder = record(lambda: _discard(KafkaUsers("kafka-users", args)))
    component, secret = recorder.named("kafka-users"), recorder.named("kafka-users-user-password-useast")
    user = recorder.named("kafka-users-user-useast")
    assert (user.parent, user.dependencies) == (component.urn, (secret.urn,))
    assert secret.inputs["stringData"] == {"secret": {"password": "hunter2"}}
    assert recorder.finished[component.urn] == {"users": {"useast": "mirror"}}


def test_a_missing_password_is_reported_before_anything_is_registered() -> None:
    source = {"authentication": scram({"config": "useastPassword"})}

    def program() -> None:
        with pytest.raises(ReplicationError, match="missing-config: configuration key `useastPassword`"):
            KafkaUsers("kafka-users", KafkaUsersArgs(topology=topology(source)))

    assert record(program).resources == []


def _discard(component: pulumi.ComponentResource) -> None:
    del component


OWN_LOGIN = {"keeper": {"authentication": scram({"secret": "s", "key": "k"}, "keeper")}}


@pytest.mark.parametrize(
    ("given", "keeper", "granted"),
    [
        pytest.param({}, False, False, id="no keeper"),
        pytest.param({}, True, True, id="it writes as the connectors do"),
        pytest.param(OWN_LOGIN, True, False, id="own login"),
    ],
)
def test_a_users_acls_include_what_a_keeper_with_its_login_needs(
    given: dict[str, Any], keeper: bool, granted: bool
) -> None:
    """The User Operator would delete them if they were granted by hand."""
    back = a_flow(source="uswest", target="useast", topics=["audit"])
    (user,) = kafka_user_objects(topology(given, back=back), None, keeper=keeper)
    rules = user.manifest["spec"]["authorization"]["acls"]
    name = "mm2-positions.back.internal"
    needed = [rule("topic", name, "Create", "Write"), rule("transactionalId", name, "Write")]
    assert [each for each in rules if each["resource"].get("name") == name] == (needed if granted else [])
