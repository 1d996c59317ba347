"""Objects that a stack declares and its cluster does not have: deleted by hand, or never created. Pure.

The engine creates an object after the objects that it waits for, so an object that exists as declared shows that those
were created too. Pulumi's state, which knows of an interrupted deployment, is not read.
"""

from collections.abc import Collection, Iterator, Mapping

from components.changes.effect import Severity
from components.render.planned_objects import Manifest
from infra.kubernetes.api import reference
from infra.review.drift import Drift
from infra.review.drift_findings import redeploy
from infra.review.live_objects import PART_OF
from infra.review.snapshots import Objects

#: The kinds that the digest of a flow covers: a validation of the flow has seen them all.
_PROVEN_KINDS = frozenset({"KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2"})


def missing_objects(
    stack: str,
    deployment: str,
    objects: Objects,
    there: Objects,
    waits: Mapping[str, Collection[str]],
    gone: Collection[str],
    proven: Mapping[str, str],
) -> Iterator[Drift]:
    """Drift for the missing objects of a deployment that is partly there.

    `there` holds the objects that exist, restricted to declared fields, and `waits` what each object waits for, both by
    key. `gone` are the keys of objects that an earlier deployment left. `proven` says when each flow was last validated
    with its declared digest.
    """
    unknown = []
    for key, body in objects.items():
        if key in there or key in gone:
            continue
        flow = body["metadata"]["labels"][PART_OF]
        later = next((each for each in there if key in waits.get(each, ()) and there[each] == objects[each]), None)
        if later is not None:
            yield _deleted(stack, flow, body, f"{reference(objects[later])}, which is deployed after it, exists")
        elif body["kind"] in _PROVEN_KINDS and flow in proven:
            yield _deleted(stack, flow, body, f"the validation of {proven[flow]} found this model deployed")
        else:
            unknown.append(body)
    if unknown:
        yield _incomplete(stack, deployment, objects, unknown)


def _deleted(stack: str, flow: str, body: Manifest, why: str) -> Drift:
    what = f"was deleted: {why}"
    return Drift(Severity.DATA, "object-missing", flow, str(reference(body)), what, "", "", redeploy(stack))


def _incomplete(stack: str, deployment: str, objects: Objects, unknown: list[Manifest]) -> Drift:
    names = ", ".join(str(reference(body)) for body in unknown)
    what = (
        f"{len(unknown)} of {len(objects)} objects do not exist, and nothing shows that they ever did: {names}. "
        "A deployment was interrupted, is still running or is due, or somebody deleted them"
    )
    remedy = (
        f"`replicate up {stack} --refresh`: it continues an interrupted deployment and creates deleted objects again."
    )
    flow = unknown[0]["metadata"]["labels"][PART_OF]
    return Drift(Severity.DATA, "deployment-incomplete", flow, f"deployment {deployment}", what, "", "", remedy)
