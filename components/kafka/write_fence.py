"""The ACLs of a write fence, which denies all writes to topics, and how to tell them from ACLs that somebody else made.
Pure.

Beside each denial, a fence has a second ACL, its mark: for a principal that no client can have and whose name says who
made the denial. Its type is not `User`, because Strimzi's User Operator deletes ACLs of users that it does not know. It
leaves those of other types and of `User:*` alone. Source: io.strimzi.operator.user.operator.SimpleAclOperator.
"""

from collections.abc import Collection, Iterable

from kafka_replication.components.kafka.acls import EVERYONE, AclEntry

_MARK = "Fence:"


def missing_marks(topics: Iterable[str], owner: str, entries: Collection[AclEntry]) -> list[AclEntry]:
    """Return the marks to write before the denials; none for a topic that somebody else has denied."""
    denied = {entry.name for entry in entries if entry == _denial(entry.name)}
    marked = {entry.name for entry in entries if _is_mark(entry)}
    wanted = [_mark(topic, owner) for topic in topics if topic in marked or topic not in denied]
    return [entry for entry in wanted if entry not in entries]


def missing_denials(topics: Iterable[str], entries: Collection[AclEntry]) -> list[AclEntry]:
    """Return the denials to write once their marks are there."""
    return [denial for topic in topics if (denial := _denial(topic)) not in entries]


def denials_to_lift(owner: str, entries: Collection[AclEntry]) -> list[AclEntry]:
    """Return the denials to delete before their marks: those that only this owner has marked."""
    others = {entry.name for entry in entries if _is_mark(entry) and entry.principal != _MARK + owner}
    denials = [_denial(topic) for topic in marked_topics(owner, entries) if topic not in others]
    return [denial for denial in denials if denial in entries]


def marks_to_lift(owner: str, entries: Iterable[AclEntry]) -> list[AclEntry]:
    """Return the marks to delete after the denials."""
    return [_mark(topic, owner) for topic in marked_topics(owner, entries)]


def marked_topics(owner: str, entries: Iterable[AclEntry]) -> list[str]:
    """Return the topics that this owner has fenced, or began to fence."""
    return sorted({entry.name for entry in entries if _is_mark(entry) and entry.principal == _MARK + owner})


def owners(topics: Collection[str], entries: Iterable[AclEntry]) -> list[str]:
    """Return all owners of fences on these topics."""
    marks = (entry for entry in entries if _is_mark(entry) and entry.name in topics)
    return sorted({mark.principal.removeprefix(_MARK) for mark in marks})


def without_fences(entries: Iterable[AclEntry]) -> list[AclEntry]:
    """Return the ACLs as they are once every fence is lifted."""
    known = list(entries)
    marked = {entry.name for entry in known if _is_mark(entry)}
    return [
        entry for entry in known if not _is_mark(entry) and not (entry.name in marked and entry == _denial(entry.name))
    ]


def _denial(topic: str) -> AclEntry:
    return AclEntry(EVERYONE, "TOPIC", "LITERAL", topic, "WRITE", "DENY")


def _mark(topic: str, owner: str) -> AclEntry:
    return _denial(topic)._replace(principal=_MARK + owner)


def _is_mark(entry: AclEntry) -> bool:
    return entry.principal.startswith(_MARK)
