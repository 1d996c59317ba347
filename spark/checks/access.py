"""access: the flow's Kafka users may do what the flow needs.

The data cannot tell it: a topic or group that the connectors may not see is left out without an error, and what is not
allowed for a partition, topic or group to come shows when it comes. The clusters are asked for the users' ACLs.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from spark.acl_rules import EVERY_NAME, EVERYONE, Gap, Need, Standing, gaps
from spark.clusters import Cluster
from spark.errors import ClusterError
from spark.flows import OpenFlow
from spark.parameters import AclParameters, ClusterParameters
from spark.report import SAMPLES, CheckOutcome, Finding, Scalar, fail, note

NAME = "access"
#: Codes of what keeps the job from looking; none of them is a fault of the flow.
_NOT_LOOKED = frozenset({"not-authorized", "authorizer-off"})
_OPTIONS = {"TOPIC": "--topic", "GROUP": "--group", "TRANSACTIONAL_ID": "--transactional-id"}
#: Kafka's broker property, false unless set.
_OPEN = "allow.everyone.if.no.acl.found"


@dataclass(frozen=True)
class Side:
    """One cluster, what the flow's user needs there, and the names that the flow works with by type of resource."""

    cluster: Cluster
    parameters: ClusterParameters
    needs: tuple[Need, ...]
    existing: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def needed(self) -> int:
        return sum(len(need.operations) for need in self.needs)


def needs_of(acls: tuple[AclParameters, ...], side: str) -> tuple[Need, ...]:
    """The parameters' ACLs of one cluster, `source` or `target`."""
    return tuple(
        Need(each.principal, each.resource.upper(), each.pattern, each.name, each.operations)
        for each in acls
        if each.cluster == side
    )


def check_access(live: OpenFlow) -> CheckOutcome:
    """What of the flow's ACLs its clusters do not have."""
    acls, topics = live.flow.acls or (), list(live.partitions)
    groups = live.selection.groups(live.source.groups())
    remote = [live.selection.remote(topic) for topic in topics]
    return outcome(
        Side(live.source, live.flow.source, needs_of(acls, "source"), {"TOPIC": topics, "GROUP": groups}),
        Side(live.target, live.flow.target, needs_of(acls, "target"), {"TOPIC": remote, "GROUP": groups}),
    )


def outcome(*sides: Side) -> CheckOutcome:
    """The outcome over both clusters; what could not be looked at is a note that says why."""
    told = [(side, gap, finding) for side in sides for gap, finding in _judged(side)]
    absent = [(side, gap, finding) for side, gap, finding in told if gap is not None and _is_absent(finding)]
    missing = sum(finding.count for _, _, finding in absent)
    needed = sum(side.needed for side in sides)
    return CheckOutcome(
        NAME,
        f"{missing} of {needed} permissions are missing",
        {"needed": needed, "missing": missing},
        _shortened([finding for _, _, finding in told]),
        tuple(_sample(side, gap) for side, gap, _ in absent if gap is not None),
    )


def _is_absent(finding: Finding) -> bool:
    return finding.code in {"acl-missing", "acl-denied"}


def _shortened(findings: list[Finding]) -> tuple[Finding, ...]:
    """So many findings as samples; the rest, of which a wildcard may bring thousands, as one."""
    absent = [each for each in findings if _is_absent(each)]
    others = [each for each in findings if not _is_absent(each)]
    if len(absent) > SAMPLES:
        rest = absent[SAMPLES:]
        more = fail("acl-missing", f"and for {len(rest)} more resources", sum(each.count for each in rest))
        absent = [*absent[:SAMPLES], more]
    return (*absent, *others)


def _judged(side: Side) -> list[tuple[Gap | None, Finding]]:
    if not side.needs:
        return [(None, _principal_unknown(side))]
    principals = {need.principal for need in side.needs}
    try:
        entries = side.cluster.acls({*principals, EVERYONE})
    except ClusterError as error:
        if error.code not in _NOT_LOOKED:
            raise
        return [(None, _not_looked(side, error))]
    found = [gap for need in side.needs for gap in gaps(need, entries, side.existing.get(need.resource, ()))]
    unnamed = principals - {each.principal for each in entries}
    notes: list[tuple[Gap | None, Finding]] = [(None, _without_acls(side, principal)) for principal in sorted(unnamed)]
    return notes + [(gap, _finding(side, gap)) for gap in found if gap.need.principal not in unnamed]


def _finding(side: Side, gap: Gap) -> Finding:
    need, alias = gap.need, side.parameters.alias
    operations = ", ".join(need.operations)
    may = f"{need.principal} {operations} on {need} of {alias}"
    match gap.standing:
        case Standing.DENIED:
            message = f"an ACL denies {may}; a denial outranks every grant. Remedy: remove it"
            return fail("acl-denied", message, len(need.operations))
        case Standing.NARROW:
            return note("acl-narrower", f"ACLs allow {may} for those that exist, and not for those that may come")
        case Standing.OF_HOSTS:
            return note(
                "acl-of-hosts", f"ACLs for {may} hold for some hosts only; whether for the workers is not known"
            )
        case Standing.MISSING if _is_open(side, need):
            return note("open-to-all", f"no ACL allows {may}; the cluster lets everyone use what has no ACL")
        case Standing.MISSING:
            message = f"no ACL allows {may}. Remedy: {grant_command(side.parameters, need)}"
            return fail("acl-missing", message, len(need.operations))


def _is_open(side: Side, need: Need) -> bool:
    return not side.cluster.has_acl(need.resource, need.name) and side.cluster.sets(_OPEN)


def grant_command(cluster: ClusterParameters, need: Need) -> str:
    """Kafka's command that grants a need; FILE is the properties file of whoever may."""
    operations = " ".join(f"--operation {each.replace('_', ' ').title().replace(' ', '')}" for each in need.operations)
    prefixed = " --resource-pattern-type prefixed" if need.pattern == "prefixed" else ""
    name = f"'{EVERY_NAME}'" if need.name == EVERY_NAME else need.name
    resource = "--cluster" if need.resource == "CLUSTER" else f"{_OPTIONS[need.resource]} {name}"
    return (
        f"kafka-acls.sh --bootstrap-server {cluster.bootstrap_servers} --command-config FILE --add "
        f"--allow-principal '{need.principal}' {operations} {resource}{prefixed}"
    )


def _principal_unknown(side: Side) -> Finding:
    message = (
        f"what {side.parameters.alias} calls the flow's user is not known, so its ACLs are not judged: name it by "
        "`principal` beside the certificate"
    )
    return note("principal-unknown", message)


def _not_looked(side: Side, error: ClusterError) -> Finding:
    alias = side.parameters.alias
    if error.code == "authorizer-off":
        return note("authorizer-off", f"{alias} has no authorizer: every user may do everything there")
    message = (
        f"the job may not see the ACLs of {alias}, which takes DESCRIBE on the cluster: a topic or group that the "
        "connectors may not see would be missed in silence"
    )
    return note("acls-not-visible", message)


def _without_acls(side: Side, principal: str) -> Finding:
    message = (
        f"no ACL of {side.parameters.alias} names {principal}: it is a super user, or the cluster knows it by another "
        "name, or it may do nothing; its access is not judged"
    )
    return note("principal-without-acls", message)


def _sample(side: Side, gap: Gap) -> Mapping[str, Scalar]:
    need = gap.need
    return {
        "cluster": side.parameters.alias,
        "principal": need.principal,
        "operations": ", ".join(need.operations),
        "resourceType": need.resource,
        "patternType": need.pattern.upper(),
        "resource": need.name,
    }
