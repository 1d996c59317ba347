"""Derives the properties of a Connect worker from its spec, as Strimzi's operator 1.2 does. Pure.

They never contain secret values: the worker resolves placeholders through the API server as its own service account.
Source: Strimzi KafkaConnectConfigurationBuilder, AbstractConfiguration, KafkaConnectCluster, kafka_connect_run.sh.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kafka_replication.components.checks.properties import worker_forbidden
from kafka_replication.components.kafka.connections import login_module
from kafka_replication.components.properties.values import value_text
from kafka_replication.infra.kubernetes.api import Object
from kafka_replication.infra.local.operator import resources
from kafka_replication.infra.local.operator.resources import ClusterConnection, ConnectResource, SecretEntry
from kafka_replication.infra.machine import versions

REPORTER = "io.strimzi.kafka.metrics.prometheus.ClientMetricsReporter"
_REPORTER_TYPE = "strimziMetricsReporter"
_REPORTER_PREFIX = "prometheus.metrics.reporter."
_LISTENER = f"{_REPORTER_PREFIX}listener"

#: The name of the port of a worker's Pod at which Prometheus scrapes it.
PORT_NAME = "tcp-prometheus"

#: The operator's own list for a KafkaConnect. Source: KafkaConnectCluster.DEFAULT_METRICS_ALLOW_LIST.
_ALLOW_LIST = (
    "kafka_admin_client_admin_client_metrics_connection_count",
    "kafka_connect_connect_worker_metrics_.*",
    "kafka_connect_connector_task_metrics_.*",
    "kafka_connect_sink_task_metrics_.*",
    "kafka_connect_source_task_metrics_.*",
    "kafka_connect_task_error_metrics_.*",
    "kafka_consumer_consumer_metrics_.*",
    "kafka_producer_producer_metrics_.*",
    "jvm_.*",
    "process_.*",
)


def uses_reporter(config: Mapping[str, Any]) -> bool:
    """Return whether `metricsConfig` asks for Strimzi's reporter."""
    return config.get("type") == _REPORTER_TYPE


def reporter_properties(config: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, str]:
    """Return the worker's properties for its reporter; reporters of the user's `own` configuration stay."""
    if not uses_reporter(config):
        return {}
    allowed = (config.get("values") or {}).get("allowList") or _ALLOW_LIST
    return {
        "metric.reporters": ",".join(filter(None, (own.get("metric.reporters"), REPORTER))),
        f"{_LISTENER}.enable": "true",
        _LISTENER: "http://:9404",
        f"{_REPORTER_PREFIX}allowlist": ",".join(allowed),
    }


def on_this_port(properties: Mapping[str, str], metrics_port: int | None) -> dict[str, str]:
    """Return the properties with the address at which this worker's reporter listens, on loopback only."""
    if metrics_port is None or _LISTENER not in properties:
        return dict(properties)
    return {**properties, _LISTENER: f"http://127.0.0.1:{metrics_port}"}


def agent(lib: Path, metrics_port: int | None, rules: Path | None) -> list[str]:
    """Return the options of a JVM that runs the JMX exporter with the rules in this file; none if it is not used."""
    if metrics_port is None or rules is None:
        return []
    return [f"-javaagent:{lib}/jmx_prometheus_javaagent-{versions.JMX_EXPORTER}.jar=127.0.0.1:{metrics_port}:{rules}"]


def port_of(pod: Object) -> int | None:
    """Return the port at which the worker of this Pod serves its metrics."""
    (container,) = pod["spec"]["containers"]
    ports = (port["containerPort"] for port in container.get("ports") or [] if port.get("name") == PORT_NAME)
    return next(ports, None)


_DIRECTORIES = "config.providers.strimzidir.param.allowed.paths"
_OPERATOR_PROVIDERS = {
    "config.providers.strimzienv.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.strimzienv.param.allowlist.pattern": ".*",
    "config.providers.strimzifile.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.strimzidir.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    _DIRECTORIES: "/opt/kafka",
    "config.providers.strimzisecrets.class": "io.strimzi.kafka.KubernetesSecretConfigProvider",
}
_ALLOWED_PATHS = re.compile(r"config\.providers\..*\.param\.allowed\.paths")
_FILE_OF_A_POD = re.compile(r"/tmp/(?=kafka/|strimzi-[a-z0-9-]+\.properties)")
_PROVIDER_NAMES = "strimzienv,strimzifile,strimzidir,strimzisecrets"
#: The operator takes only these properties of a custom authentication.
_CUSTOM_PREFIXES = ("sasl.", "ssl.keystore.")


def worker_properties(connect: ConnectResource) -> dict[str, str]:
    """Return the whole worker configuration in the order in which the operator writes it."""
    config = user_config(connect)
    providers = config.pop("config.providers", None)
    return {
        "bootstrap.servers": connect.bootstrap_servers,
        **connect.group,
        "rest.advertised.host.name": "${strimzienv:ADVERTISED_HOSTNAME}",
        "rest.advertised.port": "8083",
        "plugin.path": "/opt/kafka/plugins",
        **for_every_client(trust(connect.namespace, connect.name, connect.own_cluster)),
        **for_every_client(credentials(connect.namespace, connect.own_cluster.authentication)),
        "config.providers": ",".join(filter(None, (providers, _PROVIDER_NAMES))),
        **_OPERATOR_PROVIDERS,
        **connect.component.converters,
        **config,
        **reporter_properties(connect.metrics, config),
        **for_every_client({"security.protocol": security_protocol(connect.own_cluster)}),
    }


def user_config(connect: ConnectResource) -> dict[str, str]:
    """Return the properties of spec.config that the operator does not drop."""
    return {key: value_text(value) for key, value in connect.config.items() if worker_forbidden(key) is None}


def on_one_machine(properties: Mapping[str, str], port: int, plugin_path: Path, folder: Path) -> dict[str, str]:
    """Return the properties of a worker that shares the loopback address with others, and has no /opt/kafka.

    What a pod has in /tmp is in `folder`, which every provider may read. `plugin.discovery` avoids scanning every jar.
    """
    local = {
        key: f"{in_folder(value, folder)},{folder}" if _ALLOWED_PATHS.fullmatch(key) else in_folder(value, folder)
        for key, value in properties.items()
    }
    if _DIRECTORIES in local:
        local[_DIRECTORIES] = str(plugin_path)
    return {
        **local,
        "listeners": f"http://127.0.0.1:{port}",
        "rest.advertised.port": str(port),
        "plugin.path": str(plugin_path),
        "plugin.discovery": "service_load",
    }


def in_folder(value: str, folder: Path) -> str:
    """Replace each path in a pod's /tmp by one in `folder`. Example: `${file:/tmp/strimzi-connect.properties:…}`."""
    return _FILE_OF_A_POD.sub(f"{folder}/", value)


def dropped_keys(connect: ConnectResource) -> list[str]:
    """Return the keys of spec.config that the operator drops because it owns them."""
    return sorted(key for key in connect.config if worker_forbidden(key) is not None)


def trust_secret_name(name: str) -> str:
    """Return the name of the operator's copy of the trusted certificates; the same for both kinds of resources."""
    return f"{name}-{resources.KAFKA_CONNECT.suffix}-tls-trusted-certs"


def secrets_used(connect: ConnectResource) -> list[str]:
    """Return the Secrets that the resource makes the workers read, and that the Role therefore names."""
    own = {trust_secret_name(connect.name)} if any(access.tls for access in connect.access) else set()
    return sorted(own | {credential.secret for credential in credential_entries(connect)})


def credential_entries(connect: ConnectResource) -> list[SecretEntry]:
    """Return where the passwords, certificates and private keys of the resource are."""
    entries: list[SecretEntry] = []
    for access in connect.access:
        match access.authentication:
            case resources.PasswordLogin(password=password):
                entries.append(password)
            case resources.CertificateLogin(certificate, key):
                entries += [certificate, key]
    return entries


_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_SEPARATORS = str.maketrans({":": "\\:", "=": "\\=", " ": "\\ "})


def as_properties_file(properties: Mapping[str, str]) -> str:
    """Return the text in Java's properties format."""
    return "".join(f"{_escaped(key, separators=True)}={_escaped(value)}\n" for key, value in properties.items())


def trust(namespace: str, name: str, access: ClusterConnection) -> Iterator[tuple[str, str]]:
    """Yield the client properties with which the resource of this name trusts a cluster."""
    if access.tls:
        where = SecretEntry(trust_secret_name(name), access.trust_key)
        yield "ssl.truststore.certificates", _placeholder(namespace, where)
        yield "ssl.truststore.type", "PEM"


def credentials(namespace: str, authentication: resources.Authentication | None) -> Iterator[tuple[str, str]]:
    """Yield the client properties with which a user logs in."""
    match authentication:
        case resources.PasswordLogin(mechanism, username, password):
            yield "sasl.mechanism", mechanism
            secret = _placeholder(namespace, password)
            yield "sasl.jaas.config", login_module(mechanism, username=username, password=secret)
        case resources.CertificateLogin(certificate, key):
            yield "ssl.keystore.certificate.chain", _placeholder(namespace, certificate)
            yield "ssl.keystore.key", _placeholder(namespace, key)
            yield "ssl.keystore.type", "PEM"
        case resources.CustomLogin(config=config):
            yield from ((key, value_text(value)) for key, value in config.items() if key.startswith(_CUSTOM_PREFIXES))


def security_protocol(access: ClusterConnection) -> str:
    match access.authentication:
        case resources.PasswordLogin() | resources.CustomLogin(sasl=True):
            return "SASL_PLAINTEXT" if access.tls is None else "SASL_SSL"
    return "PLAINTEXT" if access.tls is None else "SSL"


def _placeholder(namespace: str, where: SecretEntry) -> str:
    return f"${{strimzisecrets:{namespace}/{where.secret}:{where.key}}}"


def for_every_client(properties: Mapping[str, str] | Iterator[tuple[str, str]]) -> dict[str, str]:
    """Return the same properties for the worker itself and for each of its clients."""
    same = dict(properties)
    return {prefix + key: value for prefix in ("", "producer.", "consumer.", "admin.") for key, value in same.items()}


def _escaped(value: str, *, separators: bool = False) -> str:
    escaped = value.translate(_ESCAPES | _SEPARATORS if separators else _ESCAPES)
    return "\\" + escaped if escaped.startswith(" ") else escaped


HEAP_MIB = 256
LARGEST_HEAP_MIB = 512

#: For little memory and a quick start, which matter more here than throughput.
_FIXED = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_MIB = {"": 1 / 2**20, "k": 1 / 2**10, "m": 1.0, "g": 1024.0, "t": 2.0**20}


def jvm_arguments(options: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the arguments from spec.jvmOptions, and a sentence for each option that is ignored or capped."""
    notes: list[str] = []
    heap = HEAP_MIB
    if wanted := options.get("-Xmx"):
        heap = max(1, min(_mebibytes(wanted), LARGEST_HEAP_MIB))
        if _mebibytes(wanted) > LARGEST_HEAP_MIB:
            notes.append(f"jvmOptions -Xmx {wanted} is capped at {LARGEST_HEAP_MIB}m on the local stack")
    notes += [
        f"jvmOptions {key} is ignored on the local stack"
        for key in ("-XX", "-Xms", "gcLoggingEnabled")
        if options.get(key)
    ]
    properties = [f"-D{option['name']}={option['value']}" for option in options.get("javaSystemProperties") or []]
    return [f"-Xmx{heap}m", *_FIXED, *properties], notes


def _mebibytes(size: str) -> int:
    matched = re.fullmatch(r"(\d+)([kmgtKMGT]?)", size)
    return int(int(matched[1]) * _MIB[matched[2].lower()]) if matched else HEAP_MIB
