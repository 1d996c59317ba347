"""What the validation job published beside each flow, as far as the review of a cluster asks for it. Pure."""

from collections.abc import Iterable, Mapping

from components.specs.planned import Manifest

#: Label of what the job publishes.
PUBLISHED = "app.kubernetes.io/managed-by=replication-validation"


def by_flow(flows: Mapping[str, str], config_maps: Iterable[Manifest]) -> dict[str, Manifest]:
    """Published ConfigMaps by flow; `flows` are names and namespaces."""
    found = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in config_maps}
    named = {flow: found.get((namespace, f"{flow}-validation")) for flow, namespace in flows.items()}
    return {flow: body for flow, body in named.items() if body is not None}


def validated(digests: Mapping[str, str], published: Mapping[str, Manifest]) -> dict[str, str]:
    """When each flow was last validated, of those that were with the digest that is declared: it was deployed then."""
    data = {flow: body.get("data") or {} for flow, body in published.items()}
    return {flow: str(each["time"]) for flow, each in data.items() if each.get("digest") == digests[flow]}
