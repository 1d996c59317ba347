"""What a change needs that it does not deploy: ACLs, as commands, and Secrets. Pure."""

from collections.abc import Iterator

from components.kafka.replication_policy import SIDES
from components.render.acls import Acl, added_acls, user_acls
from components.render.connections import secrets_read
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


def needed_secrets(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Secrets with logins and certificates that connectors of `after` read, those of `before` did not, and the stack
    does not create, as `namespace/name`. None if `before` is known only by its objects.
    """
    if before.others and not before.deployments:
        return ()
    return tuple(sorted(_secrets(after) - _secrets(before)))


def _secrets(snapshot: Snapshot) -> set[str]:
    return {
        f"{flow.namespace}/{name}"
        for each in snapshot.deployments.values()
        for flow in each.flows
        for side in SIDES
        for name in secrets_read(flow, side) - {flow.own_secret(side)}
    }


def _acls(snapshot: Snapshot) -> list[Acl]:
    return [acl for each in snapshot.deployments.values() for flow in each.flows for acl in user_acls(flow)]


def _kafka_users(snapshot: Snapshot) -> Iterator[tuple[str, bool]]:
    for each in snapshot.deployments.values():
        for flow in each.flows:
            yield flow.settings.source, flow.source.kafka_user is not None
            yield flow.settings.target, flow.target.kafka_user is not None
