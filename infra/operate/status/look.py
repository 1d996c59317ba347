"""Looks at every flow of a stack: Kubernetes, then the target, then the source, each question with a deadline.

The source is asked last: an older answer of the source would make the bounds on lag and on re-read records too low. The
connectors' logins are tried, and their certificates read; for a client certificate, never its key.
"""

import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias, TypeVar

from cryptography import x509

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.login import Purpose, Read
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.clients.readiness import ready_facts
from kafka_replication.components.contract.parameters import (
    CertificateAuthentication,
    ClusterParameters,
    CredentialReference,
    FlowParameters,
    UnsupportedAuthentication,
)
from kafka_replication.components.contract.problems import CannotRunError, NoAnswer
from kafka_replication.components.contract.readiness import NO_QUOTAS, Readiness, judge, unjudged
from kafka_replication.components.contract.report import TopicIds
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.kafka.losses import LogMemory
from kafka_replication.components.kafka.replication_policy import SIDES, Side
from kafka_replication.components.render.job_parameters import connector_login, flow_parameters
from kafka_replication.components.topology.clusters import Cluster, SecretPattern
from kafka_replication.infra.operate.status.document import FlowStatus, StackStatus, StatusDocument
from kafka_replication.infra.operate.status.facts import (
    CertificateFacts,
    FlowFacts,
    GroupFacts,
    Lag,
    LoginFacts,
    Losses,
    VerdictFacts,
)
from kafka_replication.infra.operate.status.flow_status import LISTED, flow_status
from kafka_replication.infra.operate.status.kafka_facts import (
    KafkaLook,
    heartbeat_ms,
    kept_ms,
    read_source,
    read_syncs,
    read_target,
)
from kafka_replication.infra.operate.status.kubernetes_facts import (
    Objects,
    connector_facts,
    needed_objects,
    read_objects,
    unreachable,
    verdict_facts,
)
from kafka_replication.infra.stack.session import QUICK, OpenStack


def certificates(cluster: ClusterParameters, read: Read) -> tuple[CertificateFacts, ...]:
    """Return the first certificate to expire in each PEM key that connectors read; raises NoAnswerError."""
    facts = []
    for reference in _pem(cluster):
        assert reference.secret is not None
        place, key = f"{reference.secret.namespace}/{reference.secret.name}", reference.secret.key
        try:
            chain = x509.load_pem_x509_certificates(read(reference).encode())
        except ValueError:
            raise NoAnswerError(f"Kafka cluster {cluster.alias}: {key} in Secret {place} is no certificate") from None
        first = min(certificate.not_valid_after_utc for certificate in chain)
        facts.append(CertificateFacts(place, key, first.isoformat()))
    return tuple(facts)


def _pem(cluster: ClusterParameters) -> Iterator[CredentialReference]:
    if cluster.trust is not None and cluster.trust.format == "PEM":
        yield cluster.trust.certificates
    if isinstance(cluster.authentication, CertificateAuthentication):
        yield cluster.authentication.certificate


def can_be_tried(declared: Cluster, login: ClusterParameters) -> bool:
    """Return whether a client on this machine can log in as the connectors do; without a login there is none to try."""
    if login.authentication is None or isinstance(login.authentication, UnsupportedAuthentication):
        return False
    trust = declared.tls.trust if declared.tls is not None else None
    if isinstance(trust, SecretPattern) and trust.key is None:
        return False
    return login.trust is None or login.trust.format == "PEM"


def login_facts(
    alias: str, read: Callable[[], tuple[CertificateFacts, ...]], ask: Callable[[], object] | None
) -> LoginFacts:
    """Read a cluster's certificates, and try its login if there is an `ask`; both may raise NoAnswerError."""
    facts: tuple[CertificateFacts, ...] = ()
    unread = ""
    try:
        facts = read()
    except NoAnswerError as error:
        unread = str(error)
    if ask is None:
        return LoginFacts(alias, None, unread, facts)
    try:
        ask()
    except NoAnswerError as error:
        return LoginFacts(alias, False if error.refused else None, str(error), facts)
    return LoginFacts(alias, True, unread, facts)


_THREADS = 16
_CREDENTIALS_DOWN = "its credentials are in Kubernetes, which does not answer"
_PURPOSE = Purpose("The command asks both clusters of a flow with the login of the validation job.")

T = TypeVar("T")


#: What earlier looks saw of both sides of each flow, by stack and flow.
Memories: TypeAlias = dict[tuple[str, str], Mapping[Side, LogMemory]]


class Judged(NamedTuple):
    """What a flow's applications lack, when that was judged, and with which parameters; `until` is monotonic time."""

    parameters: FlowParameters
    at_ms: int
    until: float
    readiness: Readiness


#: By stack and flow.
Judgements: TypeAlias = dict[tuple[str, str], Judged]
#: How long such a judgement counts: thousands of ACLs take seconds, and people change them.
_JUDGED_SECONDS = 60


def look(
    stacks: Sequence[OpenStack],
    listed: int | None = LISTED,
    memories: Memories | None = None,
    judgements: Judgements | None = None,
) -> StatusDocument:
    """Return the status of every flow. The stacks are asked in parallel; `listed` limits the partitions and groups of
    each flow (None: all). Whatever does not answer is part of the status. `memories` and `judgements` are those of
    earlier looks, and get what this one sees; without `judgements`, applications are not judged.
    """
    seen = {} if memories is None else memories
    asked_at = datetime.now(UTC).isoformat(timespec="seconds")
    with ThreadPoolExecutor(max(1, len(stacks))) as pool:
        statuses = tuple(pool.map(lambda stack: _look_at_stack(stack, listed, seen, judgements), stacks))
    return StatusDocument(asked_at=asked_at, stacks=statuses)


def rounds(read: Callable[[], Sequence[OpenStack]], every_seconds: float) -> Iterator[Sequence[OpenStack]]:
    """Open stacks again and again, with a pause in between. `read` returns the stacks that the files then declare."""
    pause = threading.Event()
    while True:
        with opened(read()) as stacks:
            yield stacks
        del stacks
        # Kafka clients refer to themselves: until they are collected they keep their threads and connections.
        gc.collect()
        pause.wait(every_seconds)


@contextmanager
def opened(stacks: Sequence[OpenStack]) -> Iterator[Sequence[OpenStack]]:
    """Close these stacks at the end."""
    with ExitStack() as closed_at_the_end:
        for stack in stacks:
            closed_at_the_end.enter_context(stack)
        yield stacks


def _look_at_stack(
    stack: OpenStack, listed: int | None, memories: Memories, judgements: Judgements | None
) -> StackStatus:
    try:
        flows, api = stack.flows, stack.kubernetes
    except CannotRunError as error:
        statuses = (_nothing_asked(flow, f"{error.what} ({error.where})") for flow in stack.declared_flows)
        return StackStatus(stack=stack.name, flows=tuple(statuses))
    with ThreadPoolExecutor(_THREADS) as pool:
        objects = read_objects(api.within(QUICK), needed_objects(flows), pool)
        readers = Readers(stack, unreachable(objects))
        for flow in flows:
            memories.setdefault((stack.name, flow.name), {side: LogMemory() for side in SIDES})
        looks = [
            pool.submit(_look_at_flow, flow, objects, readers, listed, memories[stack.name, flow.name], judgements)
            for flow in flows
        ]
        return StackStatus(stack=stack.name, flows=tuple(status.result() for status in looks))


@dataclass(frozen=True)
class Readers:
    """The Kafka clusters of a stack, which may not answer; if Kubernetes is `down`, it is asked for no credential."""

    stack: OpenStack
    down: NoAnswer | None = None

    def of(self, cluster: ClusterParameters) -> KafkaReader:
        """Return the reader of a cluster. Raises NoAnswerError if its credentials cannot be read or used."""
        with self._credentials_of(cluster):
            return self.stack.kafka(KafkaReader, cluster, _PURPOSE)

    def certificates(self, cluster: ClusterParameters) -> tuple[CertificateFacts, ...]:
        """Return the certificates for a cluster. Raises NoAnswerError if they cannot be read."""
        with self._credentials_of(cluster):
            return certificates(cluster, lambda wanted: self.stack.credential(cluster.alias, wanted, _PURPOSE))

    @contextmanager
    def _credentials_of(self, cluster: ClusterParameters) -> Iterator[None]:
        if self.down is not None:
            raise NoAnswerError(f"Kafka cluster {cluster.alias}: {_CREDENTIALS_DOWN}")
        try:
            yield
        except CannotRunError as error:
            raise NoAnswerError(f"Kafka cluster {cluster.alias}: {error.what} ({error.where})") from None


def _look_at_flow(
    flow: ResolvedFlow,
    objects: Objects,
    readers: Readers,
    listed: int | None,
    memory: Mapping[Side, LogMemory],
    judgements: Judgements | None,
) -> FlowStatus:
    parameters = readers.stack.parameters(flow)
    beat = answer(lambda: heartbeat_ms(parameters, readers.of(parameters.target)))
    kept = answer(lambda: kept_ms(parameters, readers.of(parameters.target)))
    verdict = verdict_facts(flow, objects)
    proven = verdict.topic_ids if isinstance(verdict, VerdictFacts) and verdict.current else {}
    lag_facts, losing, groups = _positions(flow, parameters, readers, proven, memory)
    judged_ms, applications = (0, None) if judgements is None else judged_applications(parameters, readers, judgements)
    facts = FlowFacts(
        time.time_ns() // 1_000_000,
        connector_facts(flow, objects),
        beat,
        lag_facts,
        groups,
        verdict,
        losing,
        tuple(_login(flow, side, readers) for side in SIDES),
        None if isinstance(kept, NoAnswer) else kept,
        applications,
        judged_ms,
    )
    return flow_status(parameters, facts, listed)


def judged_applications(parameters: FlowParameters, readers: Readers, judgements: Judgements) -> tuple[int, Readiness]:
    """Return when it was judged whether the applications can start on the target, and the judgement."""
    key, now_ms = (readers.stack.name, parameters.name), time.time_ns() // 1_000_000
    before = judgements.get(key)
    if before is not None and before.parameters == parameters and time.monotonic() < before.until:
        return before.at_ms, before.readiness

    def ask() -> Readiness:
        source, target = readers.of(parameters.source), readers.of(parameters.target)
        return judge(parameters, ready_facts(parameters, source, target, NO_QUOTAS)).readiness

    judged = answer(ask)
    if isinstance(judged, NoAnswer):
        return now_ms, unjudged(parameters, *judged.reasons)
    judgements[key] = Judged(parameters, now_ms, time.monotonic() + _JUDGED_SECONDS, judged)
    return now_ms, judged


def _login(flow: ResolvedFlow, side: Side, readers: Readers) -> LoginFacts:
    cluster = connector_login(flow, side)
    tried = can_be_tried(flow.cluster(side), cluster)
    ask = (lambda: readers.of(cluster).topics()) if tried else None
    return login_facts(cluster.alias, lambda: readers.certificates(cluster), ask)


def _positions(
    flow: ResolvedFlow,
    parameters: FlowParameters,
    readers: Readers,
    proven: TopicIds,
    memory: Mapping[Side, LogMemory],
) -> tuple[Lag | NoAnswer, Losses | NoAnswer, tuple[GroupFacts, ...] | NoAnswer]:
    """Return lag, losses and groups, which need data from both clusters."""
    side = parameters.source if parameters.offset_syncs.cluster == "source" else parameters.target
    # Before the ends of the logs that they are about.
    syncs = answer(lambda: read_syncs(parameters, readers.of(side)))
    on_target = answer(lambda: read_target(flow, parameters, readers.of(parameters.target)))
    on_source = answer(lambda: read_source(parameters, readers.of(parameters.source)))
    if isinstance(on_target, NoAnswer) or isinstance(syncs, NoAnswer) or isinstance(on_source, NoAnswer):
        facts = (syncs, on_target, on_source)
        missing = dict.fromkeys(fact.reason for fact in facts if isinstance(fact, NoAnswer))
        nothing = NoAnswer(next(iter(missing)), tuple(missing)[1:])
        return nothing, nothing, nothing
    seen, source = KafkaLook(parameters, on_source, on_target, syncs), readers.of(parameters.source)
    behind = answer(lambda: seen.lag(source))
    if isinstance(behind, NoAnswer):
        return behind, behind, seen.groups()

    def losing() -> Losses:
        sides: Mapping[Side, KafkaReader] = {"source": source, "target": readers.of(parameters.target)}
        found = seen.losses(sides, behind, memory["source"], time.time_ns() // 1_000_000)
        return replace(found, replaced=seen.replaced(sides, proven, memory))

    return behind, answer(losing), seen.groups()


def answer(ask: Callable[[], T]) -> T | NoAnswer:
    """Return the answer of `ask`, or why it could not be asked."""
    try:
        return ask()
    except NoAnswerError as error:
        return NoAnswer(str(error))


def _nothing_asked(flow: ResolvedFlow, why: str) -> FlowStatus:
    nothing = NoAnswer(why)
    logins = tuple(LoginFacts(flow.alias(side), None, why) for side in SIDES)
    facts = FlowFacts(time.time_ns() // 1_000_000, nothing, nothing, nothing, nothing, nothing, nothing, logins)
    return flow_status(flow_parameters(flow), facts)
