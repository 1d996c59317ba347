"""The logins that connectors use: when their certificates expire, and which of them can be tried from here. Only reads.

For a client certificate, only the certificate is read here, never its key.
"""

from collections.abc import Callable, Iterator

from cryptography import x509

from components.clients.errors import NoAnswerError
from components.clients.login import Read
from components.contract.parameters import CertificateAuthentication, ClusterParameters, UnsupportedAuthentication
from components.contract.parameters import Reference as CredentialReference
from components.topology.clusters import Cluster, SecretPattern
from infra.operate.status.facts import CertificateFacts, LoginFacts


def certificates(cluster: ClusterParameters, read: Read) -> tuple[CertificateFacts, ...]:
    """For each key that the connectors read for this cluster, the certificate that expires first.

    JKS and PKCS#12 files are not opened, and Secrets whose keys a pattern selects are not read. Raises NoAnswerError
    for a key that holds no certificate, and what `read` raises.
    """
    found = []
    for reference in _pem(cluster):
        assert reference.secret is not None
        place, key = f"{reference.secret.namespace}/{reference.secret.name}", reference.secret.key
        try:
            chain = x509.load_pem_x509_certificates(read(reference).encode())
        except ValueError:
            raise NoAnswerError(f"Kafka cluster {cluster.alias}: {key} in Secret {place} is no certificate") from None
        found.append(CertificateFacts(place, key, min(each.not_valid_after_utc for each in chain)))
    return tuple(found)


def _pem(cluster: ClusterParameters) -> Iterator[CredentialReference]:
    if cluster.trust is not None and cluster.trust.format == "PEM":
        yield cluster.trust.certificates
    if isinstance(cluster.authentication, CertificateAuthentication):
        yield cluster.authentication.certificate


def can_be_tried(declared: Cluster, login: ClusterParameters) -> bool:
    """Whether a client on this machine can log in as the connectors do; connectors without a login have none to try."""
    if login.authentication is None or isinstance(login.authentication, UnsupportedAuthentication):
        return False
    trust = declared.tls.trust if declared.tls is not None else None
    if isinstance(trust, SecretPattern) and trust.key is None:
        return False
    return login.trust is None or login.trust.format == "PEM"


def login_facts(
    alias: str, read: Callable[[], tuple[CertificateFacts, ...]], ask: Callable[[], object] | None
) -> LoginFacts:
    """Read the certificates for a cluster. With `ask`, also query the cluster with the connectors' login, even if a
    certificate cannot be read. `read` and `ask` may raise NoAnswerError.
    """
    found: tuple[CertificateFacts, ...] = ()
    unread = ""
    try:
        found = read()
    except NoAnswerError as error:
        unread = str(error)
    if ask is None:
        return LoginFacts(alias, None, unread, found)
    try:
        ask()
    except NoAnswerError as error:
        return LoginFacts(alias, False if error.refused else None, str(error), found)
    return LoginFacts(alias, True, unread, found)
