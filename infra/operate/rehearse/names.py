"""The names and addresses of a stack, for the runbook. Credentials are references, never a value."""

from collections.abc import Iterator

from components.contract.parameters import FlowParameters
from components.flows.naming import validation_secret_name
from components.flows.resolved import ResolvedFlow
from components.kafka.replication_policy import SIDES, Side
from components.render.heartbeat_workers import heartbeat_workers
from components.render.job_parameters import flow_parameters
from components.topology.clusters import (
    Authentication,
    Cluster,
    ConfigValue,
    CustomAuthentication,
    KeystoreTrust,
    SecretKey,
    SecretPattern,
    TlsAuthentication,
    Trust,
    credentials,
    kafka_principal,
    validation_principal,
)
from infra.operate.connectors.changes import connector_places
from infra.operate.move.facts import Mode
from infra.operate.rehearse.model import RunbookModel, Section, code, table
from infra.operate.rehearse.switches import flow_title, measured, refusal


def connector_credentials(flow: ResolvedFlow, side: Side) -> tuple[str, ...]:
    """Where the connectors' credentials for a cluster are, as Markdown."""
    cluster, alias = flow.cluster(side), flow.alias(side)
    trust = cluster.tls.trust if cluster.tls else None
    kept = [*_login(flow, alias, cluster.authentication, flow.own_secret(side))]
    return tuple(kept + _trust(flow, trust, flow.own_secret(side)))


def validation_credentials(flow: ResolvedFlow, side: Side) -> tuple[str, ...]:
    """Where the validation job's credentials are, as Markdown; empty if it logs in as the connectors do."""
    access = flow.cluster(side).validation
    if access is None:
        return ()
    own = validation_secret_name(flow.secrets_owner(side), side)
    kept = [*_login(flow, flow.alias(side), access.authentication, own)]
    return tuple(kept + _trust(flow, access.trust, own))


def _login(flow: ResolvedFlow, alias: str, login: Authentication | None, own: str) -> Iterator[str]:
    if isinstance(login, TlsAuthentication):
        for key in (login.certificate, login.key):
            yield _key(flow, SecretKey(secret=login.secret, key=key))
    if isinstance(login, CustomAuthentication):
        yield f"the Secrets that `clusters.{alias}.authentication.config` names"
    for key, credential in credentials(login).items():
        yield _kept(flow, credential, own, key)


def _trust(flow: ResolvedFlow, trust: Trust | None, own: str) -> list[str]:
    match trust:
        case KeystoreTrust():
            password = _kept(flow, trust.password, own, "truststore.password")
            return [_key(flow, SecretKey(secret=trust.secret, key=trust.key)), password]
        case SecretPattern():
            return [f"Secret `{flow.namespace}/{trust.secret}`, keys `{trust.pattern}`"]
        case SecretKey() | ConfigValue():
            return [_kept(flow, trust, own, "ca.crt")]
        case None:
            return []


def _kept(flow: ResolvedFlow, credential: SecretKey | ConfigValue, own: str, own_key: str) -> str:
    if isinstance(credential, ConfigValue):
        rendered = _key(flow, SecretKey.model_construct(secret=own, key=own_key))
        return f"configuration key `replication:{credential.config}`, which becomes {rendered}"
    return _key(flow, credential)


def _key(flow: ResolvedFlow, kept: SecretKey) -> str:
    return f"Secret `{flow.namespace}/{kept.secret}` key `{kept.key}`"


CREDENTIALS = "Credentials"


def sections(model: RunbookModel) -> Iterator[Section]:
    """Clusters, flows and credentials."""
    yield Section("Clusters", "I need the address of a cluster?", tuple(_clusters(model)))
    yield Section("Flows", "I need the name of a connector, a topic, a group or a namespace?", tuple(_flows(model)))
    yield Section(CREDENTIALS, "I need to know where a credential is kept?", tuple(_credentials(model)))


def _aliases(model: RunbookModel) -> list[str]:
    return sorted({flow.alias(side) for flow in model.flows for side in SIDES})


def _clusters(model: RunbookModel) -> Iterator[str]:
    clusters = model.settings.topology.clusters
    rows = ((f"`{each}`", clusters[each].region, _address(model, clusters[each])) for each in _aliases(model))
    yield from table(("cluster", "region", "bootstrap address"), rows)


def _address(model: RunbookModel, cluster: Cluster) -> str:
    address = cluster.bootstrap_servers
    if not isinstance(address, ConfigValue):
        return f"`{address}`"
    if model.on_this_machine:
        return f"configuration key `replication:{address.config}`, which `replicate local up` sets"
    return f"configuration key `replication:{address.config}` in `Pulumi.{model.stack}.yaml`"


def _flows(model: RunbookModel) -> Iterator[str]:
    for flow in model.flows:
        parameters = flow_parameters(flow)
        yield from (flow_title(parameters), "")
        yield from table(("what", "name"), _rows(model, flow, parameters))
        yield ""
        yield from table(("topics", f"on {flow.alias('target')}"), _topics(parameters))
        yield ""


def _rows(model: RunbookModel, flow: ResolvedFlow, parameters: FlowParameters) -> Iterator[tuple[str, str]]:
    yield "kind", f"`{flow.expanded.shape.value}`, policy `{parameters.policy.value}`"
    yield "namespace", f"`{flow.namespace}`"
    places = connector_places(flow)
    kind = "KafkaMirrorMaker2" if any(each.resource.kind == "KafkaMirrorMaker2" for each in places) else "KafkaConnect"
    yield "workers", f"{kind} `{flow.workers}`"
    sender = heartbeat_workers(flow)
    if parameters.heartbeats.enabled and sender.workers != flow.workers:
        yield "workers for heartbeats", f"KafkaConnect `{sender.workers}` on {sender.alias(sender.workers_on)}"
    for place in places:
        yield f"{place.role} connector", f"`{place.name}` in {place.resource.kind} `{place.resource.name}`"
    groups = code(parameters.groups) if parameters.groups else "every group with offsets on these topics"
    yield "groups", groups
    if flow.settings.groups_exclude:
        yield "groups left out", code(flow.settings.groups_exclude)
    if flow.settings.topics_exclude:
        yield "topics left out", code(flow.settings.topics_exclude)
    if parameters.offset_syncs.enabled:
        syncs = parameters.offset_syncs
        yield "offset syncs", f"`{syncs.topic}` on {getattr(parameters, syncs.cluster).alias}"
    if parameters.checkpoints.enabled:
        yield "checkpoints", f"`{parameters.checkpoints.topic}` on {parameters.target.alias}"
    if parameters.heartbeats.enabled:
        yield "heartbeats", f"`{parameters.heartbeats.target_topic}` on {parameters.target.alias}"
    yield "last drill", _last_drill(model, parameters)


def _last_drill(model: RunbookModel, flow: FlowParameters) -> str:
    record, refused = model.drills.get(flow.name), refusal(flow, Mode.PLANNED)
    if record is not None:
        return measured(record)
    return f"not possible: {refused.what}" if refused else f"none: run `replicate drill {model.stack} {flow.name}`"


def _topics(flow: FlowParameters) -> Iterator[tuple[str, str]]:
    for topic in flow.topics:
        yield f"`{topic}`", f"`{flow.replication_policy.remote(topic)}`"


def _credentials(model: RunbookModel) -> Iterator[str]:
    rows: dict[tuple[str, ...], None] = {}
    for flow in model.flows:
        for side in SIDES:
            rows |= dict.fromkeys(_credential_rows(flow, side))
    if not rows:
        yield "There is none: no cluster of these flows asks for a login."
        return
    yield "Here is where each credential is kept. This page holds none."
    yield ""
    yield from table(("cluster", "used by", "user", "kept in"), sorted(rows))


def _credential_rows(flow: ResolvedFlow, side: Side) -> Iterator[tuple[str, str, str, str]]:
    cluster, alias = flow.cluster(side), flow.alias(side)
    user = kafka_principal(cluster) or "known to the cluster only"
    for place in connector_credentials(flow, side):
        yield f"`{alias}`", f"workers and connectors of {flow.name}", user, place
    for place in validation_credentials(flow, side):
        yield f"`{alias}`", f"`replicate` for {flow.name}", validation_principal(cluster) or user, place
