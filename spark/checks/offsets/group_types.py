"""Groups that the flow selects and MirrorMaker does not translate, because they are no consumer groups. Pure.

Source: MirrorCheckpointConnector.listConsumerGroups.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import SAMPLES, Finding, error, note
from kafka_replication.components.contract.wording import agreeing, named
from kafka_replication.components.kafka.positions import TopicPartition

_ONLY = "MirrorMaker translates the offsets of consumer groups only"


@dataclass(frozen=True)
class OtherGroups:
    """The selected groups that are no consumer groups. `streams` has how many offsets each has committed on the flow's
    topics; `silent` have committed none at all: share groups keep theirs where other groups do not.
    """

    streams: Mapping[str, int] = field(default_factory=dict)
    silent: tuple[str, ...] = ()


def other_groups(commits: Mapping[str, Mapping[TopicPartition, int]], topics: Collection[str]) -> OtherGroups:
    """Return the groups by what they have committed; `topics` are the flow's.

    A group that has committed offsets on other topics only is none of the flow's affair.
    """
    ours = {
        group: sum(partition.topic in topics for partition in offsets) for group, offsets in sorted(commits.items())
    }
    return OtherGroups(
        {group: count for group, count in ours.items() if count},
        tuple(group for group in ours if not commits[group]),
    )


def not_translated(flow: FlowParameters, groups: OtherGroups) -> Iterator[Finding]:
    """Yield an error about groups that have no proven position on the target, and a note about share groups that only a
    pattern selects: nothing shows whether they consume the flow's topics.
    """
    if groups.streams:
        count, target = len(groups.streams), flow.target.alias
        are = agreeing(count, "[is a streams group|are streams groups]")
        has = agreeing(count, "[It has|They have]")
        what = f"{named(groups.streams, SAMPLES)} {are} (`group.protocol=streams`). {_ONLY}. {has} no checkpoint"
        offsets = sum(groups.streams.values())
        yield error("streams-group", f"{what}, and no offset on {target} that the flow has written", offsets)
    by_name = tuple(group for group in groups.silent if group in flow.groups)
    if by_name:
        yield error("share-group", _silent(flow, by_name), len(by_name))
    if by_pattern := tuple(group for group in groups.silent if group not in by_name):
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
