"""The ACLs that a change needs before it is deployed, as commands. Pure."""

from collections.abc import Iterator

from components.render.acls import Acl, added_acls, user_acls
from infra.review.acl_tables import grant_commands
from infra.review.snapshots import Snapshot


def needed_grants(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Shell lines for what the users of `after` need and those of `before` did not have. None for clusters whose
    KafkaUsers the stack deploys, because these contain their ACLs, and none if `before` is known only by its objects.
    """
    if before.others and not before.deployments:
        return ()
    declared = {alias for alias, user in _kafka_users(after) if user}
    added = [acl for acl in added_acls(_acls(before), _acls(after)) if acl.cluster not in declared]
    return tuple(grant_commands(added))


def _acls(snapshot: Snapshot) -> list[Acl]:
    return [acl for each in snapshot.deployments.values() for flow in each.flows for acl in user_acls(flow)]


def _kafka_users(snapshot: Snapshot) -> Iterator[tuple[str, bool]]:
    for each in snapshot.deployments.values():
        for flow in each.flows:
            yield flow.settings.source, flow.source.kafka_user is not None
            yield flow.settings.target, flow.target.kafka_user is not None
