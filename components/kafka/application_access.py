"""Which ACLs the applications of a flow's source lack on its target, as Kafka's authorizer decides.

Whatever an ACL of the source allows on a replicated topic, a moved group or a transactional id, the target must allow
on what takes its place there.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_replication.components.kafka.acls import EVERY_NAME, EVERYONE, AclEntry, implying
from kafka_replication.components.kafka.name_prefixes import Beginning
from kafka_replication.components.kafka.write_fence import without_fences

#: What an ACL for `All` allows, by type of resource. Source: AclEntry.supportedOperations.
_OPERATIONS = {
    "TOPIC": ("READ", "WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS", "DESCRIBE_CONFIGS", "DESCRIBE"),
    "GROUP": ("READ", "DELETE", "ALTER_CONFIGS", "DESCRIBE_CONFIGS", "DESCRIBE"),
    "TRANSACTIONAL_ID": ("WRITE", "DESCRIBE"),
}
#: What applications do with a topic that only MirrorMaker writes.
_READING = frozenset({"ALL", "READ", "DESCRIBE", "DESCRIBE_CONFIGS"})
#: Stands for every name that no ACL names. It occurs in no name.
_OTHER = "\x00"
ANY_HOST = "*"


@dataclass(frozen=True)
class Counterpart:
    """A resource of the source by its name there, and the text before that name on the target.

    The flow selects the names that have one of these `beginnings`. `read_only`: only MirrorMaker writes it.
    """

    resource: str
    name: str
    prefix: str = ""
    beginnings: tuple[Beginning, ...] = ()
    read_only: bool = False

    @property
    def target(self) -> str:
        return self.prefix + self.name


class Denial(NamedTuple):
    """What an application may do on the source, under its name on the target, and the ACL that denies it there."""

    allowed: AclEntry
    by: AclEntry


@dataclass(frozen=True)
class Shortfall:
    """The ACLs to add on the target, and what none can allow because another denies it."""

    missing: tuple[AclEntry, ...] = ()
    denied: tuple[Denial, ...] = ()


class Authorizer:
    """Decides by the ACLs of one cluster. Source: StandardAuthorizerData."""

    def __init__(self, entries: Iterable[AclEntry]) -> None:
        self._entries: dict[tuple[str, str], list[AclEntry]] = {}
        #: What allows something, by type and name of the resource; prefixes are with the ACLs of every name.
        self._granted: dict[tuple[str, str], list[AclEntry]] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: AclEntry) -> None:
        self._entries.setdefault((entry.principal, entry.resource), []).append(entry)
        if entry.permission == "ALLOW":
            name = entry.name if entry.pattern == "LITERAL" else EVERY_NAME
            self._granted.setdefault((entry.resource, name), []).append(entry)

    def about(self, principal: str, resource: str) -> Iterator[AclEntry]:
        for named in {principal, EVERYONE}:
            yield from self._entries.get((named, resource), ())

    def decisive(self, asked: AclEntry) -> AclEntry | None:
        """Return the ACL that denies `asked`, or else one that allows it, None if there is neither. The host `*` means
        one that no ACL names.
        """
        allowing = None
        for entry in self.about(asked.principal, asked.resource):
            if not applies(entry, asked.name) or entry.host not in (ANY_HOST, asked.host):
                continue
            if entry.permission == "DENY" and entry.operation in ("ALL", asked.operation):
                return entry
            if entry.permission == "ALLOW" and entry.operation in {"ALL", asked.operation} | implying(asked.operation):
                allowing = entry
        return allowing

    def allows(self, asked: AclEntry) -> bool:
        decisive = self.decisive(asked)
        return decisive is not None and decisive.permission == "ALLOW"

    def denials(self, principal: str, resource: str) -> list[AclEntry]:
        """Return the ACLs that deny this principal, or anybody if it is `User:*`, something on resources of a type."""
        about = self.about(principal, resource)
        if principal == EVERYONE:
            about = (entry for (_, kind), some in self._entries.items() if kind == resource for entry in some)
        return [entry for entry in about if entry.permission == "DENY"]

    def users(self, resource: str, name: str, operation: str) -> frozenset[str]:
        """Return the principals that may do this, from some host at least."""
        granted = (*self._granted.get((resource, name), ()), *self._granted.get((resource, EVERY_NAME), ()))
        wanted = (entry._replace(name=name, operation=operation) for entry in granted if applies(entry, name))
        return frozenset(asked.principal for asked in wanted if self.allows(asked))


def applies(entry: AclEntry, name: str) -> bool:
    """Return whether an ACL is about the resource of that name."""
    if entry.pattern == "PREFIXED":
        return name.startswith(entry.name)
    return entry.name in (EVERY_NAME, name)


def transactional_ids(entries: Iterable[AclEntry]) -> tuple[Counterpart, ...]:
    """Return the transactional ids that ACLs are about, by name or prefix; they have the same names everywhere."""
    about = (entry for entry in entries if entry.resource == "TRANSACTIONAL_ID")
    return tuple(Counterpart("TRANSACTIONAL_ID", name) for name in sorted({_any_name(entry) for entry in about}))


def _any_name(entry: AclEntry) -> str:
    if entry.pattern == "PREFIXED":
        return entry.name + _OTHER
    return _OTHER if entry.name == EVERY_NAME else entry.name


def shortfall(
    counterparts: Sequence[Counterpart],
    source: Iterable[AclEntry],
    target: Iterable[AclEntry],
    others: Collection[str] = (),
) -> Shortfall:
    """Return what the source allows and the target does not, except to `others`, which are no applications.

    The missing ACLs are as narrow as those of the source and as what the flow selects, so that they open nothing else.
    """
    granted = without_fences(source)
    judged = _Judged(Authorizer(granted), Authorizer(target))
    allowing = [entry for entry in granted if entry.permission == "ALLOW" and entry.principal not in others]
    named: dict[tuple[str, str], list[Counterpart]] = {}
    for counterpart in counterparts:
        for key in ((counterpart.resource, counterpart.name), (counterpart.resource, EVERY_NAME)):
            named.setdefault(key, []).append(counterpart)
    for entry in sorted(allowing, key=_widest_first):
        for counterpart in named.get((entry.resource, entry.name if entry.pattern == "LITERAL" else EVERY_NAME), ()):
            if applies(entry, counterpart.name):
                judged.judge(entry, counterpart)
    return Shortfall(tuple(judged.missing), tuple(judged.denied.values()))


def _widest_first(entry: AclEntry) -> tuple[object, ...]:
    """Sort so that an ACL that makes others superfluous is added before them."""
    literal = entry.pattern == "LITERAL" and entry.name != EVERY_NAME
    operation = (entry.operation != "ALL", entry.operation.startswith("DESCRIBE"), entry.operation)
    return (
        entry.principal != EVERYONE,
        entry.principal,
        literal,
        len(entry.name),
        entry.host != ANY_HOST,
        operation,
        entry,
    )


class _Judged:
    """What was found so far; an ACL that was found missing counts from then on as if it existed."""

    def __init__(self, source: Authorizer, target: Authorizer) -> None:
        self._source, self._target = source, target
        self.missing: list[AclEntry] = []
        self.denied: dict[tuple[str, str, AclEntry], Denial] = {}

    def judge(self, entry: AclEntry, counterpart: Counterpart) -> None:
        """Compare what an ACL of the source allows on a resource with what the target allows."""
        if counterpart.read_only and entry.operation not in _READING:
            return
        if counterpart.read_only and entry.operation == "ALL":
            entry = entry._replace(operation="READ")
        operations = _OPERATIONS[entry.resource] if entry.operation == "ALL" else (entry.operation,)
        for principal, host in self._who(entry):
            asked = AclEntry(principal, entry.resource, "LITERAL", counterpart.name, entry.operation, host=host)
            usable = [operation for operation in operations if self._usable(asked._replace(operation=operation))]
            for operation in usable:
                given = entry if len(usable) == len(operations) else entry._replace(operation=operation)
                for needed in _needed(operation):
                    there = asked._replace(name=counterpart.target, operation=needed)
                    self._expect(there, given, counterpart)

    def _usable(self, asked: AclEntry) -> bool:
        return all(self._source.allows(asked._replace(operation=needed)) for needed in _needed(asked.operation))

    def _expect(self, asked: AclEntry, given: AclEntry, counterpart: Counterpart) -> None:
        decisive = self._target.decisive(asked)
        if decisive is None:
            for added in self._grant(given, counterpart):
                self.missing.append(added)
                self._target.add(added)
        elif decisive.permission == "DENY":
            self.denied.setdefault((asked.principal, asked.name, decisive), Denial(asked, decisive))

    def _who(self, entry: AclEntry) -> Iterator[tuple[str, str]]:
        """Yield the principals and hosts for which the clusters may decide differently."""
        denials = [
            denial
            for cluster in (self._source, self._target)
            for denial in cluster.denials(entry.principal, entry.resource)
        ]
        principals = {denial.principal for denial in denials} if entry.principal == EVERYONE else ()
        for principal in (entry.principal, *sorted(set(principals) - {entry.principal})):
            hosts = {denial.host for denial in denials if denial.principal in (principal, EVERYONE)}
            for host in sorted({ANY_HOST} | hosts) if entry.host == ANY_HOST else [entry.host]:
                yield principal, host

    def _grant(self, entry: AclEntry, counterpart: Counterpart) -> Iterator[AclEntry]:
        """Yield the ACL that allows it on the target: of one name only if the source denies another one of its pattern.
        What remains denied comes first.
        """
        literal = entry.pattern == "LITERAL" and entry.name != EVERY_NAME
        prefix = entry.name if entry.pattern == "PREFIXED" else ""
        denials = [
            other if entry.principal == EVERYONE else other._replace(principal=entry.principal)
            for other in self._source.denials(entry.principal, entry.resource)
            if "ALL" in (entry.operation, other.operation) or other.operation in _needed(entry.operation)
        ]
        if counterpart.name.endswith(_OTHER):
            yield from (other for other in denials if _overlaps(other, prefix))
            yield entry
            return
        for text, whole in counterpart.beginnings:
            if counterpart.name == text if whole else counterpart.name.startswith(text):
                prefix, literal = max(prefix, text, key=len), literal or whole
        if not literal and counterpart.prefix + prefix and not any(_overlaps(other, prefix) for other in denials):
            yield entry._replace(pattern="PREFIXED", name=counterpart.prefix + prefix)
            return
        one = entry._replace(pattern="LITERAL", name=counterpart.target)
        for other in denials:
            if applies(other, counterpart.name) and (ANY_HOST in (entry.host, other.host) or entry.host == other.host):
                yield other._replace(pattern="LITERAL", name=counterpart.target)
        yield one


def _needed(operation: str) -> tuple[str, ...]:
    """Return the operation and `Describe`, if it implies it: a client that may not see a topic cannot use it."""
    return (operation, "DESCRIBE") if operation in implying("DESCRIBE") else (operation,)


def _overlaps(entry: AclEntry, prefix: str) -> bool:
    """Return whether an ACL is about some names with that prefix."""
    return applies(entry, prefix) or entry.name.startswith(prefix)
