"""The validation job's parameters come from the same model and hold credentials only as references."""

from typing import Any

import pytest

from kafka_replication.components.render.job_parameters import flow_parameters, job_parameters, keeper_login
from kafka_replication.components.render.secrets import secret_objects
from tests.builders import a_cluster, a_resolved_flow

DROP_TRACE = {"type": "DropHeaders", "config": {"headers": "trace"}}
LOGIN = {"type": "plain", "username": "validator", "password": {"secret": "job", "key": "password"}}
TOKEN = {"type": "oauth", "accessToken": {"secret": "login", "key": "token"}}


def test_a_cluster_is_described_without_a_credential() -> None:
    assert flow_parameters(a_resolved_flow()).document()["source"] == {
        "alias": "useast",
        "bootstrapServers": "kafka.useast.example.com:9093",
        "securityProtocol": "SASL_SSL",
        "trust": {
            "format": "PEM",
            "certificates": {"secret": {"namespace": "mirror-orders", "name": "ca", "key": "ca.crt"}},
            "password": None,
        },
        "authentication": {
            "type": "scram-sha-512",
            "username": "mirror",
            "password": {"secret": {"namespace": "mirror-orders", "name": "mirror", "key": "password"}},
        },
    }


def test_the_job_uses_the_clusters_validation_login_if_there_is_one() -> None:
    validation = {"authentication": {"type": "plain", "username": "validator", "password": {"config": "v"}}}
    clusters = {"useast": a_cluster(validation=validation), "uswest": a_cluster("us-west-2")}
    assert flow_parameters(a_resolved_flow(clusters)).document()["source"]["authentication"] == {
        "type": "plain",
        "username": "validator",
        "password": {"secret": {"namespace": "mirror-orders", "name": "orders-source-validation", "key": "password"}},
    }


def test_the_flows_internal_topics_are_named_as_its_policy_names_them() -> None:
    parameters = flow_parameters(a_resolved_flow(policy="identity")).document()
    assert parameters["policy"] == "identity"
    assert parameters["heartbeats"]["targetTopic"] == "useast.heartbeats"
    assert parameters["offsetSyncs"] == {
        "enabled": True,
        "cluster": "source",
        "topic": "mm2-offset-syncs.uswest.internal",
        "lagMax": 100,
    }
    assert parameters["checkpoints"]["topic"] == "useast.checkpoints.internal"


def test_the_document_says_where_a_flow_starts() -> None:
    assert flow_parameters(a_resolved_flow()).document()["startFrom"] == "earliest"
    assert flow_parameters(a_resolved_flow(startFrom="latest")).document()["startFrom"] == "latest"
    assert "startsGroup" not in flow_parameters(a_resolved_flow()).document()
    assert flow_parameters(a_resolved_flow(onLoss="stop")).document()["startsGroup"] == "__mm2-starts.orders"


def test_the_document_names_the_users_of_the_connectors_the_job_and_the_keeper() -> None:
    keeper = {**LOGIN, "username": "keeper"}
    clusters = {
        "useast": a_cluster(validation={"authentication": LOGIN}),
        "uswest": a_cluster("us-west-2", keeper={"authentication": keeper}),
    }
    named = flow_parameters(a_resolved_flow(clusters)).document()["ownPrincipals"]
    assert named == ["User:keeper", "User:mirror", "User:validator"]


@pytest.mark.parametrize(
    ("transforms", "changed"),
    [
        pytest.param({"before": {"clean": DROP_TRACE}}, ("trace",), id="a header is dropped"),
        pytest.param(
            {"before": {"clean": DROP_TRACE, "own": {"type": "com.example.Own"}}},
            (),
            id="another transform runs as well",
        ),
        pytest.param(
            {"after": {"clean": DROP_TRACE}, "converters": {"value": {"type": "JsonConverter"}}}, (), id="a converter"
        ),
    ],
)
def test_headers_that_transforms_change_are_listed_if_nothing_else_changes(
    transforms: dict[str, Any], changed: tuple[str, ...]
) -> None:
    parameters = flow_parameters(a_resolved_flow(transforms=transforms))
    assert (parameters.transformed, parameters.changed_headers) == (True, changed)


DROP_TOMBSTONES = {"type": "Filter", "predicate": {"type": "RecordIsTombstone"}}
DROP_TESTS = {"type": "Filter", "predicate": {"type": "TopicNameMatches", "config": {"pattern": ".*-test"}}}


@pytest.mark.parametrize(
    ("flow", "drops"),
    [
        pytest.param({"transforms": {"after": {"drop": DROP_TOMBSTONES}}}, [("tombstone", "", False)], id="tombstones"),
        pytest.param(
            {"transforms": {"after": {"drop": {**DROP_TESTS, "negate": True}}}},
            [("topic", ".*-test", True)],
            id="all other topics",
        ),
        pytest.param(
            {"transforms": {"after": {"drop": DROP_TOMBSTONES}}, "policy": "identity", "loopGuard": True},
            [],
            id="a loop guard drops records as well",
        ),
        pytest.param({"transforms": {"after": {"drop": {"type": "Filter"}}}}, [], id="every record"),
    ],
)
def test_what_filters_drop_is_listed_if_a_record_shows_that_it_is_dropped(
    flow: dict[str, Any], drops: list[tuple[str, str, bool]]
) -> None:
    parameters = flow_parameters(a_resolved_flow(**flow))
    assert [(drop.by.value, drop.value, drop.negate) for drop in parameters.drops] == drops
    assert parameters.comparable == bool(drops)


@pytest.mark.parametrize(
    ("config", "judged"),
    [
        pytest.param({}, True, id="by default"),
        pytest.param({"sync.topic.configs.enabled": False}, False, id="switched off"),
        pytest.param({"config.property.filter.class": "com.example.Own"}, False, id="the user's own filter"),
        pytest.param({"use.defaults.from": "source"}, False, id="the source's defaults as well"),
    ],
)
def test_topic_configuration_is_judged_only_if_it_is_copied_by_kafkas_own_rules(
    config: dict[str, Any], judged: bool
) -> None:
    sync = flow_parameters(a_resolved_flow(connectors={"source": {"config": config}})).topic_sync
    assert sync is not None
    assert ((sync.configs_exclude is not None), sync.acls) == (judged, False)


def test_the_document_has_the_users_property_exclusions_and_says_that_acls_are_synced() -> None:
    config = {"config.properties.exclude": r"retention\..*, segment\.ms"}
    sync = flow_parameters(a_resolved_flow(syncTopicAcls=True, connectors={"source": {"config": config}})).topic_sync
    assert sync is not None
    assert (sync.configs_exclude, sync.acls) == ((r"retention\..*", r"segment\.ms"), True)


def test_the_connector_offsets_topic_is_the_workers_storage_topic() -> None:
    own = {"storageTopics": {"offsets": "inherited-offsets"}}
    assert flow_parameters(a_resolved_flow(connect=own)).connector_offsets_topic == "inherited-offsets"


def test_the_document_carries_its_schema_version_and_every_flow() -> None:
    document = job_parameters("local", (a_resolved_flow(), a_resolved_flow(name="ledger"))).document()
    assert (document["schemaVersion"], document["stack"]) == (1, "local")
    assert [flow["name"] for flow in document["flows"]] == ["orders", "ledger"]


@pytest.mark.parametrize(
    ("connectors", "job", "wanted"),
    [
        pytest.param(
            {"type": "tls", "secret": "c"},
            LOGIN,
            ("SASL_SSL", "plain"),
            id="a password for the job, a certificate for the connectors",
        ),
        pytest.param({"type": "tls", "secret": "c"}, None, ("SSL", "tls"), id="the connectors' certificate"),
        pytest.param(TOKEN, LOGIN, ("SASL_SSL", "plain"), id="a password for the job, tokens for the connectors"),
        pytest.param(TOKEN, None, ("SASL_SSL", "oauth"), id="tokens, which the job refuses by name"),
    ],
)
def test_the_jobs_security_protocol_follows_its_own_login(
    connectors: dict[str, Any], job: dict[str, Any] | None, wanted: tuple[str, str]
) -> None:
    validation = {"authentication": job} if job else None
    cluster = a_cluster(authentication=connectors, validation=validation)
    parameters = flow_parameters(a_resolved_flow({"useast": cluster, "uswest": a_cluster("us-west-2")})).document()[
        "source"
    ]
    assert (parameters["securityProtocol"], parameters["authentication"]["type"]) == wanted


def test_the_job_reads_its_own_certificates_if_the_clusters_trust_is_a_pattern_of_keys() -> None:
    trust = {"trust": {"secret": "ca", "pattern": "*.crt"}}
    target = a_cluster("us-west-2", tls=trust, validation={"trust": {"config": "ca"}})
    flow = a_resolved_flow({"useast": a_cluster(), "uswest": target}, strimzi="0.45")
    assert flow_parameters(flow).document()["target"]["trust"] == {
        "format": "PEM",
        "certificates": {"secret": {"namespace": "mirror-orders", "name": "orders-target-validation", "key": "ca.crt"}},
        "password": None,
        "workersReadOthers": True,
    }
    (secret,) = [planned for planned in secret_objects(flow) if planned.name == "orders-target-validation"]
    assert secret.secret_values == {"ca.crt": "ca"}


def test_the_keeper_logs_in_with_its_own_login_where_there_is_one_and_trusts_what_the_job_trusts() -> None:
    keeper = {"authentication": {"type": "plain", "username": "keeper", "password": {"config": "k"}}}
    target = a_cluster("us-west-2", keeper=keeper, validation={"trust": {"config": "ca"}})
    flow = a_resolved_flow({"useast": a_cluster(), "uswest": target})
    assert keeper_login(flow, "source") is None
    login, job = keeper_login(flow, "target"), flow_parameters(flow).target
    assert login is not None
    assert login.document() == job.document() | {
        "authentication": {
            "type": "plain",
            "username": "keeper",
            "password": {"secret": {"namespace": "mirror-orders", "name": "orders-target-keeper", "key": "password"}},
        }
    }
    secrets = {planned.name: planned.secret_values for planned in secret_objects(flow)}
    assert secrets == {"orders-target-validation": {"ca.crt": "ca"}, "orders-target-keeper": {"password": "k"}}
