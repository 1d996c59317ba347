"""The switch of Strimzi's API from `v1beta2` to `v1`: which stored workers cannot switch in one step."""

from collections.abc import Mapping
from typing import Any

from components.contract.problems import CannotRunError

#: A field of each kind that `v1` requires and older objects lack. Source: Strimzi 0.49 custom resource definitions.
REQUIRED = {"KafkaConnect": "groupId", "KafkaMirrorMaker2": "target"}
WHY = (
    "Before it applies the change, Pulumi's Kubernetes provider rewrites the stored object through the new API "
    "version, which refuses objects without its required fields. The stack would be left half switched."
)


def lacks_fields_of_v1(workers: Mapping[str, Any]) -> bool:
    """Return whether workers, as they are stored or were deployed, lack a field that `v1` requires."""
    return REQUIRED[workers["kind"]] not in workers["spec"]


def refused_switch(workers: str) -> CannotRunError:
    """Return the error for workers that a deployment would switch in one step."""
    return CannotRunError(
        "api-switch-in-one-step",
        f"{workers} cannot change from the API `v1beta2` to `v1` in one step",
        "`strimzi` in the topology",
        WHY,
        "while an operator from 0.49 to 0.51 runs, set `strimzi: '0.51/v1beta2'` (use the operator's version) and "
        "deploy. Then restore the value that you have now, and deploy again.",
    )
