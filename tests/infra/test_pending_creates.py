"""What a killed deployment left half done in Pulumi's state: which objects are looked for, and what is forgotten."""

from typing import Any

from infra.pending_creates import PendingCreate, adopting, pending_creates

CONNECT = "urn:pulumi:local::replication::kubernetes:kafka.strimzi.io/v1:KafkaConnect::orders-connect"


def an_operation(
    urn: str = CONNECT, doing: str = "creating", namespace: str | None = "mirror-orders"
) -> dict[str, Any]:
    metadata = {"name": "orders", **({"namespace": namespace} if namespace else {})}
    inputs = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnect", "metadata": metadata}
    resource = {"urn": urn, "type": "kubernetes:kafka.strimzi.io/v1:KafkaConnect", "inputs": inputs}
    return {"type": doing, "resource": resource}


def test_a_pending_creation_names_its_object_as_the_provider_does() -> None:
    (found,) = pending_creates({"pending_operations": [an_operation()]})
    assert found == PendingCreate(CONNECT, "kafka.strimzi.io/v1", "KafkaConnect", "mirror-orders", "orders")
    assert found.identifier == "mirror-orders/orders"
    (cluster_wide,) = pending_creates({"pending_operations": [an_operation(namespace=None)]})
    assert cluster_wide.identifier == "orders"


def test_other_operations_are_done_again_and_what_the_state_holds_is_not_imported() -> None:
    assert pending_creates({"pending_operations": [an_operation(doing="updating")]}) == ()
    assert pending_creates({"pending_operations": [an_operation()], "resources": [{"urn": CONNECT}]}) == ()
    assert pending_creates({"resources": [{"urn": CONNECT}]}) == ()


def test_what_was_created_is_noted_and_what_was_not_is_forgotten() -> None:
    """Pulumi would warn of a pending operation at every deployment, and create what exists already once more."""
    begun = an_operation()
    state = {"resources": [{"urn": "urn:stack"}], "pending_operations": [begun, an_operation("urn:other")]}
    (found, _) = pending_creates(state)
    noted = {**begun["resource"], "id": "mirror-orders/orders", "outputs": begun["resource"]["inputs"]}
    assert adopting(state, [found]) == {"resources": [{"urn": "urn:stack"}, noted], "pending_operations": []}
    assert adopting(state, [])["resources"] == [{"urn": "urn:stack"}]
