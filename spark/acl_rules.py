"""What Kafka's authorizer makes of ACLs: which of a flow's needs they grant, deny or leave open. Pure.

Source: StandardAuthorizerData (implied operations, wildcards, prefixes; a denial outranks every grant).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

EVERYONE = "User:*"
EVERY_NAME = "*"
_IMPLIED_BY = {
    "DESCRIBE": frozenset({"READ", "WRITE", "DELETE", "ALTER"}),
    "DESCRIBE_CONFIGS": frozenset({"ALTER_CONFIGS"}),
}


class AclEntry(NamedTuple):
    """One ACL of a cluster, in Kafka's words."""

    principal: str
    resource: str
    pattern: str
    name: str
    operation: str
    permission: str = "ALLOW"
    host: str = "*"


@dataclass(frozen=True)
class Need:
    """Operations that a flow's user must be allowed on a resource."""

    principal: str
    resource: str
    pattern: str
    name: str
    operations: tuple[str, ...]

    @property
    def one_name(self) -> bool:
        return self.pattern == "literal" and self.name != EVERY_NAME

    def concerns(self, name: str) -> bool:
        """Whether the need is about a resource of that name."""
        if self.pattern == "prefixed":
            return name.startswith(self.name)
        return self.name in (EVERY_NAME, name)

    def of(self, name: str) -> "Need":
        """The same of one name among those that it is about."""
        return replace(self, pattern="literal", name=name)

    def __str__(self) -> str:
        if self.resource == "CLUSTER":
            return "the cluster"
        kind = self.resource.lower().replace("_", " ")
        if self.pattern == "prefixed":
            return f"every {kind} that begins with {self.name}"
        return f"every {kind}" if self.name == EVERY_NAME else f"{kind} {self.name}"


class Standing(StrEnum):
    """How ACLs stand to a need. `narrow`: they grant it for all that exists today, but not for what may come."""

    MISSING = "missing"
    DENIED = "denied"
    NARROW = "narrow"
    OF_HOSTS = "of-hosts"


@dataclass(frozen=True)
class Gap:
    """What of a need the ACLs do not grant."""

    need: Need
    standing: Standing


def gaps(need: Need, entries: Sequence[AclEntry], existing: Collection[str]) -> list[Gap]:
    """What of a need is not granted plainly; `existing` are the names of such resources that the flow works with."""
    about = [each for each in entries if each.principal in (need.principal, EVERYONE)]
    about = [each for each in about if each.resource == need.resource]
    found: dict[Standing, list[str]] = {}
    names: dict[str, set[str]] = {}
    for operation in need.operations:
        standing, concerned = _standing(need, operation, about, existing)
        if standing is not None:
            found.setdefault(standing, []).append(operation)
            names.setdefault(standing, set()).update(concerned)
    result = []
    for standing, operations in found.items():
        missed = replace(need, operations=tuple(operations))
        each = sorted(names[standing])
        result += [Gap(missed.of(name), standing) for name in each] if each else [Gap(missed, standing)]
    return result


def _standing(
    need: Need, operation: str, about: Sequence[AclEntry], existing: Iterable[str]
) -> tuple[Standing | None, list[str]]:
    """How the ACLs stand to one operation, and by which names alone, if not as a whole."""
    concerned = [] if need.one_name else [name for name in existing if need.concerns(name)]
    denials = [each for each in about if each.permission == "DENY" and _denies(each, operation)]
    grants = [each for each in about if each.permission == "ALLOW" and _gives(each, operation)]
    if _covered(denials, need):
        return _by_hosts(denials, need, Standing.DENIED), []
    if denied := [name for name in concerned if _covered(denials, need.of(name))]:
        return Standing.DENIED, denied
    if _covered(grants, need):
        return _by_hosts(grants, need, None), []
    without = [name for name in concerned if not _covered(grants, need.of(name))]
    if concerned and not without:
        return Standing.NARROW, []
    return Standing.MISSING, without


def _by_hosts(entries: Sequence[AclEntry], need: Need, plainly: Standing | None) -> Standing | None:
    """Where the workers run is not known here, so what holds for some hosts only is not judged."""
    anywhere = [each for each in entries if each.host == "*"]
    return plainly if _covered(anywhere, need) else Standing.OF_HOSTS


def _gives(entry: AclEntry, operation: str) -> bool:
    return entry.operation in {"ALL", operation} | _IMPLIED_BY.get(operation, frozenset())


def _denies(entry: AclEntry, operation: str) -> bool:
    # A client that may not see a topic or group cannot use it either.
    return entry.operation in {"ALL", operation} or (
        entry.operation == "DESCRIBE" and operation in _IMPLIED_BY["DESCRIBE"]
    )


def _covered(entries: Iterable[AclEntry], need: Need) -> bool:
    return any(_covers(each, need) for each in entries)


def _covers(entry: AclEntry, need: Need) -> bool:
    if entry.pattern == "PREFIXED":
        return need.name != EVERY_NAME and need.name.startswith(entry.name)
    return entry.name == EVERY_NAME or (need.pattern == "literal" and entry.name == need.name)
