"""Transactions that nobody has ended: what a log holds from there on, a read_committed consumer cannot read.

A producer that was killed leaves one behind, until another of its transactional id or its timeout ends it. Whoever
compares committed records only would otherwise judge what lies before it, and find everything equal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark.clusters import Cluster
from spark.flows import OpenFlow
from spark.positions import OffsetRange, TopicPartition
from spark.report import SAMPLES, Finding, error
from spark.waiting import wait_until

CODE = "open-transaction"


@dataclass(frozen=True)
class Settled:
    """The logs of partitions as a read_committed consumer has them, and of those with a transaction that was open too
    long the offsets which such a consumer could not read."""

    logs: Mapping[TopicPartition, OffsetRange]
    unread: Mapping[TopicPartition, OffsetRange]


def settled(
    opened: OpenFlow, cluster: Cluster, partitions: Iterable[TopicPartition], deadline_seconds: float
) -> Settled:
    """The logs when every transaction is over that was open at first; or at the deadline, as far as they are."""
    wanted = list(partitions)
    written = cluster.high_watermarks(wanted)
    logs = cluster.offsets(wanted)

    def over() -> bool:
        nonlocal logs
        logs = cluster.offsets(wanted)
        return not unread(logs, written)

    if hidden := unread(logs, written):
        opened.progress(
            f"{opened.flow.name}: waiting up to {deadline_seconds:.0f} s for open transactions in {len(hidden)} "
            f"partitions, on {cluster.where}"
        )
        wait_until(over, deadline_seconds)
    return Settled(logs, unread(logs, written))


def unread(
    logs: Mapping[TopicPartition, OffsetRange], written: Mapping[TopicPartition, int]
) -> dict[TopicPartition, OffsetRange]:
    """The offsets before `written`, the high watermark at an earlier time, that a log does not show as committed."""
    return {each: OffsetRange(logs[each].end, end) for each, end in written.items() if logs[each].end < end}


def open_transaction_findings(hidden: Mapping[TopicPartition, OffsetRange], alias: str) -> list[Finding]:
    """One error a topic of the cluster `alias` for offsets that could not be read, by the topic's name there."""
    topics: dict[str, dict[int, OffsetRange]] = {}
    for partition, offsets in sorted(hidden.items()):
        topics.setdefault(partition.topic, {})[partition.partition] = offsets
    return [error(CODE, _message(topic, found, alias), _offsets(found)) for topic, found in topics.items()]


def _message(topic: str, found: Mapping[int, OffsetRange], alias: str) -> str:
    where = "; ".join(
        f"partition {number} from offset {offsets.start} on, {offsets.size} offsets"
        for number, offsets in list(found.items())[:SAMPLES]
    )
    some = next(iter(found))
    return (
        f"{topic} on {alias}: {_offsets(found)} offsets in {len(found)} partitions cannot be read ({where}), so that "
        "their records could not be judged: a transaction was still open there when the time to catch up was over. Its "
        "producer died or holds it long, and until it is committed or aborted every read_committed consumer waits "
        f"there, an exactly-once source connector too. Remedy: find the producer with kafka-transactions.sh "
        f"describe-producers --topic {topic} --partition {some}; end its transaction, wait for its "
        f"transaction.timeout.ms, or abort it with kafka-transactions.sh abort --topic {topic} --partition {some} "
        f"--start-offset {found[some].start}; then validate again"
    )


def _offsets(found: Mapping[int, OffsetRange]) -> int:
    return sum(offsets.size for offsets in found.values())
