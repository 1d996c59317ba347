"""The Kafka regions of the local stack: one KRaft node each, with authentication and TLS on every listener."""

import base64
import subprocess
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not re-export them
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.connections import login_module
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.acls import REQUEST_SECONDS, apply_acls, retried_all, standing_acls
from kafka_replication.infra.local.certificates import Authority
from kafka_replication.infra.local.endpoints import ADMIN, REGIONS, Region, part_name
from kafka_replication.infra.local.parts.part import Launch, StackFacts, StackServer, java_command, plain_environment
from kafka_replication.infra.local.parts.processes import is_open
from kafka_replication.infra.local.state import write_private
from kafka_replication.infra.machine.waiting import NotYetError

QUICK_AND_SMALL = {
    # With one node, every internal topic has one replica.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    # As in production, a misspelt topic must be an error.
    "auto.create.topics.enable": "false",
    # Delete expired records within seconds; tests wait for it.
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "1000",
    # By default an idle controller writes a meaningless record twice a second, which is two thirds of its cost.
    "metadata.max.idle.interval.ms": "10000",
    "log.segment.delete.delay.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    # The default of 128 MiB does not fit into the small heap.
    "log.cleaner.dedupe.buffer.size": "4194304",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "4",
}


def server_properties(region: Region, controller_port: int, keystore: Path, log_dir: Path) -> dict[str, str]:
    """Return the properties of a region's node. They contain passwords, so they belong in a private file."""
    users = region.users.values()
    admin = region.users[ADMIN]
    known = {f"user_{user.name}": user.password for user in users}
    plain = login_module("PLAIN", username=admin.name, password=admin.password, **known)
    controller = f"127.0.0.1:{controller_port}"
    listeners = f"CLIENT://{region.bootstrap_servers},TLS://{region.tls_bootstrap_servers},CONTROLLER://{controller}"
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "CLIENT:SASL_SSL,TLS:SSL,CONTROLLER:SASL_SSL",
        "inter.broker.listener.name": "CLIENT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.client.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.client.plain.sasl.jaas.config": plain,
        "listener.name.client.scram-sha-512.sasl.jaas.config": login_module("SCRAM-SHA-512"),
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": plain,
        "listener.name.tls.ssl.client.auth": "required",
        # A certificate's common name is its user, so that one ACL covers both ways to log in.
        "listener.name.tls.ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(region.ca_file),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": f"User:{ADMIN}",
        "log.dirs": str(log_dir),
        **QUICK_AND_SMALL,
    }


def kafka_part(alias: str) -> StackServer:
    """Return the region `alias` as a part of the stack."""
    name = part_name(alias)
    return StackServer(
        name=name,
        prepare=lambda site: _prepare(site, alias),
        probe=lambda site: _probe(site, alias),
        configure=lambda site: _configure(_region(site, alias)),
        ports=(name, f"{name}-tls", f"{name}-controller"),
        # Deployed flows contain the addresses of the listeners.
        fixed_ports=(name, f"{name}-tls"),
    )


KAFKA_PARTS = tuple(map(kafka_part, REGIONS))


def new_cluster_id() -> str:
    """Return a random cluster id as Kafka writes it: a UUID in URL-safe base64 without padding or a leading dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")).startswith("-"):
        continue
    return text


def _region(site: StackFacts, alias: str) -> Region:
    return Region(alias, site.ports, site.passwords)


def _prepare(site: StackFacts, alias: str) -> Launch:
    data = paths.data() / part_name(alias)
    properties = data / "server.properties"
    log_dir = data / "log"
    keystore = Authority(alias).keystore("broker")
    controller_port = site.ports[f"{part_name(alias)}-controller"]
    settings = server_properties(_region(site, alias), controller_port, keystore, log_dir)
    write_private(properties, "".join(f"{key}={value}\n" for key, value in settings.items()))
    if not (log_dir / "meta.properties").exists():
        _format(site, alias, properties)
    lib = site.artifacts.connect_lib
    command = java_command(site.artifacts.jdk, [lib / "*"], "kafka.Kafka", properties, heap_mib=384)
    return Launch(command, plain_environment())


def _format(site: StackFacts, alias: str, properties: Path) -> None:
    arguments = ("format", "-t", site.cluster_ids[alias], "-c", properties, "--ignore-formatted")
    lib = site.artifacts.connect_lib
    command = java_command(site.artifacts.jdk, [lib / "*"], "kafka.tools.StorageTool", *arguments, heap_mib=128)
    done = subprocess.run(command, env=plain_environment(), capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise CannotRunError(
            "storage-not-formatted",
            f"the storage could not be formatted (exit code {done.returncode})",
            part_name(alias),
            "A broker starts only on storage that carries the id of its cluster.",
            "see the lines below; `replicate local down --purge` deletes the storage",
            "\n".join((done.stdout + done.stderr).splitlines()[-15:]),
        )


def _probe(site: StackFacts, alias: str) -> None:
    """Ask for the cluster id, which a broker returns only once it accepts clients and has found its controller."""
    # librdkafka would retry a refused connection until the timeout.
    if not is_open(site.ports[part_name(alias)]):
        raise NotYetError(f"nothing listens on port {site.ports[part_name(alias)]}")
    admin = AdminClient(_region(site, alias).client_config(ADMIN))
    try:
        seen = admin.list_topics(timeout=5).cluster_id
    except KafkaException as error:
        raise NotYetError(str(error)) from error
    if seen != site.cluster_ids[alias]:
        raise NotYetError(f"the cluster there has the id {seen}, not {site.cluster_ids[alias]}")


def _configure(region: Region) -> None:
    """Create the SCRAM credentials, which must not be arguments of a process, and the ACLs that belong to no flow."""
    mechanism = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, iterations=4096)
    wanted: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user.name, mechanism, user.password.encode()) for user in region.users.values()
    ]
    admin = AdminClient(region.client_config(ADMIN))
    try:
        retried_all(lambda: admin.alter_user_scram_credentials(wanted, request_timeout=REQUEST_SECONDS))
    except (KafkaException, TimeoutError) as error:
        what = f"the SCRAM credentials of its users were not accepted: {error}"
        why = "Without them no client can log in."
        remedy = "run `replicate local up` again"
        raise CannotRunError("kafka-refused", what, part_name(region.alias), why, remedy) from error
    apply_acls(region, standing_acls(region.alias))
