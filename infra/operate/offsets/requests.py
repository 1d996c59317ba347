"""What setting offsets changes in the resource of a source connector, and what is refused beforehand. Pure. The
operator changes offsets when an annotation asks for it, and then removes the annotation. If it fails, the annotation
stays, and the operator tries again whenever the connector is stopped. So the annotation must never be left behind.
Source: Strimzi AbstractConnectOperator, ResourceAnnotations.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from components.contract.problems import RefusedError
from components.contract.temporary_states import temporary_states
from components.flows.operators import PAUSE
from components.kafka.connectors import offsets_document
from infra.kubernetes.api import Object, Reference
from infra.operate.connectors.changes import OFFSETS, Request, connector_path, version_of, wanted_state
from infra.operate.connectors.places import ConnectorPlace
from infra.operate.offsets.plan import Move

#: Suffix of the user's name while a connector is stopped to set its offsets. If it stays, the call was interrupted.
PURPOSE = ", to set offsets"
CONNECTOR = "strimzi.io/mirrormaker-connector"
_FIELD = "alterOffsets"


def config_map(place: ConnectorPlace, live: Object, source: str, moves: Iterable[Move]) -> Object:
    """The ConfigMap from which the operator takes the new offsets; Kubernetes deletes it with the resource."""
    resource = place.resource
    owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": resource.name}
    offsets = offsets_document(source, {each.partition: each.stored for each in moves})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": config_map_reference(place).name,
            "namespace": resource.namespace,
            "ownerReferences": [{**owner, "uid": live["metadata"]["uid"]}],
        },
        "data": {_key(place): json.dumps(offsets, indent=2)},
    }


def config_map_reference(place: ConnectorPlace) -> Reference:
    return Reference("v1", "ConfigMap", place.resource.namespace, f"{place.resource.name}-new-offsets")


def _key(place: ConnectorPlace) -> str:
    alone = place.resource.kind == "KafkaConnector"
    return "offsets.json" if alone else f"{place.name.replace('->', '--')}.json"


def arm(place: ConnectorPlace, live: Object, verb: str) -> list[Object]:
    """The JSON patch that asks the operator to `alter` or `reset` the connector's offsets."""
    asked = {OFFSETS: verb} | ({CONNECTOR: place.name} if place.resource.kind != "KafkaConnector" else {})
    field = {"fromConfigMap": {"name": config_map_reference(place).name}}
    path = f"{connector_path(live, place)}/{_FIELD}"
    added: list[Object] = [{"op": "add", "path": path, "value": field}] if verb == "alter" else []
    return [*version_of(live), _annotated({**_annotations(live), **asked}), *added]


def disarm(place: ConnectorPlace, live: Object) -> list[Object]:
    """The JSON patch that removes what `arm` added and the operator left; empty if nothing is left."""
    annotations = {key: value for key, value in _annotations(live).items() if key not in (OFFSETS, CONNECTOR)}
    path = f"{connector_path(live, place)}/{_FIELD}"
    removed: list[Object] = [{"op": "remove", "path": path}] if names_our_file(place, live) else []
    if not removed and annotations == _annotations(live):
        return []
    return [*version_of(live), _annotated(annotations), *removed]


def pending(live: Object) -> bool:
    """Whether the operator was asked but has not done it."""
    return OFFSETS in _annotations(live)


def warnings(live: Object) -> dict[str, str]:
    """What the operator last reported about offsets: messages by time and reason."""
    conditions = (live.get("status") or {}).get("conditions") or []
    found = [each for each in conditions if each.get("type") == "Warning" and "Offsets" in each.get("reason", "")]
    return {f"{each.get('lastTransitionTime')} {each['reason']}": str(each.get("message", "")) for each in found}


def interrupted(place: ConnectorPlace, live: Object) -> bool:
    """Whether the connector was stopped in order to set its offsets, and never started again."""
    announced = temporary_states(live).get(place.name)
    return announced is not None and announced.by.endswith(PURPOSE) and wanted_state(live, place) == announced.state


def refuse(request: Request, places: Sequence[ConnectorPlace], live: Mapping[Reference, Object]) -> None:
    """Raise RefusedError if the offsets of these connectors cannot be set now."""
    for place in places:
        body = live[place.resource]
        if _annotations(body).get(PAUSE) == "true":
            why = f"The annotation {PAUSE} stops the operator, and only the operator can set offsets."
            raise _refused(place, "reconciliation-paused", "the operator does not act on", why, f"{PAUSE}-")
        if interrupted(place, body):
            by = temporary_states(body)[place.name].by
            if by != request.by and not request.take_over:
                what = f"{place.name} is stopped by {by}"
                why = "They are setting its offsets, or were interrupted."
                remedy = f"ask {by.removesuffix(PURPOSE)}, or add `--take-over`."
                raise RefusedError("state-of-another", what, str(place.resource), why, remedy)
            continue
        if pending(body) or CONNECTOR in _annotations(body):
            if pending(body):
                asked = f"the request `{OFFSETS}: {_annotations(body)[OFFSETS]}` is still pending on"
                why = "It was not carried out. The operator tries it again as soon as the connector stops."
            else:
                asked = f"the annotation `{CONNECTOR}` of an earlier request is still on"
                why = "It would name the connector of the next request."
            keys = " ".join(f"{key}-" for key in (OFFSETS, CONNECTOR) if key in _annotations(body))
            raise _refused(place, "offsets-armed", asked, why, keys)
        if wanted_state(body, place) == "paused":
            what, why = (
                f"{place.name} is paused",
                "Setting offsets stops the connector, which would end the pause.",
            )
            remedy = (
                f"stop it first with `replicate stop {request.stack} {request.flow} --connector '{place.name}'`, or "
                "resume it."
            )
            raise RefusedError("connector-paused", what, str(place.resource), why, remedy)


def _refused(place: ConnectorPlace, code: str, what: str, why: str, keys: str) -> RefusedError:
    resource = place.resource
    command = f"kubectl annotate {resource.kind.lower()} {resource.name} -n {resource.namespace} {keys}"
    remedy = f"if nobody needs it, remove it: `{command}`."
    return RefusedError(code, f"{what} {place.name}", str(resource), why, remedy)


def names_our_file(place: ConnectorPlace, live: Object) -> bool:
    """Whether the connector's spec names our ConfigMap."""
    fields: Any = live
    for step in connector_path(live, place).split("/")[1:]:
        fields = fields[int(step)] if isinstance(fields, list) else fields[step]
    given = ((fields.get(_FIELD) or {}).get("fromConfigMap") or {}).get("name")
    return bool(given == config_map_reference(place).name)


def _annotations(live: Object) -> dict[str, str]:
    return dict(live["metadata"].get("annotations") or {})


def _annotated(annotations: Mapping[str, str]) -> Object:
    return {"op": "add", "path": "/metadata/annotations", "value": dict(annotations)}
