"""Workers that were stored through Strimzi's API `v1beta2` and lack what `v1` requires."""

from collections.abc import Sequence

from components.flows.operators import StrimziApi
from components.flows.resolved import ResolvedFlow
from components.render.api_versions import REQUIRED, WHY, lacks_fields_of_v1, refused_switch
from components.render.planned_objects import OURS
from infra.kubernetes.access import asking_kubernetes
from infra.kubernetes.api import KubernetesApi, reference


def require_ready_for_v1(api: KubernetesApi, flows: Sequence[ResolvedFlow]) -> None:
    """Raise a CannotRunError that names the workers that this deployment cannot switch to `v1` in one step.

    The program also refuses them, but a deployment without a preview gets there only after it has changed other
    objects.
    """
    if not flows or flows[0].strimzi.written_as is not StrimziApi.V1:
        return
    namespaces = sorted({flow.namespace for flow in flows})
    ours = {(flow.namespace, flow.connect_name) for flow in flows}
    refused = []
    with asking_kubernetes("the workers of the stack", WHY, "let your user list KafkaConnects and KafkaMirrorMaker2s."):
        for kind in REQUIRED:
            for live in api.list_where_allowed(flows[0].strimzi.api_version, kind, namespaces, label_selector=OURS):
                metadata = live["metadata"]
                if (metadata["namespace"], metadata["name"]) in ours and lacks_fields_of_v1(live):
                    refused.append(str(reference(live)))
    if refused:
        raise refused_switch(", ".join(refused))
