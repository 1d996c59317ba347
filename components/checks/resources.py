"""What the workers' containers are given: sizes that fit into one another, and no credential as it is."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from components.checks.logins import TEXT_OPTION
from components.checks.quantities import quantity, shown
from components.expansion import NamedFlow
from components.problems import Problem

#: Source: Strimzi JvmOptions, whose unit is bytes without a letter.
_JVM_SIZE = re.compile(r"([0-9]+)([mMgG]?)")
_JVM_UNITS = {"": 1, "m": 1024**2, "g": 1024**3}
#: Names of environment variables and system properties that hold a credential.
_CREDENTIAL_NAME = re.compile(
    r"(password|passwd|secret|token|credentials?|(access|api|private|secret|encryption)[-_.]?key)$", re.IGNORECASE
)


def check_resources(named: NamedFlow) -> Iterator[Problem]:
    """Problems of the container of a flow's workers."""
    yield from _check_requests(named)
    yield from _check_heap(named)
    for where, entry in _settings(named):
        name, value = str(entry.get("name", "")), str(entry.get("value") or "")
        if TEXT_OPTION.search(value) or (value and "${" not in value and _CREDENTIAL_NAME.search(name)):
            yield Problem(
                named.where(where),
                "plain-text-credential",
                f"`{name}` holds a credential as text",
                "It would stand in the topology file, in the custom resource and in the pods.",
                "give an environment variable `valueFrom: {secretKeyRef: {name: NAME, key: KEY}}` instead of `value`.",
            )


def _settings(named: NamedFlow) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Environment variables and system properties that are given by name and value, with their place."""
    connect = named.flow.connect
    for container, fields in (connect.template or {}).items():
        entries = fields.get("env", ()) if isinstance(fields, Mapping) else ()
        for index, entry in enumerate(entries):
            yield f"connect.template.{container}.env.{index}", entry
    properties = (connect.jvm_options or {}).get("javaSystemProperties") or ()
    for index, entry in enumerate(each for each in properties if isinstance(each, Mapping)):
        yield f"connect.jvmOptions.javaSystemProperties.{index}", entry


def _check_requests(named: NamedFlow) -> Iterator[Problem]:
    resources = named.flow.connect.resources or {}
    limits = resources.get("limits", {})
    for resource, requested in resources.get("requests", {}).items():
        limit = limits.get(resource)
        if limit is not None and quantity(requested) > quantity(limit):
            yield Problem(
                named.where(f"connect.resources.requests.{resource}"),
                "request-above-limit",
                f"{requested} of {resource} are requested, and the limit is {limit}",
                "Kubernetes refuses such a pod; no worker would start.",
                f"set the request to at most {limit}, or the limit to at least {requested}.",
            )


def _check_heap(named: NamedFlow) -> Iterator[Problem]:
    connect = named.flow.connect
    limit = (connect.resources or {}).get("limits", {}).get("memory")
    for option in ("-Xmx", "-Xms"):
        given = (connect.jvm_options or {}).get(option)
        size = _JVM_SIZE.fullmatch(str(given))
        where = named.where(f"connect.jvmOptions.{option}")
        if given is not None and size is None:
            yield Problem(
                where,
                "not-accepted",
                f"`{option}` is {given!r}",
                "Accepted: a whole number with `m` or `g`, or without for bytes.",
                f"set `{option}` to such a size, for example `2g`.",
            )
        elif size is not None and limit is not None:
            heap = Decimal(int(size[1]) * _JVM_UNITS[size[2].lower()])
            if heap >= quantity(limit):
                yield Problem(
                    where,
                    "heap-above-memory",
                    f"`{option}` is {given}, and the container's memory {limit}",
                    "The JVM needs memory beside its heap; Kubernetes kills the worker when both are more than that.",
                    f"lower `{option}`, or raise `connect.resources.limits.memory` well above {shown(heap)}.",
                )
