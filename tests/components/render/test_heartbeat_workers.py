"""Workers at the source send the heartbeats if the target's workers cannot log in to the source."""

from typing import Any

import pytest
import yaml

from kafka_replication.components.checks import check_topology
from kafka_replication.components.flows.resolved import ResolvedFlow, flow_digest, resolve_flows
from kafka_replication.components.render.deployments import deployments, flow_objects
from kafka_replication.components.render.flow_acls import flow_acls
from kafka_replication.components.render.heartbeat_workers import heartbeat_workers
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.components.topology.parsing import parse_topology
from tests.builders import a_cluster, a_resolved_flow, a_topology
from tests.repository import ROOT

TOKEN = {"type": "oauth", "accessToken": {"secret": "uswest-token", "key": "token"}}
CERTIFICATE = {"type": "tls", "secret": "client"}
KEYSTORE = {"trust": {"format": "JKS", "secret": "ca", "key": "t.jks", "password": {"secret": "ca", "key": "p"}}}
HEARTBEAT_WORKER_OBJECTS = {"access-role-heartbeats", "access-binding-heartbeats", "connect-heartbeats"}


def a_flow_between(
    source: dict[str, Any] | None = None, target: dict[str, Any] | None = None, strimzi: str = "1.2", **flow: Any
) -> ResolvedFlow:
    clusters = {
        "useast": a_cluster(bootstrapServers="kafka.useast:9093", **(source or {})),
        "uswest": a_cluster("us-west-2", bootstrapServers="kafka.uswest:9093", **(target or {})),
    }
    return a_resolved_flow(clusters, strimzi=strimzi, **flow)


def objects_of(flow: ResolvedFlow) -> dict[str, dict[str, Any]]:
    return {planned.key: planned.manifest for planned in flow_objects(flow)}


@pytest.mark.parametrize("strimzi", ["v1beta2", "0.45", "0.46", "0.47", "0.48", "1.2", "v1"])
def test_the_example_of_the_readme_passes_the_check_in_every_api_version(strimzi: str) -> None:
    text = (ROOT / "README.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    topology = parse_topology({**yaml.safe_load(text), "strimzi": strimzi})
    assert [str(problem) for problem in check_topology(topology)] == []


@pytest.mark.parametrize(
    ("source", "target", "strimzi", "separate"),
    [
        pytest.param({}, {}, "1.2", False, id="both sides use PEM"),
        pytest.param({}, {}, "0.46", True, id="the source uses PEM, and the workers a truststore file"),
        pytest.param({"tls": KEYSTORE}, {}, "0.46", False, id="both sides use truststore files"),
        pytest.param({}, {"tls": {}}, "0.46", False, id="the workers have no trust of their own"),
        pytest.param({"tls": {}}, {}, "1.2", True, id="Java trusts the source, but the workers have their own trust"),
        pytest.param({}, {"authentication": TOKEN}, "1.2", True, id="the callback of the target's login would remain"),
        pytest.param({"authentication": TOKEN}, {}, "1.2", False, id="only the source's login has a callback"),
        pytest.param(
            {"authentication": CERTIFICATE}, {"authentication": TOKEN}, "1.2", False, id="the source uses no SASL"
        ),
        pytest.param(
            {"authentication": CERTIFICATE}, {"authentication": CERTIFICATE}, "1.2", False, id="both sides use PEM keys"
        ),
        pytest.param(
            {"authentication": CERTIFICATE, "tls": {}},
            {"authentication": CERTIFICATE, "tls": {}},
            "0.46",
            True,
            id="the source uses a PEM key, and the workers a keystore",
        ),
    ],
)
def test_heartbeats_get_their_own_workers_if_settings_of_the_targets_workers_conflict(
    source: dict[str, Any], target: dict[str, Any], strimzi: str, separate: bool
) -> None:
    flow = a_flow_between(source, target, strimzi)
    assert (heartbeat_workers(flow) is not flow) is separate
    assert (objects_of(flow).keys() >= HEARTBEAT_WORKER_OBJECTS) is separate
    without = a_flow_between(source, target, strimzi, connectors={"heartbeat": {"enabled": False}})
    assert not HEARTBEAT_WORKER_OBJECTS & objects_of(without).keys()


def test_separate_heartbeat_workers_belong_to_the_source() -> None:
    flow = a_flow_between(target={"authentication": TOKEN}, exactlyOnce="enabled")
    rendered = objects_of(flow)
    assert rendered["connect-heartbeats"] == {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaConnect",
        "metadata": {
            "name": "orders-heartbeats",
            "namespace": "mirror-orders",
            "labels": rendered["connect"]["metadata"]["labels"],
            "annotations": {"strimzi.io/use-connector-resources": "true"},
        },
        "spec": {
            "replicas": 1,
            "bootstrapServers": "kafka.useast:9093",
            "groupId": "mirror-orders-heartbeats",
            "configStorageTopic": "mirror-orders-heartbeats-configs-internal",
            "offsetStorageTopic": "mirror-orders-heartbeats-offsets-internal",
            "statusStorageTopic": "mirror-orders-heartbeats-status-internal",
            "config": {
                key: value
                for key, value in rendered["connect"]["spec"]["config"].items()
                if key != "exactly.once.source.support"
            },
            "tls": {"trustedCertificates": [{"secretName": "ca", "certificate": "ca.crt"}]},
            "authentication": {
                "type": "scram-sha-512",
                "username": "mirror",
                "passwordSecret": {"secretName": "mirror", "password": "password"},
            },
        },
    }
    rules = {rule["resources"][0]: rule["resourceNames"] for rule in rendered["access-role-heartbeats"]["rules"]}
    assert rules["secrets"] == ["ca", "mirror"]
    assert rendered["access-binding-heartbeats"]["subjects"][0]["name"] == "orders-heartbeats-connect"


def test_a_heartbeat_connector_on_the_sources_workers_overrides_no_producer_settings() -> None:
    rendered = objects_of(a_flow_between(strimzi="0.46"))["heartbeat-connector"]
    assert rendered["metadata"]["labels"]["strimzi.io/cluster"] == "orders-heartbeats"
    config = rendered["spec"]["config"]
    assert not [key for key in config if key.startswith("producer.")]
    jaas = config["target.cluster.sasl.jaas.config"]
    assert jaas == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="mirror" password="${secret:mirror-orders/mirror:password}";'
    )


def test_separate_heartbeat_workers_add_acls_only_for_the_sources_user() -> None:
    plain, separate = a_flow_between(strimzi="0.47"), a_flow_between(strimzi="0.46")
    more = set(flow_acls(separate)) - set(flow_acls(plain))
    assert set(flow_acls(plain)) <= set(flow_acls(separate))
    topics = {f"mirror-orders-heartbeats-{role}-internal" for role in ("configs", "offsets", "status")}
    assert {(acl.cluster, acl.name) for acl in more} == {
        ("useast", name) for name in (*topics, "mirror-orders-heartbeats")
    }
    validated = {acl.name for acl in flow_parameters(separate).acls or () if acl.cluster == "source"}
    assert topics <= validated


def test_the_digest_does_not_depend_on_which_workers_send_the_heartbeats() -> None:
    """Staging may log in differently from production and still proves the same model."""
    assert flow_digest(a_flow_between()) == flow_digest(a_flow_between(target={"authentication": TOKEN}))


def test_only_a_mirror_with_conflicting_settings_gets_heartbeat_workers_at_its_source() -> None:
    clusters = {"useast": a_cluster(), "eu": a_cluster("eu", authentication=TOKEN)}
    clusters["uswest"] = a_cluster("us-west-2", authentication=TOKEN)
    selection = {"topics": ["orders"], "groups": ["g"]}
    mirrors = {"kind": "mirrorMaker2", "sources": {"useast": selection, "eu": selection}, "target": "uswest"}
    topology = parse_topology(a_topology(mirrors, clusters=clusters))
    (deployment,) = deployments(resolve_flows(topology, None, {}))
    planned = deployment.objects
    keys = [planned_object.key for planned_object in planned]
    assert len(keys) == len(set(keys))
    rendered = {planned_object.key: planned_object.manifest for planned_object in planned}
    assert {key: body["metadata"]["name"] for key, body in rendered.items() if body["kind"] == "KafkaConnect"} == {
        "connect": "orders-heartbeats",
        "connect-useast": "orders-from-useast-heartbeats",
    }
    workers = {
        key: rendered[key]["metadata"]["labels"]["strimzi.io/cluster"]
        for key in ("heartbeat-connector-useast", "heartbeat-connector-eu")
    }
    assert workers == {
        "heartbeat-connector-useast": "orders-from-useast-heartbeats",
        "heartbeat-connector-eu": "orders-heartbeats",
    }


def test_a_pair_with_two_kinds_of_login_needs_separate_heartbeat_workers_on_one_side() -> None:
    clusters = {"useast": a_cluster(), "uswest": a_cluster("us-west-2", authentication=TOKEN)}
    pair = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["ledger"]}
    flows = resolve_flows(parse_topology(a_topology(pair, clusters=clusters)), None, {})
    assert {flow.name: heartbeat_workers(flow).workers for flow in flows} == {
        "orders-to-uswest": "orders-to-uswest-heartbeats",
        "orders-to-useast": "orders-to-useast",
    }


def test_a_flow_whose_workers_send_its_heartbeats_renders_no_other_workers() -> None:
    assert list(objects_of(a_flow_between())) == [
        *("namespace", "source-config", "target-config", "replication-config"),
        *("access-role", "access-binding", "connect"),
        *("source-connector", "checkpoint-connector", "heartbeat-connector"),
    ]
