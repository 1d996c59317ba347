"""access: the flow's Kafka users may do what the flow needs. Records cannot show this. MirrorMaker silently skips a
topic or group that its user may not see, and a missing permission for future topics shows only when such a topic
appears. So this check reads the users' ACLs from the clusters. It also notes what applications lack on the target.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.clients.readiness import ready_facts
from kafka_replication.components.contract.parameters import AclParameters, ClusterParameters
from kafka_replication.components.contract.readiness import NO_QUOTAS, OPEN, Readiness, judge, summary, unjudged
from kafka_replication.components.contract.report import (
    SAMPLES,
    CheckName,
    CheckOutcome,
    Coverage,
    Finding,
    Scalar,
    error,
    fail,
    not_judged,
    note,
)
from kafka_replication.components.contract.wording import agreeing, named, numbered
from kafka_replication.components.kafka.acls import EVERYONE, GapReason, Need, UnmetNeed, gaps, grant_options
from kafka_replication.spark.read.flows import FlowCluster, OpenFlow

#: Reasons why the job may be unable to read ACLs. Neither is a fault of the flow.
_NOT_LOOKED = frozenset({"not-authorized", "authorizer-off"})
_PRINCIPAL_UNKNOWN = "principal-unknown"
#: Findings that say permissions could not be judged. If a principal is unknown, so are the permissions that it lacks.
_UNKNOWN = ("acl-of-hosts", "acls-not-visible", "principal-without-acls", _PRINCIPAL_UNKNOWN)


@dataclass(frozen=True)
class ClusterAccess:
    """One cluster, what the flow's user needs there, and the flow's existing resources by type."""

    cluster: FlowCluster
    parameters: ClusterParameters
    needs: tuple[Need, ...]
    existing: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def needed(self) -> int:
        return sum(len(need.operations) for need in self.needs)


def needs_of(acls: tuple[AclParameters, ...], side: str) -> tuple[Need, ...]:
    """Return the parameters' ACLs of one cluster, `source` or `target`."""
    return tuple(
        Need(acl.principal, acl.resource.upper(), acl.pattern, acl.name, acl.operations)
        for acl in acls
        if acl.cluster == side
    )


def check_access(flow: OpenFlow) -> CheckOutcome:
    """Compare the ACLs that the flow needs with those of its clusters."""
    flow.progress(f"{flow.name}: reading ACLs")
    acls, topics = flow.parameters.acls or (), list(flow.partitions)
    groups = flow.parameters.group_selection.of(flow.source.groups())
    here, there = {"TOPIC": topics, "GROUP": groups}, {"TOPIC": list(map(flow.policy.remote, topics)), "GROUP": groups}
    source = ClusterAccess(flow.source, flow.parameters.source, needs_of(acls, "source"), here)
    target = ClusterAccess(flow.target, flow.parameters.target, needs_of(acls, "target"), there)
    checked = outcome(source, target)
    clusters = [(flow.target, flow.parameters.target)]
    if flow.parameters.shape == "mirrorMaker2":
        # Only there does the operator also configure the connection to the source.
        clusters.append((flow.source, flow.parameters.source))
    certificates = (at.options.properties.get("ssl.truststore.certificates", "") for at, _ in clusters)
    bundles = (cut_bundle(cluster, pem) for (_, cluster), pem in zip(clusters, certificates, strict=True))
    notes = (*filter(None, bundles), *application_notes(_readiness(flow)))
    return replace(checked, findings=(*checked.findings, *notes))


def _readiness(flow: OpenFlow) -> Readiness:
    try:
        facts = ready_facts(flow.parameters, flow.source, flow.target, NO_QUOTAS)
    except ClusterError as refusal:
        return unjudged(flow.parameters, str(refusal))
    return judge(flow.parameters, facts).readiness


def application_notes(found: Readiness) -> Iterator[Finding]:
    """Yield what applications lack on the target, and what is not judged, as notes: a verdict is about replication,
    whose team may neither own these rights nor have applications there yet.
    """
    if found.missing:
        missing = named([missing.text for missing in found.missing])
        yield note("applications-cannot-start", f"{summary(found)}: {missing}", len(found.missing))
    if found.not_judged:
        what = f"whether all applications can start on {found.target} is not judged: {named(found.not_judged)}"
        yield note("applications-not-judged", what, len(found.not_judged))


def cut_bundle(cluster: ClusterParameters, certificates: str) -> Finding | None:
    """Return a note about certificates in one key if workers use only the first of them; `certificates` are PEM.

    Source: Strimzi's operator copies certificates into one file, and reads one certificate per key.
    """
    count = certificates.count("-----BEGIN CERTIFICATE-----")
    if cluster.trust is None or cluster.trust.format != "PEM" or cluster.trust.workers_read_others or count < 2:
        return None
    return note(
        "ca-bundle-cut",
        f"{cluster.trust.certificates} holds {count} certificates, but the Connect workers use only the first: they "
        f"do not trust brokers of {cluster.alias} whose certificate was signed by another one. Give each a key of "
        f"its own, and set `pattern` beside `key` in `clusters.{cluster.alias}.tls.trust`.",
    )


def outcome(*sides: ClusterAccess) -> CheckOutcome:
    """Return the outcome over both clusters. Where ACLs could not be read, a note says why."""
    judged = [(side, gap, finding) for side in sides for gap, finding in _judged(side)]
    absent = [(side, gap, finding) for side, gap, finding in judged if gap is not None and _is_absent(finding)]
    missing = sum(finding.count for _, _, finding in absent)
    needed = sum(side.needed for side in sides)
    unknown = not_judged((finding for _, _, finding in judged), _UNKNOWN)
    judged_permissions = needed - sum(count for code, count in unknown.items() if code != _PRINCIPAL_UNKNOWN)
    return CheckOutcome(
        CheckName.ACCESS,
        f"{missing} of {numbered(needed, 'permission[|s]')} {agreeing(missing, '[is|are]')} missing",
        {"needed": needed, "missing": missing},
        _shortened([finding for _, _, finding in judged]),
        tuple(_sample(side, gap) for side, gap, _ in absent if gap is not None),
        Coverage("permissions", judged_permissions, unknown),
    )


def _is_absent(finding: Finding) -> bool:
    return finding.code in {"acl-missing", "acl-denied"}


def _shortened(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return at most SAMPLES findings of missing ACLs and one for the rest: a wildcard may cause thousands."""
    absent = [finding for finding in findings if _is_absent(finding)]
    others = [finding for finding in findings if not _is_absent(finding)]
    if len(absent) > SAMPLES:
        rest = absent[SAMPLES:]
        what = f"ACLs are missing for {numbered(len(rest), 'more resource[|s]')}"
        more = fail("acl-missing", what, sum(gap.count for gap in rest))
        absent = [*absent[:SAMPLES], more]
    return (*absent, *others)


def _judged(side: ClusterAccess) -> list[tuple[UnmetNeed | None, Finding]]:
    if not side.needs:
        return [(None, _principal_unknown(side))]
    principals = {need.principal for need in side.needs}
    try:
        entries = side.cluster.acls({*principals, EVERYONE})
    except ClusterError as refusal:
        if refusal.code not in _NOT_LOOKED:
            raise
        return [(None, _acls_not_read(side, refusal))]
    missing = [gap for need in side.needs for gap in gaps(need, entries, side.existing.get(need.resource, ()))]
    unnamed = principals - {entry.principal for entry in entries}
    notes: list[tuple[UnmetNeed | None, Finding]] = [
        (None, _without_acls(side, principal)) for principal in sorted(unnamed)
    ]
    return notes + [(gap, _finding(side, gap)) for gap in missing if gap.need.principal not in unnamed]


def _finding(side: ClusterAccess, gap: UnmetNeed) -> Finding:
    need, alias = gap.need, side.parameters.alias
    operations = ", ".join(need.operations)
    may = f"{need.principal} {operations} on {need} of {alias}"
    match gap.reason:
        case GapReason.DENIED:
            message = f"an ACL denies {may}. A denial overrides every grant"
            return fail("acl-denied", message, len(need.operations))
        case GapReason.NARROW:
            return note("acl-narrower", f"ACLs allow {may} for existing resources, but not for new ones")
        case GapReason.OF_HOSTS:
            return error(
                "acl-of-hosts",
                f"ACLs allow {may} from some hosts but not from others, and the job does not know the workers' hosts",
                len(need.operations),
            )
        case GapReason.MISSING if not side.cluster.has_acl(need.resource, need.name) and side.cluster.brokers_set(OPEN):
            return note(
                "open-to-all", f"no ACL allows {may}, but the cluster lets every user access resources without ACLs"
            )
        case GapReason.MISSING:
            message = f"no ACL allows {may}. Remedy: {grant_command(side.parameters, need)}"
            return fail("acl-missing", message, len(need.operations))


def grant_command(cluster: ClusterParameters, need: Need) -> str:
    """Return Kafka's command that grants a need. FILE stands for the properties file of an administrator."""
    granted = grant_options(need.principal, need.resource, need.pattern, need.name, need.operations)
    return f"kafka-acls.sh --bootstrap-server {cluster.bootstrap_servers} --command-config FILE {granted}"


def _principal_unknown(side: ClusterAccess) -> Finding:
    what = f"the ACLs on {side.parameters.alias} are not checked, because the flow's principal there is unknown"
    return error("principal-unknown", what)


def _acls_not_read(side: ClusterAccess, refusal: ClusterError) -> Finding:
    alias = side.parameters.alias
    if refusal.code == "authorizer-off":
        return note("authorizer-off", f"{alias} has no authorizer: every user may do everything")
    message = (
        f"the ACLs on {alias} are not checked, because the job may not read them. If a connector lacks permission to "
        "see a topic or group, the other checks may miss that"
    )
    return error("acls-not-visible", message, side.needed)


def _without_acls(side: ClusterAccess, principal: str) -> Finding:
    needed = sum(len(need.operations) for need in side.needs if need.principal == principal)
    message = (
        f"the access of {principal} on {side.parameters.alias} is not checked, because no ACL names it. It is a super "
        "user, the cluster maps it to another principal, or it has only the permissions that every user has"
    )
    return error("principal-without-acls", message, needed)


def _sample(side: ClusterAccess, gap: UnmetNeed) -> Mapping[str, Scalar]:
    need = gap.need
    return {
        "cluster": side.parameters.alias,
        "principal": need.principal,
        "operations": ", ".join(need.operations),
        "resourceType": need.resource,
        "patternType": need.pattern.upper(),
        "resource": need.name,
    }
