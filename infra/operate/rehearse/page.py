"""The runbook of a stack: a Markdown page from templates. It asks no cluster, and only names credentials' places."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.published_verdict import PROOF_HOURS
from kafka_replication.components.flows.resolved import ResolvedFlow, config_values
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.render.flow_acls import flows_without_addresses
from kafka_replication.components.render.heartbeat_workers import heartbeat_workers
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.components.topology import clusters
from kafka_replication.infra.operate.connectors.changes import ConnectorPlace, connector_places
from kafka_replication.infra.operate.flow_access import FlowAccess
from kafka_replication.infra.operate.move.facts import Mode
from kafka_replication.infra.operate.move.failback import refuse_unsuited_back
from kafka_replication.infra.operate.move.failover_plan import refuse_unsuited
from kafka_replication.infra.operate.rehearse.drill import DrillRecord, read_record
from kafka_replication.infra.stack.environment import stack_environment
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.stack_checks import raise_mistakes
from kafka_replication.infra.stack.validation_job import in_cluster


@dataclass(frozen=True)
class RunbookFlow:
    """A flow as the templates use it: `facts` have sentences for unknown addresses, refusals say why not to move."""

    resolved: ResolvedFlow
    facts: FlowParameters
    drill: DrillRecord | None
    connectors: tuple[ConnectorPlace, ...]
    heartbeat_workers: ResolvedFlow
    topics_on_target: list[str]
    failover_refused: RefusedError | None
    failback_refused: RefusedError | None


def runbook(settings: StackSettings, topology_file: str) -> str:
    """Return the page, without any credential; `topology_file` is a path in the project. Raises ReplicationError."""
    raise_mistakes(settings)
    topology = settings.topology
    resolved = flows_without_addresses(topology, settings.region)
    aliases = sorted({flow.alias(side) for flow in resolved for side in SIDES})
    exactly_once: dict[str, ResolvedFlow] = {}
    for flow in resolved:
        exactly_once.setdefault(flow.expanded.where("exactlyOnce"), flow)
    text = _template().render(
        stack=settings.stack,
        topology_file=topology_file,
        on_this_machine=stack_environment(settings).on_this_machine,
        flows=[_runbook_flow(settings, flow) for flow in resolved],
        clusters={alias: topology.clusters[alias] for alias in aliases},
        credentials=sorted({place for flow in resolved for side in SIDES for place in _places(flow, side)}),
        exactly_once=exactly_once,
        validation_job=in_cluster(settings.validation),
        proof_hours=PROOF_HOURS,
        numbers=lambda: count(1).__next__,
    )
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("kafka_replication.infra.operate.rehearse"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"configured_credentials": configured_credentials, "has_own_secrets": has_own_secrets}
    return environment.get_template("page.md.j2")


def _runbook_flow(settings: StackSettings, flow: ResolvedFlow) -> RunbookFlow:
    facts = flow_parameters(flow)
    reverse = [other.name for other in FlowAccess(OpenStack(settings), flow).reverse_flows()]
    remote = facts.replication_policy.remote
    return RunbookFlow(
        resolved=flow,
        facts=facts,
        drill=read_record(settings, flow.name),
        connectors=connector_places(flow),
        heartbeat_workers=heartbeat_workers(flow),
        topics_on_target=sorted({name for topic in facts.topics for name in (remote(topic), topic)}),
        failover_refused=_refusal(lambda: refuse_unsuited(facts, Mode.PLANNED)),
        failback_refused=_refusal(lambda: refuse_unsuited_back(facts, reverse)),
    )


def _refusal(refuse: Callable[[], None]) -> RefusedError | None:
    try:
        refuse()
    except RefusedError as error:
        return error
    return None


class CredentialPlace(NamedTuple):
    """A place (as Markdown) with a credential of a cluster; `user` is empty if only the cluster knows who logs in."""

    cluster: str
    by_connectors: bool
    flow: str
    user: str
    place: str


def _places(flow: ResolvedFlow, side: Side) -> Iterator[CredentialPlace]:
    cluster, alias = flow.cluster(side), flow.alias(side)
    user = clusters.kafka_principal(cluster) or ""
    own_secret = flow.own_secret(side)
    trust = cluster.tls.trust if cluster.tls else None
    for place in (*_login(flow, alias, cluster.authentication, own_secret), *_trust(flow, trust, own_secret)):
        yield CredentialPlace(alias, True, flow.name, user, place)
    if (keeper := cluster.keeper) is not None:
        for place in _login(flow, alias, keeper.authentication, flow.own_secret(side, "keeper")):
            yield CredentialPlace(alias, False, flow.name, clusters.keeper_principal(cluster) or "", place)
    if (access := cluster.validation) is None:
        return
    user = clusters.validation_principal(cluster) or user
    own_secret = flow.own_secret(side, "validation")
    for place in (*_login(flow, alias, access.authentication, own_secret), *_trust(flow, access.trust, own_secret)):
        yield CredentialPlace(alias, False, flow.name, user, place)


def _login(flow: ResolvedFlow, alias: str, login: clusters.Authentication | None, own_secret: str) -> Iterator[str]:
    if isinstance(login, clusters.TlsAuthentication):
        for key in (login.certificate, login.key):
            yield _in_secret(flow, login.secret, key)
    if isinstance(login, clusters.CustomAuthentication):
        yield f"the Secrets that `clusters.{alias}.authentication.config` names"
    for key, credential in clusters.credentials(login).items():
        yield _place(flow, credential, own_secret, key)


def _trust(flow: ResolvedFlow, trust: clusters.Trust | None, own_secret: str) -> Iterator[str]:
    match trust:
        case clusters.KeystoreTrust():
            yield _in_secret(flow, trust.secret, trust.key)
            yield _place(flow, trust.password, own_secret, "truststore.password")
        case clusters.SecretPattern():
            yield f"Secret `{flow.namespace}/{trust.secret}`, keys `{trust.pattern}`"
        case clusters.SecretKey() | clusters.ConfigValue():
            yield _place(flow, trust, own_secret, "ca.crt")


def _place(
    flow: ResolvedFlow, credential: clusters.SecretKey | clusters.ConfigValue, own_secret: str, own_key: str
) -> str:
    if isinstance(credential, clusters.ConfigValue):
        rendered = _in_secret(flow, own_secret, own_key)
        return f"configuration key `replication:{credential.config}`, which becomes {rendered}"
    return _in_secret(flow, credential.secret, credential.key)


def _in_secret(flow: ResolvedFlow, secret: str, key: str) -> str:
    return f"Secret `{flow.namespace}/{secret}` key `{key}`"


def configured_credentials(cluster: clusters.Cluster) -> list[str]:
    """Return the configuration keys of the cluster's credentials."""
    address = cluster.bootstrap_servers
    keys = {value.config for value in config_values(cluster)}
    return sorted(keys - ({address.config} if isinstance(address, clusters.ConfigValue) else set()))


def has_own_secrets(cluster: clusters.Cluster) -> bool:
    """Return whether a credential is in a Secret that the stack does not make."""
    return '"secret":' in cluster.model_dump_json()
