"""The ACLs that a change needs before it is deployed, as commands. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from components.render.acls import Acl, flow_acls, merged_acls
from infra.review.acl_tables import grant_commands
from infra.review.snapshots import Snapshot


def needed_grants(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Shell lines for what the users of `after` need and those of `before` did not have.

    None for clusters whose KafkaUsers the stack deploys, because they bring their ACLs, and none if `before` is known
    by its objects only.
    """
    if before.others and not before.deployments:
        return ()
    declared = {alias for alias, user in _kafka_users(after) if user}
    added = [acl for acl in added_acls(_acls(before), _acls(after)) if acl.cluster not in declared]
    return tuple(grant_commands(added))


def added_acls(before: Iterable[Acl], after: Iterable[Acl]) -> Iterator[Acl]:
    """What `after` allows and `before` does not; operations that a wider ACL of either allows are left out."""
    old = merged_acls(before)
    allowed = {replace(acl, operations=()): acl.operations for acl in old}
    for acl in merged_acls((*old, *after)):
        new = tuple(each for each in acl.operations if each not in allowed.get(replace(acl, operations=()), ()))
        if new:
            yield replace(acl, operations=new)


def _acls(snapshot: Snapshot) -> list[Acl]:
    return [acl for each in snapshot.deployments.values() for flow in each.flows for acl in flow_acls(flow)]


def _kafka_users(snapshot: Snapshot) -> Iterator[tuple[str, bool]]:
    for each in snapshot.deployments.values():
        for flow in each.flows:
            yield flow.settings.source, flow.source.kafka_user is not None
            yield flow.settings.target, flow.target.kafka_user is not None
