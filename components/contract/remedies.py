"""What to do about each finding of a check, by its code. Pure.

Some checks write a remedy into the message themselves, because it depends on what they found. Those messages are kept.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.report import (
    ACCEPTABLE,
    CheckName,
    CheckOutcome,
    Finding,
    FindingSeverity,
    Verdict,
)

MARK = "Remedy: "
#: What to do if something of the flow does not arrive: `_standstill` fills it in, from what the flow's checks found.
_RUNS = "{standstill}"
_NOT_REFUSED = "No permission is refused"
#: Findings of other checks that may be the cause.
_CAUSES = frozenset({"connector-failed", "connector-missing", "connector-stopped", "acl-missing", "acl-denied"})
#: With these notes, heartbeats do not show that this flow's connectors can log in.
_NOT_OF_THE_FLOW = frozenset({"heartbeats-shared", "heartbeats-of-workers"})
#: A replicated record of this age or less shows that the logins of the flow still work.
_RECENT_SECONDS = 60
_AGAIN = "validate again: `replicate validate {validated} --flow {flow}`"
_START_OVER = (
    "find out with `replicate diff {stack} --against cluster` whether the flow runs as declared. Do not fail over to "
    "{target} before this check passes"
)
_SET_OFFSET = (
    "set the group's offset on {target} by hand while no member of it runs: `kafka-consumer-groups "
    "--bootstrap-server {target_servers} --command-config admin.properties --group GROUP --topic TOPIC:PARTITION "
    "--reset-offsets --to-offset OFFSET --execute`"
)
_GROUP = "before a failover, " + _SET_OFFSET
_FIND_WRITER = (
    "find the producer that writes to the topic on {target} and stop it: only the flow may write to remote topics"
)
_RESEND = (
    "let the source connector send these partitions again: `replicate offsets {stack} {flow} set FILE`, where FILE "
    "says `offset: earliest` for each of them"
)
_DELETED = (
    "if the topic was deleted and created again on {source}, replicate it under another name or reset the connector's "
    "offsets; otherwise " + _START_OVER
)
_OR_ACCEPT = (
    ". If you know that {trust}, say so in the replication: `validation: {{accept: [{{finding: {code}, reason: …}}]}}`"
)

#: Notes that are only information.
_NOTHING_TO_DO = (
    *("authorizer-off", "before-the-start", "ca-bundle-cut", "checkpoints-without-task", "compacted-apart"),
    *("compared-in-full", "expired-on-source", "group-active", "group-before-the-start", "group-excluded"),
    *("headers-not-compared", "heartbeat-gap", "heartbeats-of-workers", "heartbeats-shared", "nothing-of-its-own"),
    *("nothing-since-the-start", "open-to-all", "records-filtered", "records-not-judged", "timestamps-not-compared"),
    "upstream-clusters",
)
#: Findings about something of the flow that does not arrive.
_STANDSTILL = (
    *("checkpoint-behind", "checkpoint-missing", "connector-without-task", "group-not-synced", "heartbeat-stale"),
    *("heartbeat-topic-missing", "no-heartbeat", "no-offset-sync", "nothing-arrived"),
)
#: Remedies by code.
REMEDIES: Mapping[str, str] = {
    **dict.fromkeys(_NOTHING_TO_DO, ""),
    **dict.fromkeys(_STANDSTILL, _RUNS),
    "acl-denied": "remove the denying ACL, or let the flow log in as a user that it does not cover",
    "acl-missing": "create the ACL that `replicate acls {stack} --commands` prints for it",
    "acl-narrower": "if these ACLs will not cover all topics and groups that the flow selects, create the ACLs that "
    "`replicate acls {stack} --commands` prints",
    "acl-of-hosts": "make sure that the ACLs allow it from the hosts of the Connect workers",
    "acls-not-visible": "allow the validation user DESCRIBE on the cluster, or compare the ACLs yourself with those of "
    "`replicate acls {stack} --commands`",
    "aborted-records": "set `exactlyOnce`, or `source.consumer.isolation.level: read_committed` in the source "
    "connector's `config`",
    "applications-cannot-start": "before a failover, run what `replicate ready {stack} {flow}` prints",
    "applications-not-judged": "ask those who run the applications, and judge again with `replicate ready {stack} "
    "{flow}`",
    "behind-oldest-sync": "let the group consume on {source} until it passes the next offset sync. A smaller "
    "`offset.lag.max` writes syncs more often",
    "checkpoint-ahead": "let the group consume on {source} up to the checkpoint. Otherwise it may skip the records in "
    "between on {target}, unless you set its offset there by hand",
    "checkpoint-past-end": "do not let groups start on {target} from this checkpoint. If the remote topic was deleted "
    "and created again, wait until new checkpoints are written, and "
    + _AGAIN
    + ". If you must fail over before this check passes, "
    + _SET_OFFSET,
    "checkpoint-undecodable": "find out what writes other records to the checkpoints topic on {target}, and stop it",
    "connector-failed": "correct what the cause names, deploy it with `replicate up {stack}` if the topology changed, "
    "and restart what failed: `replicate restart {stack} {flow}`",
    "connector-missing": "`replicate up {stack}`",
    "connector-not-reported": "wait until the operator has reconciled, two minutes by default, and " + _AGAIN,
    "connector-stopped": "`replicate resume {stack} {flow}` if somebody paused or stopped it; `replicate status "
    "{stack}` shows who. If the topology declares it, set `state: running` there, and `replicate up {stack}`",
    "copied-out-of-turn": "do not fail over to {target}. If a task has restarted and not caught up yet, wait for it, "
    "and " + _AGAIN + ". Otherwise find out what else writes to the remote topic there, such as a second connector or "
    "a worker that was cut off from its group. To correct the order for consumers, let the source connector send the "
    "later records again: `replicate offsets {stack} {flow} set FILE`",
    "connectors-not-visible": "let the job's account get KafkaConnectors and KafkaMirrorMaker2s in the flow's "
    "namespace, or name the kubeconfig of another account with --kubeconfig",
    "clocks-differ": "synchronize the clocks of this machine and of the Connect workers (NTP), and " + _AGAIN,
    "committed-past-end": "let a consumer of the group commit an offset on {source}, or reset the group there, and "
    + _AGAIN,
    "compacted": "compare the newest record of these keys yourself; report.json has samples with their offsets",
    "duplicated-records": "nothing, if consumers tolerate duplicates; otherwise set `exactlyOnce`",
    "duplicated-exactly-once": "report.json has samples of the duplicates with their timestamps. If these are later "
    "than the change to `exactlyOnce: enabled`, look for a second connector that replicates the topic",
    "empty-range": "produce a record to a topic of the flow on {source}, or correct the flow's `topics`, and " + _AGAIN,
    "expired-on-target": "if consumers of {target} still need them, set a longer `retention.ms` there and exclude it "
    "from the topic configuration that the flow copies",
    "extra-records": _FIND_WRITER,
    "filtered-on-target": "compare the timestamps of these records with the time at which `transforms` changed. If "
    "they are later, " + _FIND_WRITER,
    "foreign-partitions": "find out who added the partitions. Add partitions on {source} only: the flow then adds "
    "those that {target} lacks",
    "foreign-topic": "find out who uses the topic; if nobody does, delete it on {target}",
    "group-offsets-not-copied": "set `syncGroupOffsets: true`, or move the groups with `replicate failover {stack} "
    "{flow}`, which commits their offsets on {target}",
    "group-left-out": (
        "let the consumers use a group without a comma in its name, or exclude this group with `groupsExclude`. The "
        "flow then gives it no offset on {target}"
    ),
    "group-past-translation": _GROUP,
    "groups-not-visible": "allow the validation user DESCRIBE on the groups of {source}",
    "heartbeat-undecodable": "find out what writes other records to the heartbeat topic, and stop it",
    "keys-outdated": "write the newest record of each of these keys to the topic on {source} again. "
    "`replicate diff {stack} --against cluster` shows whether the flow runs as declared",
    "keys-undeleted": "write a tombstone (a record without a value) for each of these keys to the topic on {source}. "
    "If the keys were never there, " + _FIND_WRITER,
    "losses-not-visible": "give the topics on {source}, and in a `prefixlessPair` also on {target}, a `retention.ms` "
    "that is longer than the longest interruption that the flow must survive",
    "lost-to-retention": "the records are lost on {target}. Copy them from a backup if there is one, and give the "
    "topics on {source} a `retention.ms` that is longer than the longest interruption that the flow must survive",
    "marked-elsewhere": "find the producer that writes records with this header, which is reserved for the guards, and "
    "let it write them again without the header",
    "missing-records": "`replicate diff {stack} --against cluster` shows whether the flow runs as declared. The "
    "connector does not send these records again by itself. To get them, " + _RESEND + ". Records that have already "
    "arrived will then be duplicated",
    "no-commit": "let a consumer of these groups commit an offset on {source}, or correct the flow's `groups`",
    "no-group-selected": "correct the flow's `groups` (they are regular expressions that match whole names), or start "
    "a consumer of such a group on {source}; `replicate explain {stack} {flow} groups` shows the selection",
    "not-discovered-yet": "wait that long, and " + _AGAIN + ". If nothing changes: " + _RUNS,
    "not-replicated-yet": "wait and validate again: `replicate validate {validated} --flow {flow} --catch-up-seconds "
    "300`. If the number does not fall: " + _RUNS,
    "nothing-proven": "commit an offset on {source} after the start, wait for the next checkpoint, and " + _AGAIN,
    "offset-skips-records": "do not fail this group over by its checkpoint. " + _GROUP[0].upper() + _GROUP[1:],
    "open-transaction": "find its producer with `kafka-transactions.sh find-hanging`, and end it",
    "part-behind": "wait and " + _AGAIN + ". If it stays behind, give this connector more tasks: `tasksMax`",
    "part-without-topic": "correct the part's `topics`, if it is meant to replicate something",
    "own-records-not-judged": "if anything else writes to these topics on {target}, set "
    "`connectors.checkpoint.enabled: false` and remove the flow's `groups`; `replicate explain offsets-both-ways` says "
    "more",
    "partitions-not-replicated": _RUNS + ". The connector needs ALTER on the remote topic to add partitions",
    "possible-markers": "find out whether producers of the topic use transactions, whether the topic is compacted, and "
    "whether transforms of the flow drop records. If none of these is true, these records are lost on {target}",
    "order-not-proven": "compare the order of a few of these records on both sides. Once {target} has removed them, "
    + _AGAIN,
    "principal-unknown": "set `principal` in the `authentication` of that cluster, or the login itself if it has none, "
    "so that its ACLs can be judged",
    "principal-without-acls": "if it is not a super user, create the ACLs that `replicate acls {stack} --commands` "
    "prints",
    "records-differ": "remove the converter or transform, or set `message.timestamp.type=CreateTime` on the remote "
    "topic",
    "records-loop": "pause one direction at once (`replicate pause {stack} {flow}`), then use the default "
    "policy or a `prefixlessPair`, whose guard stops loops",
    "records-not-compared": "compare a sample of the records of both sides yourself",
    "records-reordered": "do not fail over to {target}. Find out whether a second connector replicates the topic, or "
    "the producer of the source connector has `max.in.flight.requests.per.connection` above 1 without idempotence",
    "records-repeated": "`replicate check` names flows of this project that overlap; otherwise list the connectors on "
    "every Connect cluster that writes to {target}, and stop the second one",
    "remote-name-collides": "if nobody needs the other topic on {target}, delete it: the task then goes on by itself. "
    "Otherwise exclude the topic with `topicsExclude` and deploy it with `replicate up {stack}`, or give it another "
    "name on {source}",
    "remote-name-too-long": "exclude each such topic with `topicsExclude`, deploy it with `replicate up {stack}`, and "
    "restart the tasks that are still failed: `replicate restart {stack} {flow}`. To replicate the topic, give it a "
    "shorter name on {source}",
    "remote-topic-recreated": _RESEND + ". Until this check passes, do not fail over to {target}",
    "records-unmarked": "find the connector between {source} and {target} that is not part of this project, and stop "
    "it. `replicate diff {stack} --against cluster` shows whether somebody edited a connector of this project",
    "share-group": "exclude the group with `groupsExclude`, or begin on {target} with `share.auto.offset.reset`",
    "share-group-selected": "exclude groups that do not consume the flow's topics with `groupsExclude`",
    "source-expired": "let the group consume and commit on {source}, wait for the next checkpoint, and " + _AGAIN,
    "source-record-not-found": "let the group consume and commit on {source}, wait for the next checkpoint, and "
    + _AGAIN,
    "source-topic-recreated": "delete the remote topic on {target} if nobody needs its old records, and " + _RESEND,
    "start-not-proven": "write a record to each of these partitions and " + _AGAIN + ". If this error returns, no task "
    "replicates them",
    "stored-past-end": "nothing if `parity` passes. If records are missing, " + _RESEND,
    "tail-not-proven": "compare all records: `replicate validate {validated} --flow {flow} --depth full`",
    "streams-group": "stop the application and move its group with `replicate failover {stack} {flow}`, which computes "
    "its offsets from records; the topics of its state stores must be replicated, too",
    "target-empty": "produce and consume records on {source}, wait for the next checkpoint, and " + _AGAIN,
    "target-expired": "let the group consume on {source} up to the records that {target} still holds, or set a longer "
    "`retention.ms` on {target}",
    "topic-acls-differ": "wait until the connector has copied them, ten minutes by default, and " + _AGAIN + ". If "
    "they are still missing, search the Connect workers' log for an ALTER on the cluster that {target} refused",
    "topic-config-differs": "wait until the connector has copied it, ten minutes by default, and " + _AGAIN + ". If "
    "it still differs, search the Connect workers' log for an ALTER_CONFIGS on the topic that {target} refused. To "
    "leave a property as it is on {target}, add it to `config.properties.exclude` in the source connector's `config`",
    "topic-settings-not-visible": "allow the validation user DESCRIBE_CONFIGS on the topics of both clusters, and "
    "DESCRIBE on both clusters: `replicate acls {stack} --commands`",
    "topic-recreated": (
        "nothing if all checks pass: they have judged the topics that exist now. A group that has not committed "
        "since then still has the offsets of the deleted topic"
    ),
    "topic-in-no-part": "add it to the `topics` of one part",
    "topic-in-two-parts": "leave it in the `topics` of one part only",
    "topic-left-out": "if consumers need it on {target}, give it another name on {source}; otherwise exclude it with "
    "`topicsExclude`",
    "topic-not-replicated": _RUNS + ". {target} may also refuse to create the topic because of its replication factor "
    "or a policy of the brokers: the log then names the topic",
    "translated-record-differs": _DELETED,
}
#: Findings that no topology can accept: faults, and notes that do not affect the verdict.
NOT_ACCEPTABLE = REMEDIES.keys() - ACCEPTABLE.keys()


def with_remedies(
    outcome: CheckOutcome,
    flow: FlowParameters,
    stack: str,
    topology: str | None = None,
    every: Sequence[CheckOutcome] = (),
) -> CheckOutcome:
    """Return the outcome, where each finding with a code in the table ends with its remedy.

    `topology` is the file that was validated instead of a stack. Remedies then do not name a stack. `every` has the
    outcomes of all checks of the flow.
    """
    facts = {
        "stack": stack if topology is None else "STACK",
        "validated": stack if topology is None else f"--topology {shlex.quote(topology)}",
        "flow": flow.name,
        "source": flow.source.alias,
        "target": flow.target.alias,
        "target_servers": flow.target.bootstrap_servers,
    }
    facts["standstill"] = _standstill({check.name: check for check in every}).format(**facts)
    findings = (_without_excluded(finding, facts["standstill"], every) for finding in outcome.findings)
    return replace(outcome, findings=tuple(_with_remedy(finding, facts) for finding in findings))


def _without_excluded(finding: Finding, standstill: str, checks: Sequence[CheckOutcome]) -> Finding:
    """Return a finding about something that does not arrive, without the causes that other checks exclude."""
    message = finding.message
    if finding.code in _STANDSTILL:
        if any(check.name == CheckName.CONNECTORS and check.verdict is Verdict.PASS for check in checks):
            message = message.replace(" is not running", " is stuck")
        if _NOT_REFUSED in standstill:
            message = message.replace(", lacks permissions, or ", " or ").replace(" or lacks permissions", "")
    return replace(finding, message=message)


def _standstill(checks: Mapping[str, CheckOutcome]) -> str:
    """Return where to look for the cause: first at what other checks found, then at what none of them rules out."""
    passed = {name for name, check in checks.items() if check.verdict is Verdict.PASS}
    codes = {name: {finding.code for finding in check.findings} for name, check in checks.items()}
    found = [f"`{name}`" for name in (CheckName.CONNECTORS, CheckName.ACCESS) if codes.get(name, set()) & _CAUSES]
    if found:
        text = f"correct what {' and '.join(found)} found, and {_AGAIN}. If nothing changes, "
    elif CheckName.CONNECTORS in passed:
        text = ""
    else:
        text = (
            "`replicate diff {stack} --against cluster` shows whether a connector has failed, and the command that "
            "restarts it. If none has failed, "
        )
    why = {}
    if CheckName.HEARTBEATS in passed and not codes[CheckName.HEARTBEATS] & _NOT_OF_THE_FLOW:
        why["login"] = "the flow's heartbeats arrive"
    elif CheckName.CONNECTORS in checks:
        age = checks[CheckName.CONNECTORS].counts.get("newestSyncSeconds", _RECENT_SECONDS + 1)
        why |= {"login": f"the flow replicated a record {age} s before"} if age <= _RECENT_SECONDS else {}
    if CheckName.ACCESS in passed and "acl-narrower" not in codes[CheckName.ACCESS]:
        why["permission"] = "`access` misses none"
    open_causes = [f"a {cause}" for cause in ("login", "permission") if cause not in why]
    text += f"search the Connect workers' log for {' or '.join(open_causes) or 'another error'}"
    text += " that {source} or {target} refused" if open_causes else ""
    return text + "".join(f". No {cause} is refused: {reason}" for cause, reason in why.items())


def _with_remedy(finding: Finding, facts: Mapping[str, str]) -> Finding:
    remedy = REMEDIES.get(finding.code, "").format(**facts)
    message = finding.message
    if remedy and MARK not in message:
        message = f"{message}. {MARK}{remedy}"
    if finding.severity is FindingSeverity.ERROR and finding.code in ACCEPTABLE:
        message += _OR_ACCEPT.format(code=finding.code, trust=ACCEPTABLE[finding.code])
    return replace(finding, message=message)


def advice(flow: FlowParameters) -> tuple[str, ...]:
    """Return the sentences for users of the flow; none if the checks say everything."""
    return (*_of_the_shape(flow), *_of_the_start(flow))


def _of_the_start(flow: FlowParameters) -> tuple[str, ...]:
    if flow.start_from == "earliest":
        return ()
    source, target, seconds = flow.source.alias, flow.target.alias, flow.refresh_topics_seconds
    records = (
        f"The flow starts at latest: {target} gets the records that are produced after a task first polled their "
        f"partition. Older records stay on {source} only. Setting `startFrom: earliest` later does not fetch them for "
        "partitions whose replication has begun.",
        f"New topics and partitions start at latest, too: records produced before the connector discovers them, which "
        f"takes up to {seconds:g} s (refreshTopicsSeconds), are not replicated. Create them first, wait that long, "
        "then produce.",
    )
    if not flow.checkpoints.enabled:
        return records
    return (
        *records,
        f"A consumer group whose offset on {source} is older than the start has no offset on {target}. It must begin "
        "there at the earliest offset (auto.offset.reset=earliest), where the replicated records begin. With latest, "
        "it would skip the records that have already arrived. The records between its offset and the start can be "
        f"consumed on {source} only.",
    )


def _of_the_shape(flow: FlowParameters) -> tuple[str, ...]:
    if flow.shape != "prefixlessPair":
        return ()
    source, target = flow.source.alias, flow.target.alias
    return (
        f"Consumer offsets are not translated: in a prefixless pair, a topic on {target} holds its own records between "
        f"those of {source}, so the same offset means different records. The flow writes neither checkpoints nor group "
        "offsets. Never copy offsets by hand.",
        f"A group that fails over to {target} and has consumed there before starts from its own committed offset on "
        f"{target}. It skips nothing, but reads again what it has consumed on {source} since then.",
        f"A group without an offset on {target} must seek by timestamp. Replicated records keep the timestamp of "
        f"{source}: take that of the oldest record that the group had not finished, minus an allowance for clocks. "
        "Without such a time, start at the earliest offset; the latest would skip what has already arrived.",
        "In both cases records may be read again: consumers must tolerate that.",
    )
