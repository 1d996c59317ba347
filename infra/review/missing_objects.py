"""Objects that a stack declares and its cluster does not have: deleted by hand, or never made. Pure.

The engine makes an object after those that it waits for, so one that is there as declared shows that they were. What
Pulumi knows of an interrupted deployment is in its state, which is not asked.
"""

from collections.abc import Collection, Iterator, Mapping

from components.effects.effect import Severity
from components.specs.planned import Manifest
from infra.review.drift import Drift
from infra.review.drift_findings import redeploy, title
from infra.review.live_objects import PART_OF
from infra.review.snapshots import Objects

#: What the digest of a flow decides about: a validation of it has seen them all.
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
    """Drift of what is missing of a deployment of which something is there.

    `there` is what is there, as far as it is declared, `waits` what each object waits for, both by key; `gone` are keys
    under which something earlier is there; `proven` is when each flow was last validated with its declared digest.
    """
    unknown = []
    for key, body in objects.items():
        if key in there or key in gone:
            continue
        flow = body["metadata"]["labels"][PART_OF]
        later = next((each for each in there if key in waits.get(each, ()) and there[each] == objects[each]), None)
        if later is not None:
            yield _deleted(stack, flow, body, f"{title(objects[later])}, which is deployed after it, is there")
        elif body["kind"] in _PROVEN_KINDS and flow in proven:
            yield _deleted(stack, flow, body, f"the validation of {proven[flow]} found this model deployed")
        else:
            unknown.append(body)
    if unknown:
        yield _incomplete(stack, deployment, objects, unknown)


def _deleted(stack: str, flow: str, body: Manifest, why: str) -> Drift:
    what = f"was deleted: {why}"
    return Drift(Severity.DATA, "object-missing", flow, title(body), what, "", "", redeploy(stack))


def _incomplete(stack: str, deployment: str, objects: Objects, unknown: list[Manifest]) -> Drift:
    names = ", ".join(title(body) for body in unknown)
    what = (
        f"{len(unknown)} of {len(objects)} objects are not there, and nothing shows that they ever were: {names}. "
        "A deployment was interrupted, still runs, or is due; or they were deleted by hand"
    )
    remedy = f"`replicate up {stack} --refresh`: it goes on with what was interrupted and makes again what was deleted."
    flow = unknown[0]["metadata"]["labels"][PART_OF]
    return Drift(Severity.DATA, "deployment-incomplete", flow, f"deployment {deployment}", what, "", "", remedy)
