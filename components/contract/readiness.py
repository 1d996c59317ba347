"""Judges whether the applications of a flow's source can start on its target, from what was seen of both. Pure."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kafka_replication.components.contract.grouping import grouped
from kafka_replication.components.contract.parameters import DocumentPart, FlowParameters, JsonObject
from kafka_replication.components.contract.problems import NoAnswer
from kafka_replication.components.contract.wording import agreeing, named, number
from kafka_replication.components.kafka.acls import (
    EVERY_NAME,
    EVERYONE,
    AclEntry,
    Need,
    administrator,
    grant_options,
    operation_title,
    shell_variable,
)
from kafka_replication.components.kafka.application_access import (
    Authorizer,
    Counterpart,
    applies,
    shortfall,
    transactional_ids,
)
from kafka_replication.components.kafka.name_prefixes import beginnings_of_entry
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.kafka.topic_sync import TopicSetting, unlike_settings
from kafka_replication.components.kafka.write_fence import without_fences

#: Quotas by what they limit, as kafka-configs.sh names it.
Quotas = Mapping[str, Mapping[str, float]]
#: Kafka's client cannot ask for quotas. If both sides have none here, quotas are not compared or mentioned.
NO_QUOTAS: Mapping[Side, Quotas] = {side: {} for side in SIDES}
Settings = Mapping[str, Mapping[str, TopicSetting]]
ScramUsers = Mapping[str, frozenset[str]]
_USER = "User:"
#: The broker property that opens resources without ACLs; Kafka hides its value.
OPEN = "allow.everyone.if.no.acl.found"
_QUOTA = re.compile(r"Quota configs for (?P<limited>.+?) are (?P<limits>.*)")
_LIMITED = re.compile(r"(?P<default>the default )?(?P<kind>user-principal|client-id)(?: '(?P<name>[^']*)')?")
_ENTITIES = {"user-principal": "users", "client-id": "clients"}


@dataclass(frozen=True)
class ReadyFacts:
    """What was seen of both clusters, by side. `topics` are the replicated topics with their partitions, `groups` those
    that a failover would move, and `existing` the target's topics. `open`: the target's brokers set `OPEN`.
    """

    topics: Mapping[str, int]
    groups: Sequence[str]
    existing: frozenset[str]
    acls: Mapping[Side, Sequence[AclEntry] | NoAnswer]
    scram: Mapping[Side, ScramUsers | NoAnswer]
    settings: Mapping[Side, Settings | NoAnswer]
    quotas: Mapping[Side, Quotas] = field(default_factory=dict)
    open: bool = False


class Missing(DocumentPart):
    """Something that applications have on the source and lack on the target; `command` adds it, if one can."""

    kind: Literal["acl", "denied", "user", "quota", "topic", "setting"]
    text: str
    command: str = ""


class Readiness(DocumentPart):
    """`not_judged` was not looked at, and no cluster shows what is `unknowable`. `warnings` are about the commands."""

    flow: str
    source: str
    target: str
    applications: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    not_judged: tuple[str, ...] = ()
    unknowable: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    kafka_users: tuple[JsonObject, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """What is said of a flow, the ACLs that would be written, and the SCRAM mechanisms that users lack, by name."""

    readiness: Readiness
    acls: tuple[AclEntry, ...] = ()
    scram: ScramUsers = field(default_factory=dict)


def counterparts(flow: FlowParameters, topics: Iterable[str], groups: Iterable[str]) -> tuple[Counterpart, ...]:
    """Return what applications use on the target. Consumers read both the remote topic and the one of the same name,
    and producers write the latter, as `replicate failover` says.
    """
    selected = tuple(start for entry in flow.topics for start in beginnings_of_entry(entry))
    in_groups = tuple(start for entry in flow.groups for start in beginnings_of_entry(entry))
    found = []
    for topic in topics:
        if prefix := flow.replication_policy.prefix_of(topic):
            found.append(Counterpart("TOPIC", topic, prefix, selected, read_only=True))
        found.append(Counterpart("TOPIC", topic, "", selected))
    return (*found, *(Counterpart("GROUP", group, "", in_groups) for group in groups))


def unjudged(flow: FlowParameters, *why: str) -> Readiness:
    """Return the readiness of a flow that could not be judged at all, and why."""
    return Readiness(flow=flow.name, source=flow.source.alias, target=flow.target.alias, not_judged=why)


def judge(flow: FlowParameters, facts: ReadyFacts) -> Judgement:
    """Judge whether the applications of a flow can start on its target."""
    source, target = flow.source.alias, flow.target.alias
    if flow.own_principals is None:
        why = "which users are the flow's own: a stack that was deployed before does not say, until `replicate up`"
        return Judgement(unjudged(flow, why))
    here, there, others = facts.acls["source"], facts.acls["target"], flow.own_principals
    not_judged = [
        fact.reason
        for fact in (*facts.acls.values(), *facts.scram.values(), *facts.settings.values())
        if isinstance(fact, NoAnswer)
    ]
    if flow.acls is not None and not any(need.cluster == "source" for need in flow.acls):
        if flow.source.authentication is not None:
            why = f"which users are the flow's own on {source}: set `principal` next to their login"
        else:
            anonymous = f"which rights of User:ANONYMOUS on {source} are the applications'"
            why = f"{anonymous}: the flow has no login there, so it is that user, too"
        not_judged.append(why)
    acls: tuple[AclEntry, ...] = ()
    missing: list[Missing] = []
    users: set[str] = set()
    writers: dict[str, frozenset[str]] = {}
    if not isinstance(here, NoAnswer):
        used = (*counterparts(flow, facts.topics, facts.groups), *transactional_ids(here))
        of_source = Authorizer(without_fences(here))
        allowing = [entry for entry in here if entry.permission == "ALLOW" and entry.principal not in others]
        by_kind = {kind: set(names) for kind, names in grouped((part.resource, part.name) for part in used).items()}
        users = {
            entry.principal
            for entry in allowing
            for names in [by_kind.get(entry.resource, set())]
            if entry.name in names or (_is_wide(entry) and any(applies(entry, name) for name in names))
        }
        writers = {topic: of_source.users("TOPIC", topic, "WRITE") for topic in facts.topics}
        not_judged += _unknown_users(flow, facts, of_source, writers)
        if not isinstance(there, NoAnswer):
            lacking = shortfall(used, here, there, others)
            acls = lacking.missing
            missing += _missing_acls(target, acls)
            missing += [_denied(target, denial.allowed, denial.by) for denial in lacking.denied]
    scram = _lacking_scram(facts, users)
    missing += _missing_users(target, scram)
    missing += _missing_quotas(flow, facts, users)
    missing += _missing_topics(flow, facts, writers)
    missing += _unlike_settings(flow, facts)
    if len(facts.quotas) < len(SIDES):
        tell = [
            f"kafka-configs.sh {administrator(alias)[1]} --describe --entity-type users" for alias in (source, target)
        ]
        not_judged.append(
            f"quotas, which this client cannot ask for: print them with `{tell[0]}` and `{tell[1]}` into "
            f"files, and name these: `--quotas {source}=FILE --quotas {target}=FILE`"
        )
    return Judgement(
        Readiness(
            flow=flow.name,
            source=source,
            target=target,
            applications=tuple(sorted(users)),
            missing=tuple(missing),
            not_judged=tuple(dict.fromkeys(not_judged)),
            unknowable=tuple(_unknowable(flow, facts, users)),
            warnings=tuple(_warnings(flow, facts, acls)),
        ),
        acls,
        scram,
    )


def _is_wide(entry: AclEntry) -> bool:
    return entry.pattern == "PREFIXED" or entry.name == EVERY_NAME


def _unknown_users(
    flow: FlowParameters, facts: ReadyFacts, source: Authorizer, writers: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    alias = flow.source.alias
    unknown = [group for group in facts.groups if not source.users("GROUP", group, "READ")]
    if unknown:
        yield f"who consumes as {agreeing(len(unknown), 'group[|s]')} {named(unknown)}: no ACL on {alias} says so"
    if unwritten := [topic for topic, who in writers.items() if not who]:
        yield f"who writes {named(unwritten)}: no ACL on {alias} says so"


def _missing_acls(target: str, acls: Iterable[AclEntry]) -> Iterator[Missing]:
    _, connection = administrator(target)
    for entry, operations in grouped((entry._replace(operation=""), entry.operation) for entry in acls).items():
        options = grant_options(entry.principal, entry.resource, entry.pattern.lower(), entry.name, operations)
        if entry.permission == "DENY":
            options = options.replace("--allow-principal", "--deny-principal", 1)
        if entry.host != "*":
            options += f" --{entry.permission.lower()}-host {shlex.quote(entry.host)}"
        what = ", ".join(map(operation_title, operations))
        lacks = "must stay denied" if entry.permission == "DENY" else "lacks"
        yield Missing(
            kind="acl",
            text=f"{entry.principal} {lacks} {what} on {_resource(entry)}",
            command=f"kafka-acls.sh {connection} {options}",
        )


def _resource(entry: AclEntry) -> str:
    need = Need(entry.principal, entry.resource, entry.pattern.lower(), entry.name, (entry.operation,))
    return str(need) if entry.host == "*" else f"{need} from {entry.host}"


def _denied(target: str, allowed: AclEntry, by: AclEntry) -> Missing:
    what = f"{allowed.principal} is denied {operation_title(allowed.operation)} on {_resource(allowed)}"
    why = f"an ACL of {by.principal} on {target} denies {operation_title(by.operation)} on {_resource(by)}"
    return Missing(kind="denied", text=f"{what}: {why}, and outranks every grant. Delete it")


def _names(users: Iterable[str]) -> list[str]:
    return sorted(user.removeprefix(_USER) for user in users if user.startswith(_USER) and user != EVERYONE)


def _lacking_scram(facts: ReadyFacts, users: Iterable[str]) -> dict[str, frozenset[str]]:
    here, there = facts.scram["source"], facts.scram["target"]
    if isinstance(here, NoAnswer) or isinstance(there, NoAnswer):
        return {}
    return {name: here.get(name, frozenset()) - there.get(name, frozenset()) for name in _names(users)}


def _missing_users(target: str, lacking: ScramUsers) -> Iterator[Missing]:
    _, connection = administrator(target)
    for user, mechanisms in lacking.items():
        for mechanism in sorted(mechanisms):
            added = f'"{mechanism}=[password=${{{shell_variable(user)}_PASSWORD:?}}]"'
            yield Missing(
                kind="user",
                text=f"{_USER}{user} has no {mechanism} credential",
                command=f"kafka-configs.sh {connection} --alter --entity-type users --entity-name {shlex.quote(user)} "
                f"--add-config {added}",
            )


def read_quotas(printed: str) -> dict[str, dict[str, float]]:
    """Return the quotas that `kafka-configs.sh --describe --entity-type users` printed. Raises ValueError."""
    quotas = {}
    for line in printed.splitlines():
        if match := _QUOTA.fullmatch(line.strip()):
            pairs = (limit.partition("=") for limit in match["limits"].split(", ") if limit)
            quotas[match["limited"]] = {key: float(value) for key, _, value in pairs}
        elif line.strip() and not line.startswith("SCRAM credential configs for "):
            raise ValueError(line)
    return quotas


def _missing_quotas(flow: FlowParameters, facts: ReadyFacts, users: Iterable[str]) -> Iterator[Missing]:
    """Yield what limits an application otherwise than on the source: its own quotas, and those of everybody."""
    if len(facts.quotas) < len(SIDES):
        return
    here, there = facts.quotas["source"], facts.quotas["target"]
    known = {f"user-principal '{name}'" for name in _names(users)}
    _, connection = administrator(flow.target.alias)
    for limited in sorted({*here, *there}):
        wanted, found = here.get(limited, {}), there.get(limited, {})
        if wanted == found or not (limited.startswith("the default ") or limited.split(", ")[0] in known):
            continue
        entity = " ".join(
            f"--entity-type {_ENTITIES[match['kind']]} "
            + ("--entity-default" if match["default"] else f"--entity-name {shlex.quote(match['name'])}")
            for match in _LIMITED.finditer(limited)
        )
        added = ",".join(f"{key}={value:.15g}" for key, value in sorted(wanted.items()) if found.get(key) != value)
        deleted = ",".join(sorted(found.keys() - wanted.keys()))
        changes = [f"--{verb}-config {keys}" for verb, keys in (("add", added), ("delete", deleted)) if keys]
        yield Missing(
            kind="quota",
            text=f"{limited} has {_limits(found)}, and {_limits(wanted)} on {flow.source.alias}",
            command=f"kafka-configs.sh {connection} --alter {entity} {' '.join(changes)}",
        )


def _limits(limits: Mapping[str, float]) -> str:
    return ", ".join(f"{key}={value:.15g}" for key, value in sorted(limits.items())) or "no quota"


def _missing_topics(
    flow: FlowParameters, facts: ReadyFacts, writers: Mapping[str, frozenset[str]]
) -> Iterator[Missing]:
    policy, target = flow.replication_policy, flow.target.alias
    _, connection = administrator(target)
    for topic, partitions in facts.topics.items():
        remote = policy.remote(topic)
        if remote not in facts.existing:
            yield Missing(kind="topic", text=f"{remote} does not exist; MirrorMaker creates it")
        elif topic not in facts.existing and writers.get(topic):
            yield Missing(
                kind="topic",
                text=f"{topic} does not exist, which producers write on {target}",
                command=f"kafka-topics.sh {connection} --create --topic {topic} --partitions {partitions}",
            )


def _unlike_settings(flow: FlowParameters, facts: ReadyFacts) -> Iterator[Missing]:
    here, there = facts.settings["source"], facts.settings["target"]
    if isinstance(here, NoAnswer) or isinstance(there, NoAnswer):
        return
    _, connection = administrator(flow.target.alias)
    for topic in facts.topics:
        for name in dict.fromkeys((flow.replication_policy.remote(topic), topic)):
            unlike = unlike_settings(here.get(topic, {}), there.get(name, {}))
            for setting in unlike:
                value = f"[{setting.wanted}]" if "," in str(setting.wanted) else setting.wanted
                of = "" if name == topic else f" of {topic}"
                yield Missing(
                    kind="setting",
                    text=f"{name} has {setting.name}={setting.found}, and it is {setting.wanted}{of} on "
                    f"{flow.source.alias}",
                    command=f"kafka-configs.sh {connection} --alter --entity-type topics --entity-name {name} "
                    f"--add-config {setting.name}={value}",
                )


def _unknowable(flow: FlowParameters, facts: ReadyFacts, users: Iterable[str]) -> Iterator[str]:
    scram = facts.scram["source"]
    names = _names(users)
    if not isinstance(scram, NoAnswer):
        if by_password := [name for name in names if name in scram]:
            yield f"whether {named(by_password)} {agreeing(len(by_password), '[has|have]')} the same password there"
        if others := [name for name in names if name not in scram]:
            yield (
                f"how {named(others)} {agreeing(len(others), '[logs|log]')} in: without SCRAM credentials it is with a "
                "certificate, a token or a list of the brokers, which no cluster shows"
            )
    if flow.topic_sync is not None and flow.topic_sync.acls:
        yield (
            "nothing that `sync.topic.acls.enabled` would add: MirrorMaker copies the ACLs of single topics to their "
            "remote topics, but no Write, and none of prefixes, groups or transactional ids"
        )
    yield f"super users and users that {flow.source.alias} names in no ACL"


def _warnings(flow: FlowParameters, facts: ReadyFacts, acls: Iterable[AclEntry]) -> Iterator[str]:
    there = facts.acls["target"]
    if not facts.open or isinstance(there, NoAnswer):
        return
    first = {
        f"{entry.resource.lower().replace('_', ' ')} {entry.name}"
        for entry in acls
        if not any(other.resource == entry.resource and applies(other, entry.name) for other in there)
    }
    if first:
        yield (
            f"the brokers of {flow.target.alias} set `{OPEN}`, and Kafka hides its value. If it is true, these have no "
            f"ACL yet and are open to everybody, and the first one closes them to all others: {named(sorted(first))}"
        )


def summary(readiness: Readiness) -> str:
    """Say in one line whether the applications can start on the target."""
    if readiness.missing:
        kinds = [missing.kind for missing in readiness.missing]
        words = {
            "acl": "ACL",
            "denied": "denied right",
            "user": "user",
            "quota": "quota",
            "topic": "topic",
            "setting": "topic setting",
        }
        counts = ", ".join(number(kinds.count(kind), words[kind]) for kind in dict.fromkeys(kinds))
        # Whether the brokers let everybody in where there is no ACL is hidden.
        certain = not readiness.warnings or {*kinds} != {"acl"}
        word = "cannot" if certain else "may not"
        return f"applications {word} all start on {readiness.target}: {counts} missing or different"
    if readiness.not_judged:
        return f"nothing that was looked at is missing on {readiness.target}, but not everything was looked at"
    return f"{number(len(readiness.applications), 'application')} can start on {readiness.target}"
