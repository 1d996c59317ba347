"""Finds what the validation job published beside each flow. Pure."""

from collections.abc import Iterable, Mapping

from components.contract.published_verdict import config_map_name
from components.render.planned_objects import Manifest


def by_flow(flows: Mapping[str, str], config_maps: Iterable[Manifest]) -> dict[str, Manifest]:
    """Published ConfigMaps by flow; `flows` maps each flow's name to its namespace."""
    found = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in config_maps}
    named = {flow: found.get((namespace, config_map_name(flow))) for flow, namespace in flows.items()}
    return {flow: body for flow, body in named.items() if body is not None}


def validated(digests: Mapping[str, str], published: Mapping[str, Manifest]) -> dict[str, str]:
    """When each flow was last validated with its declared digest: it was deployed then. Other flows are missing."""
    data = {flow: body.get("data") or {} for flow, body in published.items()}
    return {flow: str(each["time"]) for flow, each in data.items() if each.get("digest") == digests[flow]}
