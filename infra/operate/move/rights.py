"""Asks, before a move changes anything, for the rights of the connectors' user that the move will use."""

import shlex
from collections.abc import Collection, Iterator, Sequence

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.contract.readiness import NO_QUOTAS, summary
from kafka_replication.components.contract.wording import named, number
from kafka_replication.components.kafka.acls import CLUSTER_NAME, grant_options
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.topology.clusters import kafka_principal
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import Precondition
from kafka_replication.infra.operate.ready.look import look


def commit_rights(
    opened: FlowAccess, side: Side, groups: Collection[str], topics: Collection[str]
) -> Iterator[Precondition]:
    """Say whether the connectors' user may commit for these groups in these topics of this side. Raises
    NoAnswerError.
    """
    if not groups:
        return
    alias = getattr(opened.parameters, side).alias
    groups, topics = sorted(groups), sorted(topics)
    try:
        missing = opened.writer(side).missing_reads(groups, topics)
    except CannotRunError as error:
        # This machine cannot use the login.
        yield _unmet(f"nothing can be committed on {alias}: {error.what}. {error.remedy}")
        return
    if missing.groups:
        what = f"may not commit for {named(missing.groups)} on {alias}"
        yield _unmet(grant_text(opened, side, what, "group", missing.groups, "READ"))
    if missing.topics:
        what = f"may not commit offsets in {named(missing.topics)} on {alias}"
        yield _unmet(grant_text(opened, side, what, "topic", missing.topics, "READ"))
    if missing.unknown:
        value = f"{alias} does not say whether the connectors' user may commit for {named(missing.unknown)}"
        yield Precondition("rights", f"{value}: it needs Read on the groups and their topics", met=None)
    elif not missing.groups and not missing.topics:
        yield Precondition("rights", f"the connectors' user may commit for {number(len(groups), 'group')} on {alias}")


def applications_start(opened: FlowAccess) -> Precondition:
    """Say whether the applications can start on the target. It is no reason to refuse: a failover at night is better
    than none, and the rest can be granted after it.
    """
    command = f"`replicate ready {opened.stack.name} {opened.flow.name}`"
    try:
        found = look(opened, NO_QUOTAS).readiness
    except NoAnswerError as error:
        return Precondition("ready", f"not judged: {error}", met=None)
    if found.missing:
        return Precondition("ready", f"{summary(found)}; {command} prints what adds it", met=None)
    if found.not_judged:
        return Precondition("ready", f"not judged: {'; '.join(found.not_judged)}; see {command}", met=None)
    return Precondition("ready", f"{summary(found)}, as far as ACLs, users and topic settings show")


def lift_rights(opened: FlowAccess, side: Side) -> Iterator[Precondition]:
    """Report if the connectors' user may not lift the fence that it sees on this side. Raises NoAnswerError."""
    if not opened.topic_acls(side).access().may_change:
        what = f"may not lift the fence on {getattr(opened.parameters, side).alias}"
        yield _unmet(grant_text(opened, side, what, "cluster", [CLUSTER_NAME], "ALTER"))


def grant_text(opened: FlowAccess, side: Side, what: str, resource: str, names: Sequence[str], operation: str) -> str:
    """Return what the connectors' user may not do, and the command that allows it."""
    principal = kafka_principal(getattr(opened.flow, side)) or "…"
    first, *others = names
    grant = grant_options(principal, resource, "literal", first, [operation])
    more = "".join(f" --{resource} {shlex.quote(name)}" for name in others)
    return f"the connectors' user {what}: allow it with `kafka-acls.sh … {grant}{more}`"


def _unmet(value: str) -> Precondition:
    return Precondition("rights", value, met=False)
