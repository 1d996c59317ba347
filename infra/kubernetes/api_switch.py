"""Workers that were stored through Strimzi's API `v1beta2` and lack what `v1` requires."""

from collections.abc import Sequence

from components.contract.problems import CannotRunError
from components.flows.operators import StrimziApi
from components.flows.resolved import ResolvedFlow
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, reference

#: A field of each kind that `v1` requires and older objects lack. Source: Strimzi 0.49 custom resource definitions.
REQUIRED = {"KafkaConnect": "groupId", "KafkaMirrorMaker2": "target"}
_OURS = "app.kubernetes.io/managed-by=kafka-replication"
_WHY = (
    "Before it applies, Pulumi's Kubernetes provider rewrites the stored object through the new API version, which "
    "refuses objects without the fields that it requires. The stack would be left half switched."
)
_REMEDY = (
    "while an operator from 0.49 to 0.51 runs, set `strimzi: '0.51/v1beta2'` (with its own version), deploy, and then "
    "set the version that you have set now."
)


def require_ready_for_v1(api: KubernetesApi, flows: Sequence[ResolvedFlow]) -> None:
    """Raise a CannotRunError that names the workers that this deployment cannot switch to `v1` in one step."""
    if not flows or flows[0].strimzi.written_as is not StrimziApi.V1:
        return
    namespaces = sorted({flow.namespace for flow in flows})
    ours = {(flow.namespace, flow.workers) for flow in flows}
    refused = []
    with asking_kubernetes(
        "the workers of the stack", _WHY, "let your user list KafkaConnects and KafkaMirrorMaker2s."
    ):
        for kind, field in REQUIRED.items():
            for live in api.list_where_allowed(flows[0].strimzi.api_version, kind, namespaces, label_selector=_OURS):
                metadata = live["metadata"]
                if (metadata["namespace"], metadata["name"]) in ours and field not in live["spec"]:
                    refused.append(str(reference(live)))
    if refused:
        raise CannotRunError(
            "api-switch-in-one-step",
            f"{', '.join(refused)} cannot change from the API `v1beta2` to `v1` in one step",
            "`strimzi` in the topology",
            _WHY,
            _REMEDY,
        )
