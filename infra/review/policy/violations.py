"""What the checks of a review say of the objects that a Pulumi program deploys."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import yaml

from kafka_replication.components.contract.problems import Severity
from kafka_replication.infra.review.yaml.effects import unclear_objects
from kafka_replication.infra.review.yaml.objects import side_of
from kafka_replication.infra.review.yaml.review import checked_objects


class Violation(NamedTuple):
    """A mistake, or why something was not judged, and the URN of the first resource that it concerns, if any."""

    severity: Severity
    text: str
    urn: str | None


def violations(resources: Iterable[tuple[str, Mapping[str, Any] | str]]) -> Iterator[Violation]:
    """Yield what is wrong with the resources of one Kubernetes cluster, and what could not be judged.

    A resource is its URN with its properties, or with the reason why they are not known yet. Resources that are no
    Kubernetes objects are ignored. The values of Secrets are not looked at.
    """
    files: dict[str, bytes] = {}
    for of_resource, body in resources:
        if isinstance(body, str):
            yield Violation(Severity.WARNING, f"not judged: {body}", of_resource)
        elif "apiVersion" in body and "kind" in body:
            hidden = ("data", "stringData") if body["kind"] == "Secret" else ()
            shown = {key: value for key, value in body.items() if key not in hidden}
            files[of_resource] = yaml.safe_dump(shown, sort_keys=False).encode()
    side = side_of(files, "default")
    if not any(identity.replicates for identity in side.objects):
        return
    unclear = unclear_objects(side, side)
    checked = checked_objects(side, unclear)
    if checked.failed:
        yield Violation(Severity.ERROR, f"not judged: {checked.failed}", None)
    refused = set()
    for mistake in checked.mistakes:
        urn = next((obj.rpartition(" in ")[2] for obj in mistake.objects), None)
        if mistake.is_error:
            refused.add(urn)
        yield Violation(mistake.problem.severity, mistake.problem.text, urn)
    for identity, why in unclear.items():
        if (file := side.objects[identity][0].file) not in refused:
            severity = Severity.ERROR if identity.replicates else Severity.WARNING
            yield Violation(severity, f"not judged: {identity.label}. {why}", file)
    not_judged = {copy.file for identity in unclear for copy in side.objects[identity]}
    for note in checked.left_out:
        if not note.harmless and note.file not in not_judged:
            place = ", ".join(filter(None, (note.obj, note.field)))
            text = f"not judged: {place}. {note.why} Remedy: {note.remedy}"
            yield Violation(Severity.WARNING, text, note.file)
    if checked.because:
        apart = "; ".join(", ".join(names) for names in checked.apart)
        yield Violation(Severity.WARNING, f"not judged together, because {checked.because}: {apart}", None)
