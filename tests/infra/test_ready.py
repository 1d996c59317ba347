"""`replicate ready` between two real clusters: each thing that is missing is named, and the printed lines add it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not re-export them
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafka_replication.components.clients.errors import ClusterError
from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import FlowParameters
from kafka_replication.components.kafka.acls import administrator
from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.endpoints import ADMIN, VALIDATOR, Endpoints, Region
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.operate import flow_access
from kafka_replication.infra.operate.flow_access import FlowAccess, Readers
from kafka_replication.infra.stack.session import OpenStack
from tests.builders import a_resolved_flow
from tests.commands import Answer, replicate
from tests.infra.kafka_tools import run_lines
from tests.spark.scenes import Scene

SHOP, PASSWORD = "shop", "opening-hours"
LOGIN = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": SHOP, "sasl.password": PASSWORD}
HOUR_MS, RECORDS = 3_600_000, 5
SECONDS = 60


@dataclass(frozen=True)
class SceneAccess(FlowAccess):
    """The topics of a scene as a flow. The connectors that would replicate them do not run."""

    scene: Scene

    @property
    def parameters(self) -> FlowParameters:
        """Return the flow without the applications that other tests have left."""
        entries = (entry for reader in self.readers().values() for entry in reader.every_acl())
        return self.scene.parameters(ownPrincipals=sorted({entry.principal for entry in entries} - {f"User:{SHOP}"}))

    def readers(self) -> Readers:
        regions = (self.scene.source, self.scene.target)
        source, target = (KafkaReader(region.alias, region.client_config(VALIDATOR)) for region in regions)
        return {"source": source, "target": target}


@pytest.fixture(scope="module")
def scene(endpoints: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A flow whose application `shop` lacks on the target an ACL, its login, its quota and a setting of a topic."""
    scene = Scene(endpoints, "till")
    source, target = scene.source, scene.target
    create_topics(source, {"till": 1}, {"retention.ms": str(2 * HOUR_MS)})
    create_topics(target, {"till": 1}, {"retention.ms": str(2 * HOUR_MS)})
    create_topics(target, {"useast.till": 1}, {"retention.ms": str(HOUR_MS)})
    scene.write(target, "useast.till", 0, range(RECORDS))
    scene.commit("till-web", 0)
    for region, topics in ((source, ["till"]), (target, ["till", "useast.till"])):
        reads = [Acl(region.alias, f"User:{SHOP}", "topic", "literal", topic, ("READ",)) for topic in topics]
        apply_acls(region, [*reads, Acl(region.alias, f"User:{SHOP}", "topic", "literal", "till", ("WRITE",))])
    apply_acls(source, [Acl("useast", f"User:{SHOP}", "group", "prefixed", "till-", ("READ",))])
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    admin = AdminClient(source.client_config(ADMIN))
    (added,) = admin.alter_user_scram_credentials(
        [UserScramCredentialUpsertion(SHOP, credential, PASSWORD.encode())]
    ).values()
    added.result(SECONDS)
    limit = f"--alter --entity-type users --entity-name {SHOP} --add-config consumer_byte_rate=1000000"
    folder = tmp_path_factory.mktemp("quota")
    run_lines(source, [f"kafka-configs.sh {administrator('useast')[1]} {limit}"], folder)
    return scene


def described(region: Region, folder: Path) -> Path:
    """The quotas of a region, as its administrator prints them."""
    line = f"kafka-configs.sh {administrator(region.alias)[1]} --describe --entity-type users"
    file = folder / f"{region.alias}.txt"
    file.write_text(run_lines(region, [line], folder))
    return file


def asked(scene: Scene, *quotas: Path) -> Answer:
    @contextmanager
    def opened(stack: OpenStack, *_: object) -> Iterator[FlowAccess]:
        yield SceneAccess(stack, a_resolved_flow(), scene)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_access, "open_flow", opened)
        return replicate("ready", "local", "till", *(f"--quotas={file.stem}={file}" for file in quotas))


def consumed(region: Region) -> int:
    """How many records the application reads with its own login and group."""
    config = {**region.client_config(ADMIN), **LOGIN}
    consumer = Consumer({**config, "group.id": "till-web", "auto.offset.reset": "earliest"})
    try:
        consumer.assign([Place("useast.till", 0, 0)])
        messages = consumer.consume(RECORDS, SECONDS)
        assert [message.error() for message in messages] == [None] * len(messages)
        consumer.commit(asynchronous=False)
        return len(messages)
    finally:
        consumer.close()


def test_a_user_that_may_not_describe_the_cluster_is_refused_the_users(scene: Scene) -> None:
    """A refusal by the broker would end the process in librdkafka, and with it a failover that only asks."""
    reader = KafkaReader("useast", {**scene.source.client_config(ADMIN), **LOGIN})
    with pytest.raises(ClusterError, match="SCRAM users could not be asked: Broker: Cluster authorization failed"):
        reader.scram_mechanisms()


def test_each_missing_thing_is_named_and_the_printed_lines_let_the_application_start(
    scene: Scene, tmp_path: Path
) -> None:
    here, there = (described(region, tmp_path) for region in (scene.source, scene.target))
    answer = asked(scene, here, there)
    assert answer.returncode == 1, answer.stdout + answer.stderr
    said, _, printed = answer.stdout.partition(f"{administrator('uswest')[0]}\n")
    assert [line for line in said.splitlines() if not line.startswith("! unknown")] == [
        "✗ till       applications cannot all start on uswest: 1 ACL, 1 user, 1 quota, 1 topic setting missing or "
        "different",
        "✗ acl        User:shop lacks Read on every group that begins with till-",
        "✗ user       User:shop has no SCRAM-SHA-512 credential",
        "✗ quota      user-principal 'shop' has no quota, and consumer_byte_rate=1000000 on useast",
        f"✗ setting    useast.till has retention.ms={HOUR_MS}, and it is {2 * HOUR_MS} of till on useast",
    ]
    run_lines(scene.target, printed.splitlines(), tmp_path, SHOP_PASSWORD=PASSWORD)
    answer = asked(scene, here, described(scene.target, tmp_path))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.startswith("✓ till       1 application can start on uswest\n")
    assert consumed(scene.target) == RECORDS
