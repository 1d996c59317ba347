"""Open transactions: a read_committed consumer cannot read the log from the first open transaction on.

A killed producer leaves a transaction open until its timeout, or until another producer with its transactional id ends
it. A comparison of committed records would see only what comes before it, and find everything equal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from components.contract.report import SAMPLES, Finding, error
from components.contract.wording import numbered
from components.kafka.positions import OffsetRange, TopicPartition
from spark.clusters import Cluster
from spark.flows import OpenFlow
from spark.waiting import wait_until

CODE = "open-transaction"


@dataclass(frozen=True)
class Settled:
    """The logs of partitions as a read_committed consumer sees them. `unread`: the offsets that such a consumer could
    not read, because a transaction was open too long."""

    logs: Mapping[TopicPartition, OffsetRange]
    unread: Mapping[TopicPartition, OffsetRange]


def settled(flow: OpenFlow, cluster: Cluster, partitions: Iterable[TopicPartition], deadline_seconds: float) -> Settled:
    """The logs once every transaction that was open at first has ended, or at the deadline."""
    wanted = list(partitions)
    written = cluster.high_watermarks(wanted)
    logs = cluster.offsets(wanted)

    def ended() -> bool:
        nonlocal logs
        logs = cluster.offsets(wanted)
        return not unread(logs, written)

    if hidden := unread(logs, written):
        flow.progress(
            f"{flow.name}: waiting up to {deadline_seconds:.0f} s for open transactions in "
            f"{numbered(len(hidden), 'partition[|s]')} on {cluster.where}"
        )
        wait_until(ended, deadline_seconds)
    return Settled(logs, unread(logs, written))


def unread(
    logs: Mapping[TopicPartition, OffsetRange], written: Mapping[TopicPartition, int]
) -> dict[TopicPartition, OffsetRange]:
    """The offsets that `logs` do not show as committed, up to `written`, an earlier high watermark."""
    return {each: OffsetRange(logs[each].end, end) for each, end in written.items() if logs[each].end < end}


def open_transaction_findings(hidden: Mapping[TopicPartition, OffsetRange], alias: str) -> list[Finding]:
    """One error per topic of the cluster `alias` for offsets that could not be read; topics are named as there."""
    topics: dict[str, dict[int, OffsetRange]] = {}
    for partition, offsets in sorted(hidden.items()):
        topics.setdefault(partition.topic, {})[partition.partition] = offsets
    return [error(CODE, _message(topic, found, alias), _offsets(found)) for topic, found in topics.items()]


def _message(topic: str, found: Mapping[int, OffsetRange], alias: str) -> str:
    where = "; ".join(
        f"partition {number} from offset {offsets.start} on, {numbered(offsets.size, 'offset[|s]')}"
        for number, offsets in list(found.items())[:SAMPLES]
    )
    some = next(iter(found))
    return (
        f"{topic} on {alias}: {numbered(_offsets(found), 'offset[|s]')} in {numbered(len(found), 'partition[|s]')} "
        f"cannot be read ({where}), so records there were not checked. A transaction was still open there when the "
        "time to catch up ended. Its producer died, or keeps it open for a long time. Until it is committed or "
        "aborted, every read_committed consumer waits there, and so does an exactly-once source connector. Remedy: "
        f"find the producer with kafka-transactions.sh describe-producers --topic {topic} --partition {some}. End its "
        "transaction, wait for its transaction.timeout.ms, or abort it with kafka-transactions.sh abort --topic "
        f"{topic} --partition {some} --start-offset {found[some].start}. Then validate again"
    )


def _offsets(found: Mapping[int, OffsetRange]) -> int:
    return sum(offsets.size for offsets in found.values())
