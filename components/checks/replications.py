"""Replications: declared in one way, with findings that can be accepted, and each flow deployed by some stack."""

from collections.abc import Collection, Iterator, Sequence

from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.contract.remedies import NOT_ACCEPTABLE
from kafka_replication.components.contract.report import ACCEPTABLE
from kafka_replication.components.flows.expansion import ExpandedFlow, expand
from kafka_replication.components.flows.selections import each_source, source_key
from kafka_replication.components.kafka.plugins import FILTER, KAFKA_TRANSFORMS
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.topology.clusters import Model
from kafka_replication.components.topology.connectors import StartFrom
from kafka_replication.components.topology.model import MirrorMaker2, MirrorSource, Topology

_WAYS = (frozenset({"source", "target"}), frozenset({"between"}), frozenset({"sources", "target"}))


def check_mirrors(topology: Topology) -> Iterator[Problem]:
    """Every KafkaMirrorMaker2 has one set of mirrors, and every mirror one selection."""
    for name, replication in topology.replications.items():
        if isinstance(replication, MirrorMaker2):
            yield from _check_clusters(name, replication)
            yield from _check_selections(name, replication)


def declares_its_clusters(replication: Model) -> bool:
    """Return whether a replication can be expanded into flows; if not, there is nothing else to check."""
    return not isinstance(replication, MirrorMaker2) or _given(replication) in _WAYS


def _given(replication: MirrorMaker2) -> frozenset[str]:
    return frozenset(key for key in ("source", "target", "between", "sources") if getattr(replication, key))


def _check_clusters(name: str, replication: MirrorMaker2) -> Iterator[Problem]:
    if not declares_its_clusters(replication):
        given = ", ".join(f"`{key}`" for key in sorted(_given(replication))) or "nothing"
        yield Problem(
            f"replications.{name}",
            "mirror-clusters",
            f"the mirrors' clusters are declared by {given}",
            "A KafkaMirrorMaker2 runs its workers beside one target, so its mirrors must be declared in exactly one "
            "way.",
            "set `source` and `target` (one mirror), `between` (one each way), or `sources` and `target` (several).",
        )


def _check_selections(name: str, replication: MirrorMaker2) -> Iterator[Problem]:
    if not replication.sources:
        return
    for key, field in MirrorSource.model_fields.items():
        if key in replication.model_fields_set and key != "transforms":
            yield Problem(
                f"replications.{name}.{field.alias}",
                "mirror-selection-in-two-places",
                f"both `{field.alias}` and `sources` are set",
                f"Each of the sources has its own `{field.alias}`, so this one would have no effect.",
                f"move `{field.alias}` to the entries of `sources` that it is meant for.",
            )


def check_on_loss(flow: ExpandedFlow) -> Iterator[Problem]:
    """A flow that stops at a gap replicates each partition from the start of its log, and drops no record."""
    if flow.settings.on_loss is None:
        return
    stopping = "and `onLoss` is `stop`"
    why = (
        "Connect stores no offset for a dropped record. After a restart, the connector would stop where the source "
        "has deleted nothing but such records."
    )
    if flow.settings.loop_guard:
        what = f"`loopGuard` drops records that come from `{flow.settings.target}`, {stopping}"
        yield Problem(flow.where("loopGuard"), "stop-not-possible", what, why, "remove `onLoss`, or `loopGuard`.")
    for part, source in each_source(flow.settings):
        for place, name, transform in source.transforms.in_order():
            if transform.type == FILTER or not transform.type.startswith(KAFKA_TRANSFORMS):
                where = flow.where(source_key(flow.settings, part, f"transforms.{place}.{name}"))
                what = f"`{name}` {'drops' if transform.type == FILTER else 'may drop'} records, {stopping}"
                yield Problem(where, "stop-not-possible", what, why, "remove `onLoss`, or the transform.")
        if source.start_from is StartFrom.LATEST:
            where = flow.where(source_key(flow.settings, part, "startFrom"))
            what = f"`startFrom` is `latest`, {stopping}"
            why_earliest = "With `latest`, the connector passes over what is in a topic when it first reads it."
            yield Problem(where, "stop-not-possible", what, why_earliest, "remove `startFrom`, or `onLoss`.")


_LIST = "validation.accept"


def check_accepted_findings(flow: ExpandedFlow) -> Iterator[Problem]:
    """Every finding that the job is told to accept is one that it can report."""
    seen: set[str] = set()
    for index, accepted in enumerate(flow.settings.validation.accept):
        finding, where = accepted.finding, flow.where(f"{_LIST}.{index}.finding")
        if finding in NOT_ACCEPTABLE:
            yield Problem(
                where,
                "finding-not-acceptable",
                f"`{finding}` cannot be accepted",
                "This finding reports a fault, or does not affect the verdict. You can accept only findings about "
                "something that the job could not judge.",
                f"remove it, and do what the finding says. Findings that can be accepted: {', '.join(ACCEPTABLE)}.",
            )
        elif finding not in ACCEPTABLE:
            near = nearest(finding, ACCEPTABLE)
            remedy = f"did you mean `{near}`?" if near else f"name one of these: {', '.join(ACCEPTABLE)}."
            what = f"the validation job has no finding `{finding}`"
            yield Problem(where, "unknown-finding", what, "It would accept nothing.", remedy)
        elif finding in seen:
            what, why = f"`{finding}` is listed twice", "A report shows one reason for each finding."
            yield Problem(where, "finding-accepted-twice", what, why, "remove one of them.")
        if not accepted.reason.strip():
            where = flow.where(f"{_LIST}.{index}.reason")
            what = f"`{finding}` is accepted without a reason"
            why = "The report and the evidence of a promotion show the reason to whoever relies on the verdict."
            yield Problem(where, "accepted-without-reason", what, why, "write the `reason` as a sentence.")
        seen.add(finding)


def check_deployed(
    topology: Topology, name: str, regions: Collection[str | None], unread: Sequence[str] = ()
) -> Iterator[Problem]:
    """Check that some stack deploys each flow. `name` is the topology's name, `regions` has the regions of all its
    stacks; a stack without a region (None) deploys every flow. `unread` names stack files whose topology is unknown.
    """
    if None in regions:
        return
    listed = ", ".join(sorted(f"`{region}`" for region in regions if region is not None))
    files = f"Not judged, because its topology is unknown: `{'`, `'.join(unread)}`. " if unread else ""
    region_of_flow: dict[tuple[str, str, str], str] = {}
    for flow in expand(topology):
        target = topology.clusters.get(flow.settings.target)
        if target is not None and target.region not in regions:
            region_of_flow[flow.replication, flow.settings.source, flow.settings.target] = target.region
    for (replication, source, alias), region in region_of_flow.items():
        yield warning(
            f"replications.{replication}",
            "deployed-by-no-stack",
            f"no stack {'whose topology is known ' if unread else ''}deploys the flow from `{source}` to `{alias}`",
            f"{files}A stack deploys the flows whose target is in its region. `{alias}` is in `{region}`, but the "
            f"stacks of this topology have {'only ' if len(regions) == 1 else ''}{listed}.",
            f"add a stack file with `replication:topology: {name}` and `replication:region: {region}`.",
        )
