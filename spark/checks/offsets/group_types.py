"""Groups that the flow selects and MirrorMaker does not translate, because they are no consumer groups. Pure.

Source: MirrorCheckpointConnector.listConsumerGroups.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import SAMPLES, Finding, error, note
from kafka_replication.components.contract.wording import agreeing, named
from kafka_replication.components.kafka.positions import TopicPartition

_ONLY = "MirrorMaker translates the offsets of consumer groups only"


def not_translated(
    flow: FlowParameters, commits: Mapping[str, Mapping[TopicPartition, int]], topics: Collection[str]
) -> Iterator[Finding]:
    """Yield an error about groups that have no proven position on the target, and a note about share groups that only a
    pattern selects: nothing shows whether they consume the flow's topics.

    `commits` has the selected groups, `topics` the flow's. A group that has committed offsets on other topics only is
    none of the flow's affair. Share groups keep theirs where other groups do not, so they seem to have none at all.
    """
    counts = {group: sum(partition.topic in topics for partition in commits[group]) for group in sorted(commits)}
    streams = {group: count for group, count in counts.items() if count}
    if streams:
        are = agreeing(len(streams), "[is a streams group|are streams groups]")
        has = agreeing(len(streams), "[It has|They have]")
        what = f"{named(streams, SAMPLES)} {are} (`group.protocol=streams`). {_ONLY}. {has} no checkpoint"
        without = f"{what}, and no offset on {flow.target.alias} that the flow has written"
        yield error("streams-group", without, sum(streams.values()))
    silent = [group for group in counts if not commits[group]]
    if by_name := [group for group in silent if group in flow.groups]:
        yield error("share-group", _silent(flow, by_name), len(by_name))
    if by_pattern := [group for group in silent if group not in by_name]:
        unknown = "nothing shows whether they consume topics of the flow"
        yield note("share-group-selected", f"{_silent(flow, by_pattern)}; {unknown}", len(by_pattern))


def _silent(flow: FlowParameters, groups: Sequence[str]) -> str:
    count = len(groups)
    are = agreeing(count, "[is a share group, or a streams group|are share groups, or streams groups]")
    begin = agreeing(count, "[a share group begins|share groups begin]")
    return (
        f"{named(groups, SAMPLES)} {are} without a committed offset. {_ONLY}: on {flow.target.alias}, {begin} where "
        "`share.auto.offset.reset` says"
    )
