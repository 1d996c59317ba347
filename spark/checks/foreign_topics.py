"""Topics on the target that look like remote topics but have no source topic: created by hand, or left behind. Pure.

They are notes of parity: the source has nothing to compare them with, and replication is not at fault.
"""

from collections.abc import Collection, Mapping

from components.contract.parameters import FlowParameters
from components.contract.report import Finding, note


def foreign_topic_findings(
    flow: FlowParameters,
    on_source: Collection[str],
    on_target: Collection[str],
    partitions: Mapping[str, int],
    remote_partitions: Mapping[str, int],
) -> list[Finding]:
    """One note per topic. None for a flow with a guard, because there each side has topics of its own by design.

    `partitions` holds the number of partitions of each selected source topic, `remote_partitions` that of each remote
    topic. MirrorMaker adds partitions that are missing on the target; it leaves surplus ones alone.
    Source: MirrorSourceConnector.createNewPartitions.
    """
    if flow.guard is not None:
        return []
    source, target = flow.source.alias, flow.target.alias
    found = []
    policy, selection = flow.replication_policy, flow.topic_selection
    for name in sorted(on_target):
        topic = policy.original(name)
        if name == policy.remote(topic) and topic in selection and topic not in on_source:
            what = (
                f"{name} on {target} is named like the remote topic of {topic} in {flow.name}, but the user sees no "
                f"topic {topic} on {source}. Somebody created {name} by hand, or deleted {topic}"
            )
            found.append(note("foreign-topic", what))
    for topic, count in sorted(partitions.items()):
        remote = policy.remote(topic)
        there = remote_partitions.get(remote, 0)
        if there > count:
            what = (
                f"{remote} has {there} partitions on {target}, but {topic} has only {count} on {source}. Nothing is "
                "replicated to the surplus partitions: somebody created or extended the topic by hand"
            )
            found.append(note("foreign-partitions", what, there - count))
    return found
