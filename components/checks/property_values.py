"""Values of properties: refused or useless ones, plain-text credentials, and objects that workers may not read."""

import re
from collections.abc import Iterator

from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.naming import namespace_name
from kafka_replication.components.properties.definitions import Definition, PropertyType
from kafka_replication.components.properties.values import type_problem, value_text
from kafka_replication.components.render.secrets import ObjectReference, user_references
from kafka_replication.components.topology.clusters import Properties, PropertyValue

#: Ending of a connector property that Kafka accepts with any number -> the value below 1 that works, and why others do
#: not.
_AT_LEAST_ONE = {
    "replication.factor": (-1, "Kafka refuses to create a topic with such a replication factor."),
    "interval.seconds": (
        None,
        "MirrorMaker's scheduler never runs a task with a negative interval, and fails if the interval is 0.",
    ),
    "timeout.ms": (None, "Every request would time out at once."),
}
#: Endings of names whose values are credentials: properties, options, environment variables and system properties.
_ENDING = (
    r"(?:pass(?:word|wd|phrase)|secret|token|creds|credentials?"
    r"|(?:access|api|private|secret|encryption|keystore)[-_.]?key)"
)
_CREDENTIAL_NAME = re.compile(rf"({_ENDING}|basic\.auth\.user\.info)$", re.IGNORECASE)
#: A reference in a value: Connect's, or Kubernetes' in an environment variable.
_REFERENCE = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)")
#: A password in an address, such as that of a schema registry, or a token instead of a login.
_ADDRESS = re.compile(r"(?:://[^\s/:@]*:|https?://(?=[^\s/:@]*@))([^\s/@]+)@")
#: A header that logs in, such as `Authorization: Bearer TOKEN`, or only its value.
_HEADER = re.compile(r"(?:^|[:=,\"'])\s*(?:Bearer|Basic)\s+([^\s,\"']+)", re.IGNORECASE)
#: An option in a text, such as those of a login module, or a signature in an address, and its value.
_OPTION = re.compile(rf"\b(?:[\w.-]*(?:{_ENDING}|signature)|sig)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s;]+)", re.IGNORECASE)


def check_value(where: str, key: str, value: PropertyValue, definition: Definition) -> Iterator[Problem]:
    """A property's value has the right type and range. A password's value is not shown."""
    said = type_problem(definition, value)
    refused = f"`{definition.name}` has the type {definition.type} in Kafka"
    if definition.type in (PropertyType.STRING, PropertyType.LIST):
        refused = "Kafka refuses any other value"
    why = f"{refused}, so its reader would fail at the start."
    if said is None:
        said, why = _beyond_definition(definition, value)
    if said is not None:
        shown = "the given value" if definition.type is PropertyType.PASSWORD else _shown(value)
        yield Problem(
            where,
            "property-type",
            f"`{key}` {said}, but is {shown}",
            why,
            f"set it to {said.removeprefix('must be ')}.",
        )


def _shown(value: PropertyValue) -> str:
    return f"`{value_text(value)}`" if value_text(value).strip() else "empty"


def _beyond_definition(definition: Definition, value: PropertyValue) -> tuple[str | None, str]:
    """Return what a value must be although Kafka's definition does not say so, and why; None if the value is fine."""
    rule = next((rule for end, rule in _AT_LEAST_ONE.items() if definition.name.endswith(end)), None)
    try:
        number = int(value_text(value))
    except ValueError:
        return None, ""
    if rule is None or definition.at_least is not None or number >= 1 or number == rule[0]:
        return None, ""
    other, why = rule
    return "must be at least 1" + (f", or {other} for the cluster's default" if other is not None else ""), why


def is_open_credential(name: str, value: object) -> bool:
    """Return whether a value is or contains a credential, not just references to one. Property names, options in a
    text, addresses with a password, and `Bearer` or `Basic` with a value indicate one.
    """
    text = _REFERENCE.sub("${}", str(value))
    by_name = bool(_CREDENTIAL_NAME.search(name)) and _holds_text(text)
    return by_name or any(map(_holds_text, _OPTION.findall(text) + _ADDRESS.findall(text) + _HEADER.findall(text)))


def _holds_text(value: str) -> bool:
    """Return whether a value holds text besides its references; `true` and `false` are not credentials."""
    left = _REFERENCE.sub("", value).strip(" \"'")
    return left != "" and left.lower() not in ("true", "false")


def check_credentials(where: str, config: Properties) -> Iterator[Problem]:
    """A configuration holds no plain-text credential."""
    for key, value in config.items():
        yield from check_credential(f"{where}.{key}", key, value)


def check_credential(where: str, key: str, value: object) -> Iterator[Problem]:
    """A property is not a plain-text credential."""
    if is_open_credential(key, value):
        yield open_credential(where, key, "set it to a placeholder such as `${secret:NAMESPACE/NAME:KEY}`.")


def check_hostnames(where: str, key: str, value: object) -> Iterator[Problem]:
    """A client verifies that a certificate belongs to the broker it connects to."""
    if key.endswith("ssl.endpoint.identification.algorithm") and not str(value).strip():
        yield warning(
            where,
            "hostname-not-verified",
            f"`{key}` is empty, so the client does not verify hostnames",
            "Anyone with a certificate from an authority that the client trusts can pose as a broker, and read the "
            "login and every record.",
            "remove it, and issue certificates that name the brokers' hosts.",
        )


def open_credential(where: str, key: str, remedy: str, shown_by: str = "Connect's REST API") -> Problem:
    """Return the problem of a credential given in plain text."""
    why = f"Everyone could read it in the topology file, the custom resource and {shown_by}."
    return Problem(where, "plain-text-credential", f"`{key}` holds a credential in plain text", why, remedy)


_WHY = "The workers' Role lets them read objects only in their own namespace."


def check_references(flow: ExpandedFlow) -> Iterator[Problem]:
    """Everything that a flow's own properties refer to is in the namespace of its workers."""
    here = namespace_name(flow.workers, flow.settings)
    for key, reference in user_references(flow.settings, here):
        yield from check_reference(flow.where(key), reference, here)


def check_reference(where: str, reference: ObjectReference, here: str) -> Iterator[Problem]:
    """One object that a placeholder names is in the namespace of the workers."""
    if reference.namespace == here:
        return
    name = reference.name
    what = f"`{name}` is in the namespace `{reference.namespace}`, but the workers are in `{here}`"
    remedy = "copy the {} to each replication's namespace, and write `${{{}:{}:KEY}}`."
    if reference.kind == "Secret":
        yield Problem(where, "secret-elsewhere", f"the Secret {what}", _WHY, remedy.format("Secret", "secret", name))
    else:
        yield Problem(
            where, "config-map-elsewhere", f"the ConfigMap {what}", _WHY, remedy.format("ConfigMap", "cfmap", name)
        )
