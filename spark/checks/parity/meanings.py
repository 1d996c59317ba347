"""Names and severity of the differences between the two sides of a partition."""

from functools import partial
from typing import NamedTuple

from kafka_replication.components.contract.report import FindingSeverity
from kafka_replication.components.contract.wording import numbered


class Meaning(NamedTuple):
    """`text` follows the number of records or keys; it has choices as in `wording.agreeing`, and the clusters' names in
    braces."""

    severity: FindingSeverity
    code: str
    text: str

    def sentence(self, count: int, **names: str) -> str:
        return numbered(count, self.text).format(**names)


fail, error, note = (
    partial(Meaning, severity) for severity in (FindingSeverity.FAIL, FindingSeverity.ERROR, FindingSeverity.NOTE)
)

MISSING = fail("missing-records", "record[|s] of {source} [is|are] missing on {target}")
EXTRA = fail(
    "extra-records",
    "record[|s] on {target} [does|do] not exist on {source}: something other than the flow wrote [it|them]",
)
MARKED_ELSEWHERE = fail(
    "marked-elsewhere",
    "record[|s] on {target} [carries|carry] the mark of {source}, which has no such record. The guard of the other "
    "direction treats [it as a copy, so it is never replicated|them as copies, so they are never replicated] to "
    "{source}",
)
EXPIRED_ON_TARGET = note("expired-on-target", "record[|s] [has|have] already expired on {target}")
EXPIRED_OR_LOST = error(
    "losses-not-visible",
    "record[|s] of {source} [is|are] missing on {target}, which has removed records. It also has records of its "
    "own, so the job cannot know whether [it was|they were] ever replicated",
)
EXPIRED_OR_NEVER_CAME = error(
    "losses-not-visible",
    "record[|s] of {source} [is|are] missing on {target}, which has removed records. The topic was deleted and created "
    "again on {source}, so {target} may have removed only records from before that",
)
EXPIRED_ON_SOURCE = note("expired-on-source", "record[|s] on {target} [has|have] already expired on {source}")
LAGGING = fail("not-replicated-yet", "record[|s] at the end of the log on {source} [has|have] not reached {target}")
REMADE = fail(
    "remote-topic-recreated",
    "record[|s] of {source} [is|are] missing on {target}, whose log ends before records that the flow wrote there: "
    "the remote topic was deleted and created again, or truncated. The connector does not send [it|them] a second "
    "time by itself",
)
DIFFERENT = fail(
    "records-differ",
    "record[|s] of {source} [differs|differ] on {target} in key, value, headers or timestamp: a converter or a "
    "transform changes [it|them], the remote topic sets the timestamp on arrival, somebody replaced [it|them], or the "
    "topic was deleted and created again on {source}",
)
NOT_OF_NEW_SOURCE = fail(
    "source-topic-recreated",
    "record[|s] of {source} [is|are] missing on {target}: the topic was deleted and created again on "
    "{source}, or lost its newest records there, and the connector continued at the offset where it had stopped",
)
OF_OLD_SOURCE = fail(
    "source-topic-recreated",
    "record[|s] on {target} [is|are] from before the topic was deleted and created again on {source}, or lost its "
    "newest records there: a consumer that moves reads [it|them] before the new ones",
)
ABORTED = fail(
    "aborted-records",
    "record[|s] on {target} [belongs to a transaction that was|belong to transactions that were] aborted on {source}."
    " The source connector reads uncommitted records, and every consumer of {target} sees [it|them]",
)
# A restarted worker sends uncommitted records again. This must not make every later proof fail.
DUPLICATED = note(
    "duplicated-records",
    "record[|s] [is a duplicate|are duplicates] on {target}: delivery is at least once unless exactly-once is "
    "configured",
)
DUPLICATED_EXACTLY_ONCE = error(
    "duplicated-exactly-once",
    "record[|s] [is a duplicate|are duplicates] on {target}, although the flow delivers exactly once: [it is|they "
    "are] from before `exactlyOnce` was enabled, or exactly-once delivery does not work",
)
REORDERED = fail(
    "records-reordered",
    "record[|s] [is|are] out of order on {target}: a consumer that moves from {source} would skip records "
    "there, or read them again, wherever it starts",
)
# When records were sent again, retention or compaction may have removed the first copies of only some of them.
ORDER_NOT_PROVEN = error(
    "order-not-proven",
    "record[|s] [is|are] out of order on {target}. The flow was restarted and sent records again, and {target} "
    "has removed records since, which may explain it",
)
OUT_OF_TURN = fail(
    "copied-out-of-turn",
    "block[|s] of older records [appears|appear] again on {target}, and [ends|end] without the records that follow on "
    "{source}, so consumers of {target} may end with old values. A restarted task sends those again too, but they have "
    "not arrived: it has not continued, or something else wrote the [block|blocks], such as a worker that was cut off "
    "from its group and sent an old batch late",
)
REPEATED = fail(
    "records-repeated",
    "record[|s] [is a duplicate|are duplicates], at least half of what {target} holds: two connectors replicate the "
    "topic, or it loops",
)
UNMARKED = fail(
    "records-unmarked",
    "record[|s] [is|are] on both {source} and {target}, but without a mark: a connector between the clusters "
    "runs without its guard, and nothing stops [the record|the records] from returning",
)
COMPACTED = error(
    "compacted",
    "key[|s] of a compacted topic [has|have] a different newest record on {target} than on {source}. The job "
    "cannot judge [it|them]: records were also deleted by age or by hand, the key is written on both sides, or the "
    "flow's start is unknown",
)
COMPACTED_APART = note(
    "compacted-apart",
    "older record[|s] of keys [is|are] on one side only, because each side compacts at its own pace. The newest "
    "record of each key was compared",
)
NEWEST_MISSING = fail(
    "missing-records",
    "record[|s] of {source} [is|are] missing on {target}, [|each ]the newest of its key in a compacted topic",
)
NEWEST_OUTDATED = fail(
    "keys-outdated",
    "key[|s] [has|have] a different value on {target} than on {source}: the newest record of [the|each] key, "
    "which compaction never removes, is not the same",
)
NEWEST_UNDELETED = fail(
    "keys-undeleted",
    "key[|s] still [has|have] a value on {target}, although {source} has deleted [it: its tombstone|them: their "
    "tombstones] never arrived",
)
NEWEST_FOREIGN = fail(
    "keys-undeleted",
    "key[|s] [has|have] a value on {target}, although {source} has no record of [it: its tombstone|them: their "
    "tombstones] never arrived and [has|have] expired on {source}, or something other than the flow wrote the "
    "[key|keys]",
)
# A source connector reads uncommitted records unless its consumer is configured otherwise.
UNDECIDED = note(
    "records-not-judged",
    "record[|s] on {target} [is|are] not judged, because [it|they] may belong to a transaction that is open on "
    "{source}",
)
BEFORE_START = note(
    "before-the-start",
    "record[|s] [is|are] only on {source}, before the first replicated record: the flow starts at latest",
)
BEFORE_START_OR_EXPIRED = note(
    "before-the-start",
    "record[|s] [is|are] only on {source}, before the first record that {target} still holds: the flow starts at "
    "latest, and records have expired on {target} since",
)
NOT_BEGUN = note(
    "nothing-since-the-start",
    "record[|s] [is|are] only on {source}, and older than everything that the flow has replicated, so [it is|they "
    "are] before its start. [Its partition has|Their partitions have] never been replicated: the next record there "
    "will show whether the flow replicates [this partition|these partitions]",
)
UNPROVEN = error(
    "start-not-proven",
    "record[|s] [is|are] only on {source}, in partitions that have never been replicated. The job cannot know whether"
    " [it is|they are] from before the flow's start or lost",
)
# For a quick validation, which reads few records of the target.
TAIL_NOT_PROVEN = error(
    "tail-not-proven",
    "record[|s] among the newest of {source} [was|were] not found where {target} should hold [it|them]. This "
    "does not prove a loss: {target} holds too many records there, or records were removed or compacted",
)
# For records that carry the mark of a guard: `{mark}` is that of this flow, `{filter}` that of the other direction.
MARKED_ON_SOURCE = fail(
    "marked-elsewhere",
    "record[|s] on {source} [carries|carry] the mark of {target} ({filter}), but {target} has no such record. The "
    "guard treats [it as a copy, so it is never replicated|them as copies, so they are never replicated] to {target}",
)
MARKED_ON_TARGET = fail(
    "marked-elsewhere",
    "record[|s] on {target} [carries|carry] both {filter} and {mark}, but {source} has no such record. The guard of "
    "the other direction treats [it as a copy, so it is never replicated|them as copies, so they are never replicated] "
    "to {source}",
)
WENT_ROUND = fail(
    "records-loop",
    "record[|s] on {target} [carries|carry] both {filter} and {mark}. [It|They] went {target} -> {source} -> {target}, "
    "although the guard should have dropped [it|them]",
)
