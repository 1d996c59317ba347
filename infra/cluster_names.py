"""The topics and groups that a stack's source clusters have now, asked with the login of the validation job.

Reads the credentials where the stack keeps them, in Secrets of its Kubernetes cluster. Nothing is written.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from components.checks.listed_names import ClusterNames
from components.contract.clusters import (
    CertificateAuthentication,
    ClusterParameters,
    PasswordAuthentication,
    SecretReference,
)
from components.contract.clusters import Reference as CredentialReference
from components.contract.problems import CannotRunError
from components.flows.resolved import resolve_flows
from components.render.job_parameters import flow_parameters
from infra.environment import stack_environment
from infra.kubernetes.access import api_client, asking_kubernetes
from infra.kubernetes.api import KubernetesApi, Reference
from infra.settings import StackSettings

_SECONDS = 15.0
_CRITICAL_ONLY = 2
_WHY = "`--topics cluster` reads the names of topics and groups with the login of the validation job."
#: The value of a credential.
Read = Callable[[CredentialReference], str]


def names_in_clusters(settings: StackSettings) -> dict[str, ClusterNames]:
    """Ask every source cluster of a stack's flows. Raises CannotRunError if one cannot be asked."""
    environment = stack_environment(settings)
    configured = environment.configured()
    flows = resolve_flows(configured.topology, configured.region, configured.values)
    clusters = {flow.settings.source: flow_parameters(flow).source for flow in flows}
    with api_client(settings, environment.kubernetes_access()) as api:
        configs = {alias: client_config(cluster, _reader(api, alias)) for alias, cluster in clusters.items()}
    return {alias: _ask(alias, config) for alias, config in configs.items()}


def client_config(cluster: ClusterParameters, read: Read) -> dict[str, str | int | float | bool]:
    """Return librdkafka's configuration for a cluster. It contains credentials, so never print it."""
    config: dict[str, str | int | float | bool] = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": cluster.security_protocol,
        # librdkafka would print its log to the terminal; every failure reaches the caller anyway.
        "log_level": _CRITICAL_ONLY,
    }
    if cluster.trust is not None:
        if cluster.trust.format != "PEM":
            raise _unusable(cluster.alias, f"the trust of `{cluster.alias}` is a {cluster.trust.format} file", "trust")
        config["ssl.ca.pem"] = read(cluster.trust.certificates)
    match cluster.authentication:
        case PasswordAuthentication() as login:
            password = read(login.password)
            config |= {"sasl.mechanism": login.type.upper(), "sasl.username": login.username, "sasl.password": password}
        case CertificateAuthentication() as login:
            config |= {"ssl.certificate.pem": read(login.certificate), "ssl.key.pem": read(login.key)}
        case None:
            pass
        case other:
            raise _unusable(cluster.alias, f"the login to `{cluster.alias}` is {other.type}", "authentication")
    return config


def _unusable(alias: str, what: str, key: str) -> CannotRunError:
    remedy = f"set `clusters.{alias}.validation.{key}`, or give `--topics` a file."
    return CannotRunError("login-unusable", f"{what}, which this command cannot use", f"clusters.{alias}", _WHY, remedy)


def _reader(api: KubernetesApi, alias: str) -> Read:
    def read(reference: CredentialReference) -> str:
        assert reference.secret is not None
        return _secret_value(api, alias, reference.secret)

    return read


def _secret_value(api: KubernetesApi, alias: str, wanted: SecretReference) -> str:
    where = f"Secret {wanted.namespace}/{wanted.name}"
    with asking_kubernetes(where, _WHY, f"let your user `get` the {where}, or give `--topics` a file."):
        secret = api.get(Reference("v1", "Secret", wanted.namespace, wanted.name))
    data: Mapping[str, Any] = (secret or {}).get("data") or {}
    if wanted.key not in data:
        what = f"there is no key `{wanted.key}`" if secret else "there is no such Secret"
        remedy = "deploy the stack or create the Secret, or give `--topics` a file."
        raise CannotRunError("no-credential", f"{what}, for `{alias}`", where, _WHY, remedy)
    return base64.b64decode(data[wanted.key]).decode()


def _ask(alias: str, config: Mapping[str, str | int | float | bool]) -> ClusterNames:
    # A check without this option must not wait for the client to load.
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        admin = AdminClient(dict(config))
        topics = admin.list_topics(timeout=_SECONDS).topics
        groups = admin.list_consumer_groups(request_timeout=_SECONDS).result().valid
    except KafkaException as error:
        what = f"`{alias}` does not answer: {error.args[0].str()}"
        remedy = "correct address or login, run it where the cluster can be reached, or give `--topics` a file."
        raise CannotRunError("kafka-unreachable", what, str(config["bootstrap.servers"]), _WHY, remedy) from error
    return ClusterNames(tuple(sorted(topics)), tuple(sorted(group.group_id for group in groups)))
