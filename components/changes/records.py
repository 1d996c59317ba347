"""What changes in the records: transforms, the loop guard, transactions, heartbeats, and where new partitions start."""

from collections.abc import Iterator, Mapping

from kafka_replication.components.changes.deployment_state import DeployedConnector
from kafka_replication.components.changes.effect import Effect, Impact, counted, listed
from kafka_replication.components.changes.stack_change import StackChange, effects_on_sources
from kafka_replication.components.kafka.plugins import CONVERTER_KEYS
from kafka_replication.components.render.connector_config import RESERVED_NAMES

_ISOLATION = "source.consumer.isolation.level"
_HEARTBEATS = "heartbeats.replication.enabled"


def record_effects(change: StackChange) -> Iterator[Effect]:
    """Yield what changes in records."""
    for theme in (_guard, _transforms, _start_from, _on_loss):
        yield from effects_on_sources(change, theme)
    for before, after in change.connector_pairs_of("source"):
        if before is None or after is None:
            continue
        yield from _isolation(before, after)
        yield from _heartbeat_replication(before, after)
    for pair in change.connector_pairs_of("heartbeat"):
        yield from _heartbeat_connector(
            *(connector if connector is not None and connector.emits else None for connector in pair)
        )


def _guard(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    if before.guarded == after.guarded:
        return
    if after.guarded:
        code = "loop-guard-added"
        what = (
            f"records from {after.target_alias} are dropped by their marker header from now on; records replicated "
            "earlier carry no marker and are not recognised if they are read again"
        )
    else:
        code = "loop-guard-removed"
        what = (
            f"records from {after.target_alias} are no longer dropped: if the topics are replicated back under the "
            "same names, every record circulates endlessly"
        )
    yield Effect(Impact.DATA, code, after.flow, "loopGuard", what)


def _transforms(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    if before.guarded != after.guarded and _user_chain(before) == _user_chain(after):
        return
    old, new = _user_transforms(before), _user_transforms(after)
    if changed := sorted(key for key in {*old, *new} if old.get(key) != new.get(key)):
        what = (
            f"records are transformed differently from now on ({listed(changed)}); records already in the remote "
            "topics stay unchanged"
        )
        yield Effect(Impact.DATA, "transforms-change", after.flow, "transforms", what)


def _user_chain(connector: DeployedConnector) -> list[str]:
    return [name for name in connector.names("transforms") if name not in RESERVED_NAMES]


def _user_transforms(connector: DeployedConnector) -> Mapping[str, str]:
    """Return what decides how records are changed, without the guard's properties, which depend only on aliases."""
    properties = {
        key: value
        for key, value in connector.config.items()
        if (key.startswith(("transforms.", "predicates.")) and key.split(".")[1] not in RESERVED_NAMES)
        or key.startswith(CONVERTER_KEYS)
    }
    chain = _user_chain(connector)
    return {**properties, "transforms": ",".join(chain)} if chain else properties


#: Source: MirrorSourceTask.initializeConsumer seeks only partitions with an offset, others begin at the reset position.
_SKIPPED = (
    ", so records that are produced to a new topic or partition before the connector first reads it are never "
    "replicated"
)


def _start_from(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    if before.start_from != after.start_from:
        skips = after.start_from == "latest"
        what = (
            f"partitions that were never replicated start from {after.start_from} instead of {before.start_from}"
            f"{_SKIPPED if skips else ''}; all others continue where they are"
        )
        yield Effect(Impact.DATA if skips else Impact.NONE, "start-from-changes", after.flow, "startFrom", what)


def _on_loss(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    if before.stops != after.stops:
        what = "where the source has deleted records, the connector stops instead of passing over them"
        if before.stops:
            what = "where the source has deleted records, the connector passes over them instead of stopping"
        yield Effect(Impact.DATA if before.stops else Impact.NONE, "loss-handling-changes", after.flow, "onLoss", what)


def _isolation(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    old, new = (connector.config.get(_ISOLATION, "read_uncommitted") for connector in (before, after))
    if old == new:
        return
    severity, consequence = Impact.DATA, "are replicated from now on"
    if new == "read_committed":
        severity = Impact.NONE
        consequence = "are skipped from now on, and an open transaction holds back the records that follow it"
    what = f"records of aborted transactions in {counted(after.topics, 'topic')} {consequence}"
    yield Effect(severity, "isolation-changes", after.flow, "exactlyOnce", what)


def _heartbeat_replication(before: DeployedConnector, after: DeployedConnector) -> Iterator[Effect]:
    if before.is_on(_HEARTBEATS) == after.is_on(_HEARTBEATS):
        return
    code, replicates = "heartbeats-not-replicated", "no longer replicates"
    if after.is_on(_HEARTBEATS):
        code, replicates = "heartbeats-replicated", "replicates"
    what = f"connector `{after.name}` {replicates} heartbeats to {after.target_alias}"
    yield Effect(Impact.NONE, code, after.flow, "replicateHeartbeats", what)


def _heartbeat_connector(before: DeployedConnector | None, after: DeployedConnector | None) -> Iterator[Effect]:
    key = "connectors.heartbeat"
    if before is not None and after is None:
        what = "heartbeats stop: when no records are produced, nothing will show that the flow works"
        yield Effect(Impact.NONE, "heartbeats-stop", before.flow, key, what)
    if after is not None and before is None:
        yield Effect(Impact.NONE, "heartbeats-start", after.flow, key, "heartbeats start")
    if before is None or after is None:
        return
    if before.workers.kind == after.workers.kind == "KafkaConnect" and before.beside_source != after.beside_source:
        cluster = after.source_alias if after.beside_source else after.target_alias
        what = (
            f"heartbeats are sent by workers `{after.workers.name}`, which belong to {cluster}, instead of "
            f"`{before.workers.name}`"
        )
        if before.workers.name == after.workers.name or before.workers.target_address == after.workers.target_address:
            began, begin = (at.target_alias if at.beside_source else at.source_alias for at in (before, after))
            what = f"heartbeats begin in {begin} instead of {began}"
        yield Effect(Impact.NONE, "heartbeats-move", after.flow, key, what)
    if before.workers.kind != after.workers.kind:
        what = (
            f"heartbeats come from `{after.name}` under {after.workers.kind} instead of `{before.name}`; a "
            "KafkaMirrorMaker2 produces them to the target, every other connector to the source"
        )
        yield Effect(Impact.NONE, "heartbeats-move", after.flow, key, what)
