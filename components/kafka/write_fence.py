"""A fence: ACLs that deny all writes to topics, distinguishable from ACLs that somebody else made. Pure. With each
denial there is a mark, an ACL for a principal that no client can have. Its name says who made the denial. Its type is
not `User`, because Strimzi's User Operator deletes ACLs of users that it does not know. It leaves those of other types
and of `User:*` alone. Source: io.strimzi.operator.user.operator.SimpleAclOperator.
"""

from collections.abc import Collection, Iterable

from components.kafka.acls import EVERYONE, AclEntry, wider_resources

_MARK = "Fence:"


def missing_marks(topics: Iterable[str], owner: str, entries: Collection[AclEntry]) -> list[AclEntry]:
    """The marks to write before the denials. A topic that somebody else has denied gets none, and keeps its denial."""
    denied = {each.name for each in entries if each == _denial(each.name)}
    marked = {each.name for each in entries if _is_mark(each)}
    wanted = [_mark(topic, owner) for topic in topics if topic in marked or topic not in denied]
    return [each for each in wanted if each not in entries]


def missing_denials(topics: Iterable[str], entries: Collection[AclEntry]) -> list[AclEntry]:
    """The denials to write once their marks are there."""
    return [denial for topic in topics if (denial := _denial(topic)) not in entries]


def denials_to_lift(owner: str, entries: Collection[AclEntry]) -> list[AclEntry]:
    """The denials to delete before their marks: those that only this owner has marked."""
    others = {each.name for each in entries if _is_mark(each) and each.principal != _MARK + owner}
    denials = [_denial(topic) for topic in marked_topics(owner, entries) if topic not in others]
    return [each for each in denials if each in entries]


def marks_to_lift(owner: str, entries: Iterable[AclEntry]) -> list[AclEntry]:
    """The marks to delete after the denials."""
    return [_mark(topic, owner) for topic in marked_topics(owner, entries)]


def marked_topics(owner: str, entries: Iterable[AclEntry]) -> list[str]:
    """The topics that this owner has fenced, or began to fence."""
    return sorted({each.name for each in entries if _is_mark(each) and each.principal == _MARK + owner})


def owners(topics: Collection[str], entries: Iterable[AclEntry]) -> list[str]:
    """All owners of fences on these topics."""
    marks = (each for each in entries if _is_mark(each) and each.name in topics)
    return sorted({each.principal.removeprefix(_MARK) for each in marks})


def without_grant(topics: Iterable[str], entries: Collection[AclEntry]) -> list[str]:
    """The topics for which no ACL allows anything. If the brokers open resources without ACLs to everyone, the first
    ACL of such a topic also closes it to its readers.
    Source: `allow.everyone.if.no.acl.found`.
    """
    granted = {(each.pattern.lower(), each.name) for each in entries if each.permission == "ALLOW"}
    return [topic for topic in topics if granted.isdisjoint({("literal", topic), *wider_resources("literal", topic)})]


def _denial(topic: str) -> AclEntry:
    return AclEntry(EVERYONE, "TOPIC", "LITERAL", topic, "WRITE", "DENY")


def _mark(topic: str, owner: str) -> AclEntry:
    return _denial(topic)._replace(principal=_MARK + owner)


def _is_mark(entry: AclEntry) -> bool:
    return entry.principal.startswith(_MARK)
