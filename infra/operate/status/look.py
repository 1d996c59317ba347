"""Looks at every flow of a stack: Kubernetes, then the target, then the source, each question with a deadline.

The source is asked last: an older answer of the source would make the bounds on lag and on re-read records too low.
"""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

from components.clients.errors import NoAnswerError
from components.clients.login import Purpose, client_config
from components.clients.reader import KafkaReader
from components.contract.clusters import ClusterParameters
from components.contract.parameters import FlowParameters
from components.contract.problems import CannotRunError
from components.flows.resolved import ResolvedFlow, resolve_flows
from components.kafka.replication_policy import SIDES, Side
from components.render.acls import flows_without_addresses
from components.render.job_parameters import connector_login, flow_parameters
from infra.kubernetes.access import api_client
from infra.kubernetes.api import KubernetesApi
from infra.operate.status.document import FlowStatus, StackStatus, StatusDocument
from infra.operate.status.facts import CertificateFacts, FlowFacts, GroupFacts, Lag, LoginFacts, Unasked
from infra.operate.status.flow_status import LISTED, flow_status
from infra.operate.status.kafka_facts import group_facts, heartbeat_ms, lag, read_source, read_syncs, read_target
from infra.operate.status.kubernetes_facts import (
    Objects,
    connector_facts,
    needed_objects,
    read_objects,
    unreachable,
    verdict_facts,
)
from infra.operate.status.logins import can_be_tried, certificates, login_facts
from infra.stack.environment import stack_environment
from infra.stack.kafka_login import secrets_reader
from infra.stack.settings import StackSettings
from infra.stack.stack_checks import raise_mistakes

#: Seconds to connect to the Kubernetes API server, and for its answer.
KUBERNETES_SECONDS = (3.0, 5.0)
_THREADS = 16
_CREDENTIALS_DOWN = "its credentials are in Kubernetes, which does not answer"
_PURPOSE = Purpose("The command asks both clusters of a flow with the login of the validation job.")

T = TypeVar("T")


def look(stacks: list[StackSettings], listed: int | None = LISTED) -> StatusDocument:
    """The status of every flow of these stacks, in parallel, with this many partitions and groups (None: all).

    Raises ReplicationError for a topology with mistakes.
    """
    asked_at = datetime.now(UTC).isoformat(timespec="seconds")
    with ThreadPoolExecutor(max(1, len(stacks))) as pool:
        found = tuple(pool.map(lambda each: _look_at_stack(each, listed), stacks))
    return StatusDocument(asked_at=asked_at, stacks=found)


def rounds(
    read: Callable[[], list[StackSettings]], every_seconds: float, listed: int | None = LISTED
) -> Iterator[StatusDocument]:
    """Look repeatedly, with a pause in between. Before each look, `read` returns the stacks that the files declare by
    then.
    """
    pause = threading.Event()
    while True:
        yield look(read(), listed)
        # Kafka clients refer to themselves: until they are collected they keep their threads and connections.
        gc.collect()
        pause.wait(every_seconds)


def flows_and_kubernetes(settings: StackSettings) -> tuple[tuple[ResolvedFlow, ...], KubernetesApi]:
    """The flows of a stack, and its cluster, which is not asked yet.

    Raises CannotRunError if the environment is not available, ReplicationError for a topology with mistakes.
    """
    environment = stack_environment(settings)
    configured = environment.configured()
    raise_mistakes(settings)
    flows = resolve_flows(configured.topology, configured.region, configured.values)
    return flows, api_client(settings, environment.kubernetes_access(), KUBERNETES_SECONDS)


def _look_at_stack(settings: StackSettings, listed: int | None) -> StackStatus:
    try:
        flows, api = flows_and_kubernetes(settings)
    except CannotRunError as error:
        unseen = flows_without_addresses(settings.topology, settings.region)
        statuses = (_nothing_asked(flow, f"{error.what} ({error.where})") for flow in unseen)
        return StackStatus(stack=settings.stack, flows=tuple(statuses))
    with api, ThreadPoolExecutor(_THREADS) as pool:
        objects = read_objects(api, needed_objects(flows), pool)
        readers = Readers(api, unreachable(objects))
        looks = [pool.submit(_look_at_flow, flow, objects, readers, listed) for flow in flows]
        return StackStatus(stack=settings.stack, flows=tuple(each.result() for each in looks))


class Readers:
    """The Kafka clusters of a stack: one reader for all flows that log in to a cluster in the same way."""

    def __init__(self, api: KubernetesApi, down: Unasked | None) -> None:
        """`down` says that Kubernetes does not answer; then it is not asked for each credential either."""
        self._api, self._down = api, down
        self._lock = threading.Lock()
        self._of_cluster: dict[ClusterParameters, KafkaReader] = {}
        self._of_login: dict[tuple[tuple[str, object], ...], KafkaReader] = {}

    def of(self, cluster: ClusterParameters) -> KafkaReader:
        """The reader of a cluster. Raises NoAnswerError if its credentials cannot be read or used."""
        if self._down is not None:
            raise NoAnswerError(f"Kafka cluster {cluster.alias}: {_CREDENTIALS_DOWN}")
        with self._lock:
            if cluster not in self._of_cluster:
                self._of_cluster[cluster] = self._logged_in(cluster)
            return self._of_cluster[cluster]

    def certificates(self, cluster: ClusterParameters) -> tuple[CertificateFacts, ...]:
        """The certificates for this cluster. Raises NoAnswerError if they cannot be read."""
        if self._down is not None:
            raise NoAnswerError(f"Kafka cluster {cluster.alias}: {_CREDENTIALS_DOWN}")
        try:
            return certificates(cluster, secrets_reader(self._api, cluster.alias, _PURPOSE))
        except CannotRunError as error:
            raise NoAnswerError(f"Kafka cluster {cluster.alias}: {error.what} ({error.where})") from None

    def _logged_in(self, cluster: ClusterParameters) -> KafkaReader:
        try:
            config = client_config(cluster, secrets_reader(self._api, cluster.alias, _PURPOSE), _PURPOSE)
        except CannotRunError as error:
            raise NoAnswerError(f"Kafka cluster {cluster.alias}: {error.what} ({error.where})") from None
        login = (("alias", cluster.alias), *sorted(config.items()))
        if login not in self._of_login:
            self._of_login[login] = KafkaReader(cluster.alias, config)
        return self._of_login[login]


def _look_at_flow(flow: ResolvedFlow, objects: Objects, readers: Readers, listed: int | None) -> FlowStatus:
    parameters = flow_parameters(flow)
    beat = answer(lambda: heartbeat_ms(parameters, readers.of(parameters.target)))
    found_lag, groups = _positions(flow, parameters, readers)
    facts = FlowFacts(
        time.time_ns() // 1_000_000,
        connector_facts(flow, objects),
        beat,
        found_lag,
        groups,
        verdict_facts(flow, objects),
        tuple(_login(flow, side, readers) for side in SIDES),
    )
    return flow_status(parameters, facts, listed)


def _login(flow: ResolvedFlow, side: Side, readers: Readers) -> LoginFacts:
    cluster = connector_login(flow, side)
    tried = can_be_tried(flow.cluster(side), cluster)
    ask = (lambda: readers.of(cluster).topics()) if tried else None
    return login_facts(cluster.alias, lambda: readers.certificates(cluster), ask)


def _positions(
    flow: ResolvedFlow, parameters: FlowParameters, readers: Readers
) -> tuple[Lag | Unasked, tuple[GroupFacts, ...] | Unasked]:
    """Lag and groups, which both need data from both clusters."""
    on_target = answer(lambda: read_target(flow, parameters, readers.of(parameters.target)))
    side = parameters.source if parameters.offset_syncs.cluster == "source" else parameters.target
    syncs = answer(lambda: read_syncs(parameters, readers.of(side)))
    on_source = answer(lambda: read_source(flow, parameters, readers.of(parameters.source)))
    if isinstance(on_target, Unasked) or isinstance(syncs, Unasked) or isinstance(on_source, Unasked):
        missing = dict.fromkeys(each.reason for each in (on_target, syncs, on_source) if isinstance(each, Unasked))
        nothing = Unasked(next(iter(missing)), tuple(missing)[1:])
        return nothing, nothing
    source = readers.of(parameters.source)
    found = answer(lambda: lag(flow, parameters, source, on_source, on_target, syncs))
    return found, group_facts(parameters, on_source, on_target, syncs)


def answer(ask: Callable[[], T]) -> T | Unasked:
    """What `ask` returns, or why it could not be asked."""
    try:
        return ask()
    except NoAnswerError as error:
        return Unasked(str(error))


def _nothing_asked(flow: ResolvedFlow, why: str) -> FlowStatus:
    nothing = Unasked(why)
    logins = tuple(LoginFacts(flow.alias(side), None, why) for side in SIDES)
    facts = FlowFacts(time.time_ns() // 1_000_000, nothing, nothing, nothing, nothing, nothing, logins)
    return flow_status(flow_parameters(flow), facts)
