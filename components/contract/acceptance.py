"""Which findings of the validation job a topology may accept, by name and with a reason. Pure.

A finding may be accepted if it says that something could not be judged. A fault that the job has found cannot be
accepted; it must be corrected. May be imported by anything; imports nothing of ours but the report.
"""

from collections.abc import Mapping
from dataclasses import replace

from components.contract.report import CheckOutcome, Finding, Severity

#: Code of a finding -> what is assumed if it is accepted.
ACCEPTABLE: Mapping[str, str] = {
    "acl-of-hosts": "the workers' hosts are among those that the ACLs allow",
    "acls-not-visible": "the flow's users may do what the flow needs",
    "behind-oldest-sync": "these groups start on the target without an offset",
    "committed-past-end": "these groups are not in use",
    "compacted": "each side holds the newest record of every key",
    "connectors-not-visible": "the flow's connectors run",
    "duplicated-exactly-once": "the duplicates are from before exactly-once delivery was enabled",
    "filtered-on-target": "these records were replicated before the filters were set",
    "empty-range": "the flow works although its topics hold no records",
    "groups-not-visible": "the groups' offsets are translated, or they have been deleted",
    "losses-not-visible": "no record was removed before it was replicated",
    "no-offset-sync": "these groups start on the target without an offset",
    "nothing-proven": "offsets are translated correctly although no record shows it",
    "possible-markers": "the missing offsets were transaction markers, or records that were aborted, compacted or "
    "dropped by transforms",
    "principal-unknown": "the flow's users may do what the flow needs",
    "principal-without-acls": "the flow's users may do what the flow needs",
    "records-not-compared": "the flow's transforms change and drop only what they are meant to",
    "source-expired": "the offsets whose records have expired on the source are right",
    "source-record-not-found": "the offsets whose records were not found are right",
    "target-empty": "the offsets in emptied partitions are right",
    "topic-acls-differ": "consumers of the target do not need these ACLs",
    "topic-config-differs": "these topics are meant to differ on the target",
    "topic-settings-not-visible": "remote topics have the settings that the flow copies",
    "topic-left-out": "consumers do not need these topics on the target",
    "target-expired": "these groups have nothing left to read before the target's first record",
}
#: Findings that no topology can accept.
NOT_ACCEPTABLE = frozenset(
    {
        *("aborted-records", "acl-denied", "acl-missing", "acl-narrower", "authorizer-off", "before-the-start"),
        *("compacted-apart", "compared-in-full", "keys-outdated", "keys-undeleted", "marked-elsewhere"),
        *("ca-bundle-cut", "checkpoint-ahead", "checkpoint-behind", "checkpoint-missing", "checkpoint-past-end"),
        *("checkpoints-without-task", "connector-failed", "connector-missing", "connector-not-reported"),
        *("connector-stopped", "connector-without-task"),
        *("checkpoint-undecodable", "clocks-differ", "duplicated-records", "expired-on-source"),
        *("expired-on-target", "extra-records", "foreign-partitions", "foreign-topic", "group-active"),
        *("group-before-the-start", "group-excluded", "group-not-synced", "group-past-translation", "heartbeat-gap"),
        "group-offsets-not-copied",
        *("headers-not-compared", "records-filtered"),
        *("heartbeat-stale", "heartbeat-topic-missing", "heartbeat-undecodable", "heartbeats-of-workers"),
        *("lost-to-retention", "missing-records", "no-commit", "no-group-selected", "no-heartbeat"),
        *(
            "not-discovered-yet",
            "not-replicated-yet",
            "nothing-arrived",
            "nothing-of-its-own",
            "nothing-since-the-start",
        ),
        *("offset-skips-records", "open-to-all", "open-transaction", "part-behind", "part-without-topic"),
        *("partitions-not-replicated", "records-differ", "records-loop", "records-not-judged", "records-repeated"),
        *(
            "records-reordered",
            "records-unmarked",
            "remote-topic-recreated",
            "remote-name-too-long",
            "heartbeats-shared",
            "order-not-proven",
            "own-records-not-judged",
            "group-left-out",
            "source-topic-recreated",
            "start-not-proven",
            "stored-past-end",
            "tail-not-proven",
            "topic-in-no-part",
            "topic-in-two-parts",
            "topic-recreated",
            "topic-not-replicated",
        ),
        *("translated-record-differs", "upstream-clusters"),
    }
)


def accepting(outcome: CheckOutcome, reasons: Mapping[str, str]) -> CheckOutcome:
    """The outcome with the findings that the topology accepts; `reasons` holds the topology's reasons by code."""
    return replace(outcome, findings=tuple(_accepted(each, reasons) for each in outcome.findings))


def _accepted(finding: Finding, reasons: Mapping[str, str]) -> Finding:
    reason = reasons.get(finding.code)
    if reason is None or finding.code not in ACCEPTABLE or finding.severity is not Severity.ERROR:
        return finding
    return replace(finding, severity=Severity.ACCEPTED, accepted=reason)
