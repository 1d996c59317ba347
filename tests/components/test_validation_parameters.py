"""Parameters of the validation job: derived from the same model, credentials by reference only."""

from components.validation import flow_parameters, validation_document
from tests.builders import a_cluster, a_resolved_flow


def test_a_cluster_is_described_without_a_credential() -> None:
    assert flow_parameters(a_resolved_flow())["source"] == {
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


def test_the_job_has_its_own_user_where_the_cluster_names_one() -> None:
    validation = {"authentication": {"type": "plain", "username": "validator", "password": {"config": "v"}}}
    clusters = {"useast": a_cluster(validation=validation), "uswest": a_cluster("us-west-2")}
    assert flow_parameters(a_resolved_flow(clusters))["source"]["authentication"] == {
        "type": "plain",
        "username": "validator",
        "password": {"secret": {"namespace": "mirror-orders", "name": "orders-source-validation", "key": "password"}},
    }


def test_topics_of_the_flow_are_named_as_its_policy_names_them() -> None:
    parameters = flow_parameters(a_resolved_flow(policy="identity"))
    assert parameters["policy"] == "identity"
    assert parameters["heartbeats"]["targetTopic"] == "useast.heartbeats"
    assert parameters["offsetSyncs"] == {
        "enabled": True,
        "cluster": "source",
        "topic": "mm2-offset-syncs.uswest.internal",
        "lagMax": 100,
    }
    assert parameters["checkpoints"]["topic"] == "useast.checkpoints.internal"


def test_where_a_flow_begins_is_told() -> None:
    assert flow_parameters(a_resolved_flow())["startFrom"] == "earliest"
    assert flow_parameters(a_resolved_flow(startFrom="latest"))["startFrom"] == "latest"


def test_the_document_carries_its_schema_version_and_every_flow() -> None:
    document = validation_document("local", (a_resolved_flow(), a_resolved_flow(name="ledger")))
    assert (document["schemaVersion"], document["stack"]) == (1, "local")
    assert [flow["name"] for flow in document["flows"]] == ["orders", "ledger"]
