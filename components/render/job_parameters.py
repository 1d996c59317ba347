"""The validation job's parameters for a flow: everything it needs to read both clusters, credentials by reference."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from kafka_replication.components.contract import parameters
from kafka_replication.components.flows.naming import (
    connector_name,
    offset_syncs_topic_name,
    replication_policy,
    starts_group,
    storage_topic_name,
)
from kafka_replication.components.flows.resolved import ResolvedFlow, bootstrap_address, flow_digest
from kafka_replication.components.flows.selections import (
    all_topics,
    each_once,
    each_source,
    excluded_groups,
    excluded_topics,
)
from kafka_replication.components.kafka.connectors import EMIT_CHECKPOINTS, EMIT_HEARTBEATS, ConnectorRole
from kafka_replication.components.kafka.record_forms import Step
from kafka_replication.components.kafka.replication_policy import HEARTBEATS_TOPIC, SIDES, Side
from kafka_replication.components.kafka.topic_names import internal_by_ending
from kafka_replication.components.kafka.transform_chains import Effects, Predicate, known_effects
from kafka_replication.components.properties.definitions import Owner, definitions
from kafka_replication.components.render.config_layers import values
from kafka_replication.components.render.connections import security_protocol
from kafka_replication.components.render.connector_config import changeable_layers, marker_header, replicates_heartbeats
from kafka_replication.components.render.deployments import declared_connectors
from kafka_replication.components.render.flow_acls import Acl, flow_acls
from kafka_replication.components.topology import clusters
from kafka_replication.components.topology.clusters import (
    kafka_principal,
    keeper_principal,
    secret_key,
    validation_principal,
)
from kafka_replication.components.topology.connectors import StartFrom, Transform
from kafka_replication.components.topology.model import ExactlyOnce, Flow

_ENABLED = "sync.topic.configs.enabled"
_EXCLUDE = "config.properties.exclude"
_FILTER = "config.property.filter.class"
_DEFAULTS_FROM = "use.defaults.from"


def topic_sync(flow: ResolvedFlow) -> parameters.TopicSyncParameters:
    """Return what all source connectors of the flow copy.

    Configuration is not judged if the user's own filter class decides it, or if the source's defaults are copied.
    """
    known = {
        name: definition.default or "" for name, definition in definitions(flow.expanded.kafka, Owner.SOURCE).items()
    }
    excluded: dict[str, None] | None = {}
    for part, _ in each_source(flow.settings):
        names = _excluded({**known, **values(changeable_layers(flow.expanded, "source", part))})
        excluded = None if excluded is None or names is None else excluded | dict.fromkeys(names)
    exclude = None if excluded is None else tuple(excluded)
    return parameters.TopicSyncParameters(configs_exclude=exclude, acls=flow.settings.sync_topic_acls)


def _excluded(config: Mapping[str, clusters.PropertyValue]) -> tuple[str, ...] | None:
    """Return the properties that a connector leaves out; None if that is not known, or if it copies none."""
    copies = str(config[_ENABLED]).lower() == "true"
    plain = str(config[_FILTER]).endswith(".DefaultConfigPropertyFilter")
    if not copies or not plain or config[_DEFAULTS_FROM] != "target":
        return None
    return tuple(entry.strip() for entry in str(config[_EXCLUDE]).split(",") if entry.strip())


def job_parameters(stack: str, flows: tuple[ResolvedFlow, ...], topology: str | None = None) -> parameters.Parameters:
    """Return the document for every flow of a stack, or of a `topology` file that no stack deploys."""
    return parameters.Parameters(
        schema_version=1, stack=stack, topology=topology, flows=tuple(map(flow_parameters, flows))
    )


def flow_parameters(flow: ResolvedFlow) -> parameters.FlowParameters:
    """Return a flow's entry of the document, which accepts the records of all its source connectors."""
    settings, kafka = flow.settings, flow.expanded.kafka
    sources = [source for _, source in each_source(settings)]
    effects = _effects(sources)
    return parameters.FlowParameters(
        name=flow.name,
        replication=flow.expanded.replication,
        shape=flow.expanded.shape.value,
        namespace=flow.namespace,
        digest=flow_digest(flow),
        policy=settings.policy,
        start_from="latest" if any(source.start_from is StartFrom.LATEST for source in sources) else "earliest",
        starts_group=starts_group(flow.name) if settings.on_loss is not None else None,
        separator=settings.separator,
        source=_cluster(flow, "source"),
        target=_cluster(flow, "target"),
        topics=tuple(all_topics(settings)),
        # The job does not know what only the flow's version of Kafka excludes.
        topics_exclude=each_once((*excluded_topics(settings, kafka), *internal_by_ending(kafka, settings.separator))),
        groups=each_once(settings.groups),
        groups_exclude=tuple(excluded_groups(settings)),
        heartbeats=_heartbeats(flow),
        offset_syncs=parameters.OffsetSyncParameters(
            enabled=settings.offset_syncs.enabled,
            cluster=settings.offset_syncs.location.value,
            topic=offset_syncs_topic_name(settings),
            lag_max=max(source.offset_syncs.lag_max for source in sources),
        ),
        checkpoints=parameters.CheckpointParameters(
            enabled=settings.connectors.checkpoint.emits(EMIT_CHECKPOINTS),
            topic=replication_policy(settings).checkpoints_topic,
            interval_seconds=settings.intervals.emit_checkpoints_seconds,
            sync_group_offsets=settings.sync_group_offsets,
            sync_interval_seconds=settings.intervals.sync_group_offsets_seconds,
        ),
        acls=tuple(_acl(acl, flow) for acl in flow_acls(flow)),
        own_principals=_own_principals(flow),
        guard=parameters.GuardParameters(filter=marker_header(settings.target), mark=marker_header(settings.source))
        if settings.loop_guard
        else None,
        transformed=any(source.transforms.change_records for source in sources),
        changed_headers=effects.headers,
        drops=tuple(parameters.DropsParameters(**asdict(drop)) for drop in effects.drops),
        exactly_once=settings.exactly_once is ExactlyOnce.ENABLED,
        parts=tuple(
            parameters.PartParameters(
                name=part,
                connector=connector_name(flow.name, settings, "source", part),
                topics=each_once(source.topics),
                topics_exclude=source.topics_exclude or (),
            )
            for part, source in settings.connectors.sources.items()
        ),
        topic_sync=topic_sync(flow),
        accepted=tuple(
            parameters.AcceptanceParameters(finding=accepted.finding, reason=accepted.reason)
            for accepted in settings.validation.accept
        ),
        connectors=tuple(connector for connector in declared_connectors(flow) if _works(connector.role, settings)),
        connector_offsets_topic=storage_topic_name(flow.workers, settings, "offsets"),
        refresh_topics_seconds=settings.intervals.refresh_topics_seconds,
        refresh_groups_seconds=settings.intervals.refresh_groups_seconds,
    )


def _effects(sources: Sequence[Flow]) -> Effects:
    """Return the known effects of the source connectors' transforms; empty if they may have other effects too. Filters
    are known only if all source connectors have the same ones, and if no loop guard also drops records.
    """
    chains = [source.transforms for source in sources]
    if any(chain.converters is not None for chain in chains):
        return Effects()
    by_chain = [known_effects(map(_step, (*chain.before.items(), *chain.after.items()))) for chain in chains]
    known = [effects for effects in by_chain if effects is not None]
    filters = {effects.drops for effects in known}
    guarded = any(source.loop_guard for source in sources)
    if len(known) < len(by_chain) or len(filters) > 1 or (guarded and filters != {()}):
        return Effects()
    return Effects(tuple(sorted({header for effects in known for header in effects.headers})), known[0].drops)


def _step(named: tuple[str, Transform]) -> tuple[Step, Predicate | None]:
    name, given = named
    asked = given.predicate
    predicate = Predicate(name, asked.type, asked.config, given.negate) if asked is not None else None
    return Step(name, given.type, given.config), predicate


def _works(role: ConnectorRole, flow: Flow) -> bool:
    """Return whether a connector of this role has something to do in the flow."""
    if role == "checkpoint":
        return flow.connectors.checkpoint.emits(EMIT_CHECKPOINTS)
    return role != "heartbeat" or flow.connectors.heartbeat.emits(EMIT_HEARTBEATS)


def _heartbeats(flow: ResolvedFlow) -> parameters.HeartbeatParameters:
    policy = replication_policy(flow.settings)
    return parameters.HeartbeatParameters(
        # Heartbeats on the source arrive only if this flow replicates them.
        enabled=flow.settings.connectors.heartbeat.emits(EMIT_HEARTBEATS)
        and (flow.heartbeats_on == "target" or replicates_heartbeats(flow.expanded)),
        interval_seconds=flow.settings.intervals.emit_heartbeats_seconds,
        produced_to=flow.heartbeats_on,
        source_topic=HEARTBEATS_TOPIC,
        target_topic=HEARTBEATS_TOPIC if flow.heartbeats_on == "target" else policy.remote(HEARTBEATS_TOPIC),
    )


def _acl(acl: Acl, flow: ResolvedFlow) -> parameters.AclParameters:
    side: Side = "source" if acl.cluster == flow.alias("source") else "target"
    return parameters.AclParameters(**{**asdict(acl), "cluster": side})


def _own_principals(flow: ResolvedFlow) -> tuple[str, ...]:
    known = (kafka_principal, keeper_principal, validation_principal)
    users = {principal(flow.cluster(side)) for side in SIDES for principal in known}
    return tuple(sorted(user for user in users if user is not None))


def connector_login(flow: ResolvedFlow, side: Side) -> parameters.ClusterParameters:
    """Return how the connectors reach a cluster."""
    return _cluster(flow, side, as_connectors=True)


def keeper_login(flow: ResolvedFlow, side: Side) -> parameters.ClusterParameters | None:
    """Return how the keeper reaches a cluster if it has a login of its own there."""
    cluster = flow.cluster(side)
    if cluster.keeper is None:
        return None
    login = cluster.keeper.authentication
    changed = {
        "authentication": _login(login, flow.namespace, flow.own_secret(side, "keeper")),
        "security_protocol": security_protocol(cluster, login),
    }
    return _cluster(flow, side).model_copy(update=changed)


def _cluster(flow: ResolvedFlow, side: Side, *, as_connectors: bool = False) -> parameters.ClusterParameters:
    """Return how the job reaches a cluster: by its `validation` settings, otherwise as the connectors do."""
    cluster, namespace, connectors = flow.cluster(side), flow.namespace, flow.own_secret(side)
    validation = None if as_connectors else cluster.validation
    own = flow.own_secret(side, "validation")
    trust = _trust(cluster.tls.trust if cluster.tls else None, namespace, connectors)
    if validation is not None and validation.trust is not None:
        trust = _trust(validation.trust, namespace, own)
        trust = trust and trust.model_copy(update={"workers_read_others": True})
    own_login = validation.authentication if validation is not None else None
    authentication = own_login or cluster.authentication
    return parameters.ClusterParameters(
        alias=flow.alias(side),
        bootstrap_servers=bootstrap_address(cluster),
        security_protocol=security_protocol(cluster, authentication),
        trust=trust,
        authentication=_login(authentication, namespace, own if own_login is not None else connectors),
    )


def _trust(trust: clusters.Trust | None, namespace: str, own: str) -> parameters.Trust | None:
    match trust:
        case clusters.KeystoreTrust():
            return parameters.Trust(
                format=trust.format.value,
                certificates=_reference(namespace, clusters.SecretKey(secret=trust.secret, key=trust.key)),
                password=_reference(namespace, secret_key(trust.password, own, "truststore.password")),
            )
        case clusters.SecretKey() | clusters.ConfigValue():
            return parameters.Trust(format="PEM", certificates=_reference(namespace, secret_key(trust, own, "ca.crt")))
        case clusters.SecretPattern(secret=secret, key=str() as key):
            certificates = _reference(namespace, clusters.SecretKey(secret=secret, key=key))
            return parameters.Trust(format="PEM", certificates=certificates, workers_read_others=True)
        case clusters.SecretPattern() | None:
            # The job reads one key; `checks.clusters` warns about a pattern.
            return None


def _login(
    authentication: clusters.Authentication | None, namespace: str, own: str
) -> parameters.Authentication | None:
    match authentication:
        case clusters.PlainAuthentication() | clusters.ScramAuthentication():
            return parameters.PasswordAuthentication(
                type=authentication.type,
                username=authentication.username,
                password=_reference(namespace, secret_key(authentication.password, own, "password")),
            )
        case clusters.TlsAuthentication():
            secret = authentication.secret
            return parameters.CertificateAuthentication(
                type="tls",
                certificate=_reference(namespace, clusters.SecretKey(secret=secret, key=authentication.certificate)),
                key=_reference(namespace, clusters.SecretKey(secret=secret, key=authentication.key)),
            )
        case clusters.OAuthAuthentication() | clusters.CustomAuthentication():
            # `checks.clusters` warns about it.
            return parameters.UnsupportedAuthentication(type=authentication.type)
        case None:
            return None


def _reference(namespace: str, reference: clusters.SecretKey) -> parameters.CredentialReference:
    return parameters.CredentialReference(
        secret=parameters.SecretReference(namespace=namespace, name=reference.secret, key=reference.key)
    )
