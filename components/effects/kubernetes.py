"""Objects around Connect that replication depends on: namespaces, quotas, and the users that log in to Kafka."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.effects.change import Change
from components.effects.effect import Effect, Severity, listed, number
from components.effects.running import Deployed
from components.specs.planned import Manifest


def kubernetes_effects(change: Change) -> Iterator[Effect]:
    """What happens to namespaces, quotas and KafkaUsers."""
    yield from _namespaces(change)
    old, new = ({each.name: each for each in side} for side in (change.before, change.after))
    for name in {**new, **old}:
        before, after = old.get(name, Deployed(name)), new.get(name, Deployed(name))
        if name in old and name in new:
            yield from _quotas(before.quotas, after.quotas, _flow(after))
        yield from _users(before.users, after.users, name)


def _namespaces(change: Change) -> Iterator[Effect]:
    """What becomes of namespaces that somebody's workers live in."""
    old, new = (
        {namespace: each for each in side for namespace in each.namespaces} for side in (change.before, change.after)
    )
    lived_in, used = (
        {workers.namespace: each for each in side for workers in each.workers} for side in (change.before, change.after)
    )
    for namespace in sorted((old.keys() - new.keys()) & used.keys()):
        what = (
            f"namespace {namespace} is deleted with everything in it, also what others keep there, while workers need "
            "it: replication stops until it is there again"
        )
        yield Effect(Severity.DATA, "namespace-deleted", _flow(used[namespace]), "namespace.create", what)
    for namespace in sorted((new.keys() - old.keys()) & lived_in.keys()):
        what = f"namespace {namespace} is created by us; `up` fails if somebody else has created it"
        yield Effect(Severity.NONE, "namespace-created", _flow(new[namespace]), "namespace.create", what)
    for namespace in sorted(new.keys() & old.keys()):
        if new[namespace].name != old[namespace].name:
            what = (
                f"namespace {namespace} is created for `{_flow(new[namespace])}` instead of `{_flow(old[namespace])}`: "
                "`up` creates before it deletes, and fails because it is there; give the new one another name"
            )
            yield Effect(Severity.NONE, "namespace-taken-over", _flow(new[namespace]), "namespace.create", what)


def _flow(deployment: Deployed) -> str:
    return next((each.flow for each in deployment.connectors), deployment.name)


def _quotas(before: Mapping[str, Manifest], after: Mapping[str, Manifest], flow: str) -> Iterator[Effect]:
    if {key: each["spec"] for key, each in before.items()} == {key: each["spec"] for key, each in after.items()}:
        return
    what = "the namespace's quota changes: pods that run stay, and one that starts again must fit in it"
    yield Effect(Severity.NONE, "quota-changes", flow, "quota", what)


def _users(before: Mapping[str, Manifest], after: Mapping[str, Manifest], name: str) -> Iterator[Effect]:
    for user in sorted({*before, *after}):
        old, new = before.get(user), after.get(user)
        if new is None:
            what = f"the User Operator deletes user `{user}` and its ACLs: whoever logs in as it is refused"
            yield Effect(Severity.DATA, "user-removed", name, "", what)
        elif old is None:
            acls = number(len(_rules(new)), "ACL")
            what = f"the User Operator makes user `{user}` with {acls}, and removes others of that name"
            yield Effect(Severity.NONE, "user-added", name, "", what)
        else:
            yield from _changed_user(user, old, new, name)


def _changed_user(user: str, old: Manifest, new: Manifest, name: str) -> Iterator[Effect]:
    if gone := [rule for rule in _rules(old) if rule not in _rules(new)]:
        what = f"user `{user}` loses {number(len(gone), 'ACL')} that no flow needs after the change: {listed(gone)}"
        yield Effect(Severity.NONE, "acls-removed", name, "", what)
    if added := [rule for rule in _rules(new) if rule not in _rules(old)]:
        what = f"user `{user}` gets {number(len(added), 'ACL')}: {listed(added)}"
        yield Effect(Severity.NONE, "acls-added", name, "", what)
    if old["spec"].get("authentication") != new["spec"].get("authentication"):
        what = f"user `{user}` logs in otherwise: connectors are refused until they use what it logs in with now"
        yield Effect(Severity.RESTART, "user-logs-in-otherwise", name, "", what)


def _rules(user: Manifest) -> list[str]:
    """ACLs as words, one for each resource with all its operations."""
    found: list[dict[str, Any]] = user["spec"].get("authorization", {}).get("acls", [])
    return [
        f"{', '.join(rule['operations'])} on {rule['resource']['type']} {rule['resource'].get('name', '')}".strip()
        for rule in found
    ]
