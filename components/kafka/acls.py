"""How Kafka's authorizer applies ACLs: which imply others, and which of the required access a user lacks. Also the
options with which Kafka's tools grant it. Source: StandardAuthorizerData (implied operations, wildcards, prefixes; a
denial outranks every grant).
"""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple

PatternType = Literal["literal", "prefixed"]
EVERYONE = "User:*"
EVERY_NAME = "*"
#: The only name of the resource type `cluster`. Source: org.apache.kafka.common.resource.Resource.CLUSTER_NAME.
CLUSTER_NAME = "kafka-cluster"
_IMPLIED_BY = {
    "DESCRIBE": frozenset({"READ", "WRITE", "DELETE", "ALTER"}),
    "DESCRIBE_CONFIGS": frozenset({"ALTER_CONFIGS"}),
}


def implying(operation: str) -> frozenset[str]:
    """Return the operations whose grant also grants this one. Source: IMPLIES_DESCRIBE, IMPLIES_DESCRIBE_CONFIGS."""
    return _IMPLIED_BY.get(operation, frozenset())


def wider_resources(pattern: str, name: str) -> Iterator[tuple[PatternType, str]]:
    """Pattern type and name of every ACL that covers all the resources of another ACL, and more."""
    if name == EVERY_NAME:
        return
    yield "literal", EVERY_NAME
    for end in range(len(name) + (pattern == "literal")):
        yield "prefixed", name[:end]


def operation_title(operation: str) -> str:
    """Return an operation as Strimzi and Kafka's commands write it, such as `DescribeConfigs`."""
    return operation.replace("_", " ").title().replace(" ", "")


def grant_options(principal: str, resource: str, pattern: str, name: str, operations: Iterable[str]) -> str:
    """Return the options of kafka-acls.sh, after its connection, that grant operations. Source: AclCommand."""
    words = ["--add", "--allow-principal", shlex.quote(principal)]
    words += [word for operation in operations for word in ("--operation", operation_title(operation))]
    words.append(f"--{resource.lower().replace('_', '-')}")
    words += [shlex.quote(name)] if resource.lower() != "cluster" else []
    words += ["--resource-pattern-type", pattern] if pattern != "literal" else []
    return " ".join(words)


def administrator(alias: str) -> tuple[str, str]:
    """Return a comment that says which shell variables to set, and the options with which Kafka's tools connect."""
    servers, config = f"{shell_variable(alias)}_SERVERS", f"{shell_variable(alias)}_CONFIG"
    said = f"# {alias}: set {servers} to its address and {config} to the client properties of an administrator"
    return said, f'--bootstrap-server "${{{servers}:?}}" --command-config "${{{config}:?}}"'


def shell_variable(name: str) -> str:
    """Return a name as the beginning of a shell variable's."""
    return re.sub("[^A-Z0-9]", "_", name.upper())


class AclEntry(NamedTuple):
    """One ACL of a cluster, in Kafka's own words."""

    principal: str
    resource: str
    pattern: str
    name: str
    operation: str
    permission: str = "ALLOW"
    host: str = "*"


@dataclass(frozen=True)
class Need:
    """Operations that a user must be allowed on a resource."""

    principal: str
    resource: str
    pattern: str
    name: str
    operations: tuple[str, ...]

    @property
    def one_name(self) -> bool:
        return self.pattern == "literal" and self.name != EVERY_NAME

    def concerns(self, name: str) -> bool:
        """Return whether the need concerns a resource of that name."""
        if self.pattern == "prefixed":
            return name.startswith(self.name)
        return self.name in (EVERY_NAME, name)

    def of(self, name: str) -> "Need":
        """Return the same need for one name only."""
        return replace(self, pattern="literal", name=name)

    def __str__(self) -> str:
        if self.resource == "CLUSTER":
            return "the cluster"
        kind = self.resource.lower().replace("_", " ")
        if self.pattern == "prefixed":
            return f"every {kind} that begins with {self.name}"
        return f"every {kind}" if self.name == EVERY_NAME else f"{kind} {self.name}"


class GapReason(StrEnum):
    """Why a need is not met. `narrow`: it is met for everything that exists, but not for what is created later."""

    MISSING = "missing"
    DENIED = "denied"
    NARROW = "narrow"
    OF_HOSTS = "of-hosts"


@dataclass(frozen=True)
class UnmetNeed:
    """A need, or a part of it, that the ACLs do not meet, and why."""

    need: Need
    reason: GapReason


def gaps(need: Need, entries: Sequence[AclEntry], existing: Collection[str]) -> list[UnmetNeed]:
    """Return what the ACLs do not plainly grant of a need; `existing` are the names that the flow uses."""
    about = [entry for entry in entries if entry.principal in (need.principal, EVERYONE)]
    about = [entry for entry in about if entry.resource == need.resource]
    reasons: dict[GapReason, tuple[list[str], set[str]]] = {}
    for operation in need.operations:
        reason, concerned = _gap_reason(need, operation, about, existing)
        if reason is not None:
            operations, names = reasons.setdefault(reason, ([], set()))
            operations.append(operation)
            names.update(concerned)
    result = []
    for reason, (operations, names) in reasons.items():
        missed = replace(need, operations=tuple(operations))
        result += [UnmetNeed(part, reason) for part in map(missed.of, sorted(names))] or [UnmetNeed(missed, reason)]
    return result


def _gap_reason(
    need: Need, operation: str, about: Sequence[AclEntry], existing: Iterable[str]
) -> tuple[GapReason | None, list[str]]:
    """Return why one operation is not granted, and for which names if not for all; None if it is granted."""
    concerned = [] if need.one_name else [name for name in existing if need.concerns(name)]
    denials = [entry for entry in about if entry.permission == "DENY" and _denies(entry, operation)]
    granting = {"ALL", operation} | implying(operation)
    grants = [entry for entry in about if entry.permission == "ALLOW" and entry.operation in granting]
    if _covered(_anywhere(denials), need):
        return GapReason.DENIED, []
    if denied := [name for name in concerned if _covered(_anywhere(denials), need.of(name))]:
        return GapReason.DENIED, denied
    without = [name for name in concerned if not _covered(grants, need.of(name))]
    if not _covered(grants, need) and (without or not concerned):
        return GapReason.MISSING, without
    return _doubt(need, concerned, denials, grants)


def _doubt(
    need: Need, concerned: Sequence[str], denials: Sequence[AclEntry], grants: Sequence[AclEntry]
) -> tuple[GapReason | None, list[str]]:
    """Return what remains open where every existing name is granted from some hosts at least, and none denied from all.

    An ACL for certain hosts is not judged, because the workers' hosts are not known here.
    """
    granted = _anywhere(grants)
    if _covered(denials, need) or not (concerned or _covered(granted, need)):
        return GapReason.OF_HOSTS, []
    doubtful = [name for name in concerned if _covered(denials, need.of(name)) or not _covered(granted, need.of(name))]
    if doubtful:
        return GapReason.OF_HOSTS, doubtful
    return (None if _covered(granted, need) else GapReason.NARROW), []


def _anywhere(entries: Iterable[AclEntry]) -> list[AclEntry]:
    return [entry for entry in entries if entry.host == "*"]


def _denies(entry: AclEntry, operation: str) -> bool:
    # A client that may not see a topic or group cannot use it either.
    return entry.operation in {"ALL", operation} or (
        entry.operation == "DESCRIBE" and operation in implying("DESCRIBE")
    )


def _covered(entries: Iterable[AclEntry], need: Need) -> bool:
    covering = {(need.pattern, need.name), *wider_resources(need.pattern, need.name)}
    return any((entry.pattern.lower(), entry.name) in covering for entry in entries)


def without_grant(topics: Iterable[str], entries: Collection[AclEntry]) -> list[str]:
    """Return the topics for which no ACL allows anything. If the brokers open resources without ACLs to everyone, the
    first ACL of such a topic also closes it to its readers. Source: `allow.everyone.if.no.acl.found`.
    """
    granted = {(entry.pattern.lower(), entry.name) for entry in entries if entry.permission == "ALLOW"}
    return [topic for topic in topics if granted.isdisjoint({("literal", topic), *wider_resources("literal", topic)})]
