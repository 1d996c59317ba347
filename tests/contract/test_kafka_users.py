"""Both versions of Strimzi's API accept our KafkaUsers and drop no field of them."""

from typing import Any

import pytest

from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_flow, a_topology
from tests.contract.api_servers import ApiServer, strict_apply

PASSWORD = {"secret": "s", "key": "k"}


@pytest.mark.parametrize(
    ("authentication", "changes"),
    [
        pytest.param({"type": "scram-sha-512", "username": "mirror", "password": PASSWORD}, {}, id="a password"),
        pytest.param(
            {"type": "scram-sha-512", "username": "mirror", "password": {"config": "password"}},
            {},
            id="a configured password",
        ),
        pytest.param({"type": "tls", "secret": "mirror"}, {}, id="a certificate"),
        pytest.param(
            {"type": "tls", "secret": "mirror", "principal": "CN=mirror"},
            {"externalCertificate": True},
            id="a certificate of another authority",
        ),
    ],
)
def test_a_kafkauser_is_accepted_with_nothing_dropped(
    api_server: ApiServer, authentication: dict[str, Any], changes: dict[str, Any]
) -> None:
    declared = {"cluster": "kafka", "namespace": "kafka", **changes}
    clusters = {
        "useast": a_cluster(authentication=authentication, kafkaUser=declared),
        "uswest": a_cluster("us-west-2", kafkaUser={"cluster": "kafka", "namespace": "kafka"}),
    }
    # Every type of resource and of pattern that an ACL has.
    back = a_flow(source="uswest", target="useast", topics=[".*"], exactlyOnce="enabled", topicsExclude=["a"])
    topology = parse_topology(
        {
            **a_topology(clusters=clusters, strimzi=api_server.version),
            "replications": {"orders": a_flow(syncTopicAcls=True), "back": back},
        }
    )
    objects = kafka_user_objects(topology, None)
    users = [planned.manifest for planned in objects if planned.kind == "KafkaUser"]
    rules = [rule["resource"] for user in users for rule in user["spec"]["authorization"]["acls"]]
    assert {rule["type"] for rule in rules} == {"topic", "group", "cluster", "transactionalId"}
    assert {rule.get("patternType") for rule in rules} == {"literal", "prefix", None}
    for planned in objects:
        assert strict_apply(api_server, planned.manifest) == [], planned.key
