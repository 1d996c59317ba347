"""Reads both sides of partitions, as one frame or as sums. `target` is always by source partition."""

from collections.abc import Mapping
from contextlib import suppress

from pyspark.sql import DataFrame

from components.contract.wording import numbered
from components.kafka.positions import TopicPartition
from spark import readers, transforms
from spark.checks.few_records import BySide, LeftToSparkError, Ranges, are_few, sums_of_few
from spark.checks.sums import Sums
from spark.estimates import estimates
from spark.flows import OpenFlow
from spark.guards import SOURCE, TARGET

#: The source partition of each partition of a side.
Named = Mapping[str, Mapping[TopicPartition, TopicPartition]]


def both_clusters(flow: OpenFlow) -> str:
    return f"{flow.source.where} and {flow.target.where}"


def both_sides(flow: OpenFlow, source: Ranges, target: Ranges) -> DataFrame:
    """The digests of both sides' records in one frame, so that a single Spark job reads them."""
    here = flow.digests(flow.read(flow.source, source), SOURCE)
    return here.unionByName(flow.digests(flow.read(flow.target, _remote(flow, target)), TARGET))


def sums_of_both(flow: OpenFlow, source: Ranges, target: Ranges) -> BySide:
    """The sums of both sides by source partition, like `target`; none for a partition without records."""
    if not flow.spark.running and are_few(flow.parameters, source, target):
        with suppress(LeftToSparkError):
            return sums_of_few(flow, source, target)
    frame, named = _summed(flow, source, target)
    found: BySide = {SOURCE: {}, TARGET: {}}
    with estimates(
        flow.spark.session, flow.progress, f"{flow.name}: comparing {numbered(len(source), 'partition[|s]')}"
    ):
        rows = readers.rows(frame, both_clusters(flow), "reading the records of both sides")
    for row in rows:
        found[row.side][named[row.side][TopicPartition(row.topic, row.partition)]] = Sums(
            row.records,
            row.low,
            row.high,
            row.aside,
            row.looped,
            row.oldest_ms,
            row.newest_ms,
            row.low_placed,
            row.high_placed,
            row.first,
            row.low_aside,
            row.high_aside,
            row.filtered,
        )
    return found


def _summed(flow: OpenFlow, source: Ranges, target: Ranges) -> tuple[DataFrame, Named]:
    """The sums of each partition, by the topic's name on its own cluster, and the source partition of each by side.

    Only the sums are renamed: renaming each record costs more than adding it up.
    """
    sides = ((SOURCE, flow.source, source), (TARGET, flow.target, _remote(flow, target)))
    digests = {side: flow.digests(flow.read(at, ranges), side, own_names=True) for side, at, ranges in sides}
    remote = {flow.policy.remote_partition(each): each for each in target}
    return transforms.sums_by_side(digests), {SOURCE: {each: each for each in source}, TARGET: remote}


def _remote(flow: OpenFlow, target: Ranges) -> Ranges:
    return {flow.policy.remote_partition(each): offsets for each, offsets in target.items()}
