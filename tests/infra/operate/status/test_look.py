"""When the certificates of a login expire, and whether a cluster accepts it; what was not checked is not fine."""

import gc
import time
import weakref
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kafka_replication.components.clients.errors import NoAnswerError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import ClusterParameters, CredentialReference
from kafka_replication.components.contract.readiness import unjudged
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.render.job_parameters import connector_login, flow_parameters
from kafka_replication.infra.operate.status.facts import CertificateFacts, LoginFacts
from kafka_replication.infra.operate.status.look import (
    Judged,
    Judgements,
    Readers,
    can_be_tried,
    certificates,
    judged_applications,
    login_facts,
    rounds,
)
from tests.builders import a_cluster, a_resolved_flow
from tests.components.clients.brokers import Cluster

SOON, LATER = (datetime(2026, month, 1, tzinfo=UTC) for month in (2, 6))
CA: dict[str, Any] = {"tls": {"trust": {"secret": "useast-ca", "key": "ca.crt"}}}
TLS: dict[str, Any] = {**CA, "authentication": {"type": "tls", "secret": "useast-client", "principal": "CN=mirror"}}
FOUND = (CertificateFacts("mirror-orders/useast-client", "user.crt", SOON.isoformat()),)


def pem(*ends: datetime) -> str:
    """Certificates that expire at these times, one after the other."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mirror")])
    chain = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(end - timedelta(days=90))
        .not_valid_after(end)
        .sign(key, hashes.SHA256())
        for end in ends
    )
    return "".join(each.public_bytes(serialization.Encoding.PEM).decode() for each in chain)


def logged_in(side: Side = "source", **cluster: Any) -> tuple[Any, Any]:
    """The declared source cluster of a flow, and its connectors' login."""
    flow = a_resolved_flow({"useast": a_cluster(**cluster), "uswest": a_cluster("us-west-2")})
    return flow.cluster(side), connector_login(flow, side)


def reading(texts: dict[str, str]) -> Callable[[CredentialReference], str]:
    """Returns a function that reads these keys and no other."""

    def read(reference: CredentialReference) -> str:
        assert reference.secret is not None
        return texts[reference.secret.key]

    return read


def test_the_first_expiry_of_a_bundle_counts_and_the_client_key_is_not_read() -> None:
    _, login = logged_in(**TLS)
    assert certificates(login, reading({"ca.crt": pem(LATER, SOON), "user.crt": pem(LATER)})) == (
        CertificateFacts("mirror-orders/useast-ca", "ca.crt", SOON.isoformat()),
        CertificateFacts("mirror-orders/useast-client", "user.crt", LATER.isoformat()),
    )


def test_a_secret_key_that_holds_no_certificate_is_an_error() -> None:
    _, login = logged_in(**CA)
    with pytest.raises(NoAnswerError, match=r"ca.crt in Secret mirror-orders/useast-ca is no certificate") as caught:
        certificates(login, reading({"ca.crt": "not-to-be-shown"}))
    assert "not-to-be-shown" not in str(caught.value)


KEYSTORE = {"secret": "ca", "key": "t.jks", "format": "JKS", "password": {"secret": "ca", "key": "password"}}
PASSWORD = {"secret": "useast-mirror", "key": "password"}
OAUTH = {"type": "oauth", "tokenEndpointUri": "https://login", "clientId": "m", "clientSecret": PASSWORD}


@pytest.mark.parametrize(
    ("cluster", "tried"),
    [
        pytest.param({}, True, id="a password"),
        pytest.param(TLS, True, id="a certificate"),
        pytest.param({"tls": {"trust": KEYSTORE}}, False, id="a JKS truststore"),
        pytest.param({"tls": {"trust": {"secret": "ca", "pattern": "*.crt"}}}, False, id="every key of a Secret"),
        pytest.param({"authentication": OAUTH}, False, id="OAuth"),
        pytest.param({"authentication": None}, False, id="no login"),
    ],
)
def test_a_login_that_only_connect_can_use_is_not_tried(cluster: dict[str, Any], tried: bool) -> None:
    assert can_be_tried(*logged_in(**cluster)) is tried


def test_a_login_is_refused_or_accepted_as_the_broker_answers() -> None:
    brokers = Cluster()
    wrong = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "v"}
    refused = KafkaReader("useast", {**brokers.config, **wrong, "sasl.password": "not-the-one"}, seconds=2.0)
    accepted = KafkaReader("useast", brokers.config)
    found = login_facts("useast", lambda: FOUND, refused.topics)
    assert (found.accepted, found.certificates) == (False, FOUND)
    assert found.why.startswith("Kafka cluster useast refuses the login: ")
    assert login_facts("useast", lambda: FOUND, accepted.topics) == LoginFacts("useast", True, "", FOUND)


def no_answer() -> Any:
    raise NoAnswerError("no answer")


@pytest.mark.parametrize(
    ("read", "ask", "facts"),
    [
        pytest.param(
            lambda: FOUND, no_answer, LoginFacts("useast", None, "no answer", FOUND), id="the cluster is down"
        ),
        pytest.param(lambda: FOUND, None, LoginFacts("useast", None, "", FOUND), id="it is not tried"),
        pytest.param(no_answer, None, LoginFacts("useast", None, "no answer"), id="a Secret cannot be read"),
        pytest.param(no_answer, str, LoginFacts("useast", True, "no answer"), id="a CA cannot be read"),
    ],
)
def test_facts_about_a_login_that_could_not_be_read_stay_unknown(read: Any, ask: Any, facts: LoginFacts) -> None:
    assert login_facts("useast", read, ask) == facts


class NoReaders:
    """No cluster of the stack answers."""

    stack = SimpleNamespace(name="prod")

    def of(self, cluster: ClusterParameters) -> KafkaReader:
        raise NoAnswerError(f"{cluster.alias} does not answer")


@pytest.mark.parametrize(
    ("seconds_left", "edited", "counts"),
    [
        pytest.param(10, False, True, id="young"),
        pytest.param(-10, False, False, id="old"),
        pytest.param(10, True, False, id="the topology was edited"),
    ],
)
def test_applications_are_judged_once_a_minute(seconds_left: int, edited: bool, counts: bool) -> None:
    """A look every five seconds would otherwise make brokers list thousands of ACLs every five seconds."""
    flow = flow_parameters(a_resolved_flow())
    earlier = unjudged(flow, "earlier")
    of = flow.model_copy(update={"own_principals": ("User:other",)}) if edited else flow
    before = Judged(of, 17, time.monotonic() + seconds_left, earlier)
    judgements: Judgements = {("prod", "orders"): before}
    judged_ms, judged = judged_applications(flow, cast(Readers, NoReaders()), judgements)
    if counts:
        assert (judged_ms, judged) == (17, earlier)
    else:
        assert judged.not_judged == ("useast does not answer",)
    # A cluster that did not answer is asked again in the next look.
    assert judgements == {("prod", "orders"): before}


def test_a_judgement_that_could_not_be_made_is_not_kept() -> None:
    judgements: Judgements = {}
    judged_applications(flow_parameters(a_resolved_flow()), cast(Readers, NoReaders()), judgements)
    assert judgements == {}


class Client:
    """Refers to itself, as Kafka clients do through their callbacks."""

    def __init__(self) -> None:
        self.callback = self


def test_kafka_clients_of_a_look_are_collected_before_the_next_look() -> None:
    """An exporter runs for weeks; 300 looks that were not collected held 400 open files."""
    looks = rounds(list, every_seconds=0)
    gc.disable()
    try:
        next(looks)
        left = weakref.ref(Client())
        assert left() is not None
        next(looks)
        assert left() is None
    finally:
        gc.enable()
