"""Flows that wait for the offsets of a KafkaMirrorMaker2, because `replicate adopt --from` has not ended."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.contract.problems import RefusedError
from components.flows.resolved import ResolvedFlow
from components.render.kafka_connectors import ANNOTATION, is_held_back
from components.render.planned_objects import OURS, PART_OF
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, reference

_WHY = "A deployment would start a flow without the offsets it waits for, and the flow would copy every record again."


def require_no_unfinished_move(api: KubernetesApi, stack: str, flows: Sequence[ResolvedFlow]) -> None:
    """Raise a RefusedError that names the connectors of these flows that still wait for offsets."""
    if not flows:
        return
    ours = {(flow.namespace, flow.name) for flow in flows}
    namespaces = sorted({namespace for namespace, _ in ours})
    with asking_kubernetes("the connectors of the stack", _WHY, "let your user list KafkaConnectors."):
        found = api.list_where_allowed(flows[0].strimzi.api_version, "KafkaConnector", namespaces, label_selector=OURS)
    held = [each for each in found if _flow_of(each["metadata"]) in ours and is_held_back(each)]
    if held:
        mirror = str(held[0]["metadata"]["annotations"][ANNOTATION])
        raise RefusedError(
            "move-unfinished",
            f"{', '.join(str(reference(each)) for each in held)} waits for the offsets of {mirror}",
            f"stack {stack}",
            _WHY,
            f"`replicate adopt {stack} --from {mirror.split()[-1]}` continues the move. To give it up, run "
            f"`replicate destroy {stack}`, and start the connectors of {mirror} again.",
        )


def _flow_of(metadata: Mapping[str, Any]) -> tuple[str, str]:
    return metadata["namespace"], metadata["labels"].get(PART_OF, "")
