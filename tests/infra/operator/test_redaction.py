"""No status shows a value of a Secret, whatever Connect quotes."""

from kafka_replication.infra.local.operator.connector_reconciler import placeholders, redacted


def test_every_object_that_a_placeholder_names_is_found() -> None:
    config = {
        "sasl.jaas.config": 'x required username="mirror" password="${secret:mirror/east:password}";',
        "ssl.truststore.certificates": "${secret:mirror/east-ca:ca.crt}",
        "bootstrap.servers": "${cfmap:mirror/orders-source:bootstrap.servers}",
        "plain": "${env:HOME}",
    }
    assert placeholders(config) == {("mirror", "east"), ("mirror", "east-ca"), ("mirror", "orders-source")}


def test_secrets_are_hidden_at_any_depth() -> None:
    status = {"tasks": [{"trace": "bad password hunter2, hunter2"}], "id": 1, "state": "FAILED"}
    assert redacted(status, ["hunter2"]) == {
        "tasks": [{"trace": "bad password (hidden), (hidden)"}],
        "id": 1,
        "state": "FAILED",
    }
