"""Topics on the target that have a remote topic's name and do not come from the source: made by hand, or left behind.

Notes of parity: there is nothing to compare them with, and what is on the source is not wrong. They are found here, as
the job's users may describe already what the flow selects on either side. Pure.
"""

from collections.abc import Collection, Mapping

from spark.report import Finding, note
from spark.selection import Selection


def foreign_topic_findings(
    selection: Selection,
    on_source: Collection[str],
    on_target: Collection[str],
    partitions: Mapping[str, int],
    remote_partitions: Mapping[str, int],
) -> list[Finding]:
    """One note for each topic; none behind a guard, where either side has topics of its own by design.

    `partitions` are numbers of partitions of the selected topics of the source, `remote_partitions` of those of the
    target, by their name there. Fewer partitions than on the source are made up by MirrorMaker; more stay.
    Source: MirrorSourceConnector.createNewPartitions.
    """
    flow = selection.flow
    if flow.guard is not None:
        return []
    source, target = flow.source.alias, flow.target.alias
    found = []
    for name in sorted(on_target):
        topic = selection.original(name)
        if name == selection.remote(topic) and selection.topic(topic) and topic not in on_source:
            what = (
                f"{name} on {target} has the name of {flow.name}'s remote topic of {topic}, but {source} has no such "
                f"topic that the user may describe: it was made by hand, or {topic} was deleted there"
            )
            found.append(note("foreign-topic", what))
    for topic, count in sorted(partitions.items()):
        remote = selection.remote(topic)
        there = remote_partitions.get(remote, 0)
        if there > count:
            what = (
                f"{remote} has {there} partitions on {target}, and {topic} only {count} on {source}: nothing is "
                "replicated to the others, so the topic was made or extended by hand"
            )
            found.append(note("foreign-partitions", what, there - count))
    return found
