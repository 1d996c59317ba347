"""Topics and partitions that the target lacks, that did not come from the flow, that were deleted and created again, or
whose configuration or ACLs differ from those that the flow copies.

Configuration and ACLs matter to a consumer that moves: a topic may keep its records for a shorter time, or be closed to
the consumer. Records do not show that. The connector copies both every ten minutes by default.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import SAMPLES, Finding, TopicIds, error, fail, note
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.components.kafka.acls import AclEntry, operation_title
from kafka_replication.components.kafka.patterns import Selection, matches
from kafka_replication.components.kafka.positions import OffsetRange, TopicPartition
from kafka_replication.components.kafka.replication_policy import ReplicationPolicy, is_heartbeat_topic, upstream_hops
from kafka_replication.components.kafka.topic_names import LONGEST_NAME, collides
from kafka_replication.components.kafka.topic_sync import ConfigDifference, config_differences, missing_acls
from kafka_replication.spark.checks import division
from kafka_replication.spark.checks.heartbeats import now_ms
from kafka_replication.spark.read.flows import OpenFlow


def absent_from_target(flow: OpenFlow) -> tuple[list[Finding], dict[str, int]]:
    """Return the findings for topics and partitions that the target lacks, and the number of source records in those
    topics.
    """
    findings = []
    on_target = {topic: flow.remote_partitions.get(flow.policy.remote(topic)) for topic in flow.partitions}
    too_long = long_names(flow.policy, flow.partitions)
    findings += _too_long(too_long, flow.parameters)
    findings += left_out(flow.parameters, flow.source_topics)
    absent = sorted(topic for topic, count in on_target.items() if count is None and topic not in too_long)
    colliding = colliding_names(flow.policy, absent, flow.target_topics)
    findings += _colliding(colliding, flow.parameters)
    absent = [topic for topic in absent if topic not in colliding]
    named = division.labels(flow.parameters, absent)
    missing = {
        TopicPartition(topic, number)
        for topic, count in flow.partitions.items()
        for number in range(on_target[topic] or 0, count)
    }
    logs = flow.source.logs(missing, committed=True)
    refresh = flow.parameters.refresh_topics_seconds
    young = young_partitions(
        logs, flow.source.offsets_at(dict.fromkeys(missing, now_ms() - round(refresh * 1000)), committed=True)
    )
    findings += absent_topics(
        flow.target.where, {topic: named.get(topic, topic) for topic in absent}, young_topics(missing, young), refresh
    )
    findings += absent_partitions(flow.partitions, flow.remote_partitions, flow.policy, young, refresh)
    if not division.parts_of(flow.parameters):
        return findings, {}
    records = {topic: sum(log.size for partition, log in logs.items() if partition.topic == topic) for topic in absent}
    return findings, records


def long_names(policy: ReplicationPolicy, topics: Collection[str]) -> list[str]:
    """Return the topics whose names on the target would be longer than Kafka allows, sorted."""
    return sorted(topic for topic in topics if len(policy.remote(topic)) > LONGEST_NAME)


def _too_long(topics: Sequence[str], flow: FlowParameters) -> list[Finding]:
    if not topics:
        return []
    what = (
        f"{', '.join(topics)}: on {flow.target.alias} the name would be longer than {LONGEST_NAME} characters, which "
        "Kafka refuses. The task that is assigned such a topic fails, and the replication of all its topics stops"
    )
    return [fail("remote-name-too-long", what, len(topics))]


def colliding_names(policy: ReplicationPolicy, topics: Collection[str], on_target: Collection[str]) -> dict[str, str]:
    """Return the topics whose remote topics cannot be created, with the topic of the target that prevents it."""
    return {topic: other for topic in topics for other in sorted(on_target) if collides(policy.remote(topic), other)}


def _colliding(colliding: Mapping[str, str], flow: FlowParameters) -> list[Finding]:
    if not colliding:
        return []
    named = ", ".join(
        f"{topic} (its remote topic {flow.replication_policy.remote(topic)} collides with {other})"
        for topic, other in sorted(colliding.items())
    )
    what = (
        f"{named}: {flow.target.alias} refuses to create a topic whose name differs from another only in dots and "
        "underscores. The task that is assigned such a topic tries again and again and reports RUNNING, while the "
        "other partitions of the task stand still"
    )
    return [fail("remote-name-collides", what, len(colliding))]


def left_out(flow: FlowParameters, on_source: Collection[str]) -> list[Finding]:
    """Return an error for topics that the flow names but MirrorMaker leaves out because of their names. A topic that
    really came from the target begins with the alias of a cluster.
    """
    policy = flow.replication_policy
    aliases = {flow.target.alias, *upstream_hops(on_source, flow.separator)}
    named = sorted(
        topic
        for topic in Selection(flow.topics, flow.topics_exclude).of(on_source)
        if matches(policy.came_from_target, topic)
        and not is_heartbeat_topic(topic, flow.separator)
        and topic.split(flow.separator)[0] not in aliases
    )
    if not named:
        return []
    what = (
        f"{', '.join(named)}: MirrorMaker never replicates a topic with this name. Because the name contains "
        f"{flow.target.alias} before a separator, the topic counts as a copy that came from {flow.target.alias}"
    )
    return [error("topic-left-out", what, len(named))]


_YOUNG = (
    "Nothing there is older than {:g} s (refreshTopicsSeconds), the time that the source connector may take to "
    "discover it"
)


def young_partitions(
    logs: Mapping[TopicPartition, OffsetRange], since: Mapping[TopicPartition, int]
) -> set[TopicPartition]:
    """Return the partitions that may be younger than a time: nothing was removed from them, and no record is older.

    `since` holds the first offset at or after that time; -1 if there is none.
    """
    return {partition for partition, log in logs.items() if log.start == 0 and (log.size == 0 or since[partition] == 0)}


def young_topics(missing: Collection[TopicPartition], young: Collection[TopicPartition]) -> set[str]:
    """Return the topics whose missing partitions may all be young."""
    old = {partition.topic for partition in missing if partition not in young}
    return {partition.topic for partition in missing} - old


def absent_topics(where: str, named: Mapping[str, str], young: Collection[str], refresh: float) -> Iterator[Finding]:
    """Yield the findings for topics without a remote topic on `where`; `named` has the names to show."""
    old = [name for topic, name in sorted(named.items()) if topic not in young]
    new = [name for topic, name in sorted(named.items()) if topic in young]
    if old:
        yield fail("topic-not-replicated", f"{where} has no remote topic for: {', '.join(old)}", len(old))
    if new:
        what = f"{where} has no remote topic yet for: {', '.join(new)}. {_YOUNG.format(refresh)}"
        yield error("not-discovered-yet", what, len(new))


def absent_partitions(
    partitions: Mapping[str, int],
    remote_partitions: Mapping[str, int],
    policy: ReplicationPolicy,
    young: Collection[TopicPartition],
    refresh: float,
) -> Iterator[Finding]:
    """Yield the findings for remote topics with fewer partitions than their source topics."""
    for topic, count in sorted(partitions.items()):
        remote = remote_partitions.get(policy.remote(topic), count)
        if remote < count:
            what = f"{topic} has {count} partitions on the source and {remote} on the target"
            missing = {TopicPartition(topic, number) for number in range(remote, count)}
            if young_topics(missing, young):
                yield error("not-discovered-yet", f"{what}. {_YOUNG.format(refresh)}", count - remote)
            else:
                yield fail("partitions-not-replicated", what, count - remote)


def foreign_topic_findings(flow: OpenFlow) -> Iterator[Finding]:
    """Yield one note per topic. None for a flow with a guard, because there each side has topics of its own by design.

    MirrorMaker adds partitions that are missing on the target; it leaves surplus ones alone.
    Source: MirrorSourceConnector.createNewPartitions.
    """
    if flow.parameters.guard is not None:
        return
    source, target = flow.parameters.source.alias, flow.parameters.target.alias
    policy, selection = flow.policy, flow.parameters.topic_selection
    for name in sorted(flow.target_topics):
        topic = policy.original(name)
        if name == policy.remote(topic) and topic in selection and topic not in flow.source_topics:
            what = (
                f"{name} on {target} is named like the remote topic of {topic} in {flow.name}, but the user sees no "
                f"topic {topic} on {source}. Somebody created {name} by hand, or deleted {topic}"
            )
            yield note("foreign-topic", what)
    for topic, count in sorted(flow.partitions.items()):
        remote = policy.remote(topic)
        there = flow.remote_partitions.get(remote, 0)
        if there > count:
            what = (
                f"{remote} has {there} partitions on {target}, but {topic} has only {count} on {source}. Nothing is "
                "replicated to the surplus partitions: somebody created or extended the topic by hand"
            )
            yield note("foreign-partitions", what, there - count)


_NO_AUTHORIZER = "authorizer-off"


def topic_setting_findings(flow: OpenFlow) -> Iterator[Finding]:
    """Findings for configuration and ACLs that differ although the flow copies them, or that could not be read."""
    sync = flow.parameters.topic_sync
    if sync is None:
        return
    if (excluded := sync.configs_exclude) is not None:
        yield from _readable("configuration", lambda: _configs(flow, excluded))
    if sync.acls:
        yield from _readable("ACLs", lambda: _acls(flow))


def _readable(what: str, find: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return find()
    except ClusterError as raised:
        why = (
            f"the {what} of topics could not be read, so the job cannot know whether remote topics have the {what} "
            "that the flow copies"
        )
        return [error("topic-settings-not-visible", f"{why}: {raised.what}, at {raised.where}")]


def _configs(flow: OpenFlow, excluded: Sequence[str]) -> list[Finding]:
    remotes = _remotes(flow)
    here, there = flow.source.settings(remotes), flow.target.settings(remotes.values())
    differences = {topic: config_differences(here[topic], there[remote], excluded) for topic, remote in remotes.items()}
    return config_findings(differences, remotes, flow.parameters.target.alias)


def _acls(flow: OpenFlow) -> list[Finding]:
    remotes = _remotes(flow)
    try:
        here = flow.source.topic_acls()
    except ClusterError as raised:
        if raised.code != _NO_AUTHORIZER:
            raise
        # The connector then copies nothing. Source: MirrorSourceConnector.listTopicAclBindings.
        return []
    missing = missing_acls(here, flow.target.topic_acls(), remotes)
    return acl_findings(missing, flow.parameters.target.alias)


def _remotes(flow: OpenFlow) -> dict[str, str]:
    """Return the remote topics that exist, by source topic."""
    named = {topic: flow.policy.remote(topic) for topic in flow.partitions}
    return {topic: remote for topic, remote in named.items() if remote in flow.remote_partitions}


def config_findings(
    differences: Mapping[str, Sequence[ConfigDifference]], remotes: Mapping[str, str], target: str
) -> list[Finding]:
    """Return one error for all topics whose configuration differs; `differences` and `remotes` are by source topic."""
    differing = {topic: difference for topic, difference in sorted(differences.items()) if difference}
    if not differing:
        return []
    examples = "; ".join(
        f"{remotes[topic]}: {', '.join(map(_said, differing_settings))}"
        for topic, differing_settings in list(differing.items())[:SAMPLES]
    )
    what = numbered(len(differing), "remote topic[|s] on ") + target
    has = agreeing(len(differing), "[does|do] not have the configuration that the flow copies from the source")
    return [error("topic-config-differs", f"{what} {has}: {examples}", len(differing))]


def _said(difference: ConfigDifference) -> str:
    wanted = "the broker's default" if difference.wanted is None else difference.wanted
    return f"{difference.name} is {difference.found} instead of {wanted}"


def acl_findings(missing: Sequence[AclEntry], target: str) -> list[Finding]:
    """Return one error for all ACLs of remote topics that the flow should have copied."""
    if not missing:
        return []
    examples = "; ".join(
        f"{acl.name}: {acl.permission.lower()} {operation_title(acl.operation)} to {acl.principal} from {acl.host}"
        for acl in missing[:SAMPLES]
    )
    count = numbered(len(missing), "ACL[|s] that the flow copies [is|are] missing on ")
    return [error("topic-acls-differ", f"{count}{target}: {examples}", len(missing))]


def known_ids(before: TopicIds, now: TopicIds) -> int:
    """Return how many topics of both clusters the last published verdict knew."""
    return sum(len(ids.keys() & before.get(alias, {}).keys()) for alias, ids in now.items())


def recreated_topics(before: TopicIds, now: TopicIds, alias: str) -> list[str]:
    """Return the topics of a cluster that have another id than in the last published verdict, sorted."""
    known = before.get(alias, {})
    return sorted(topic for topic, topic_id in now.get(alias, {}).items() if known.get(topic, topic_id) != topic_id)


def recreated_findings(before: TopicIds, now: TopicIds) -> Iterator[Finding]:
    """Yield one note per cluster: a cause, since other checks say what is missing or wrong."""
    for alias in now:
        anew = recreated_topics(before, now, alias)
        if anew:
            what = agreeing(len(anew), "[was|were] deleted and created again")
            since = f"on {alias} since the last validation. Offsets from before belong to other records"
            yield note("topic-recreated", f"{', '.join(anew[:SAMPLES])} {what} {since}", len(anew))
