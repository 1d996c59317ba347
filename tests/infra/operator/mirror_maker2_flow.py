"""A KafkaMirrorMaker2 from useast to uswest on the running local stack, made of bare custom resources.

It calls the regions east and west, so that it shares its topics and ACLs with no other test.
"""

from collections.abc import Callable, Iterable
from typing import Any

import httpx
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]  # not re-exported

from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.kubernetes.api import Object, Reference
from kafka_replication.infra.local import paths
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.infra.operator.workspace import DEADLINE_SECONDS, Workspace, scram_login

STRIMZI = "kafka.strimzi.io/v1"
NAMESPACE, NAME, TOPIC = "mirror-maker-test", "letters", "letters"
REMOTE_TOPIC = f"east.{TOPIC}"
SOURCE, CHECKPOINT = (f"east->west.Mirror{each}Connector" for each in ("Source", "Checkpoint"))
CALL_SECONDS = 60.0

_USER, _WORKER = "User:mirror", ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
ACLS = (
    Acl("uswest", _USER, "topic", "prefixed", f"{NAMESPACE}-", _WORKER),
    Acl("uswest", _USER, "group", "literal", NAMESPACE, ("READ",)),
    Acl("uswest", _USER, "topic", "literal", REMOTE_TOPIC, ("READ", "CREATE", "WRITE", "ALTER", "ALTER_CONFIGS")),
    Acl("uswest", _USER, "topic", "literal", "east.checkpoints.internal", ("CREATE", "READ", "WRITE")),
    Acl("useast", _USER, "topic", "literal", TOPIC, ("READ", "DESCRIBE_CONFIGS")),
    Acl("useast", _USER, "topic", "literal", "mm2-offset-syncs.west.internal", ("CREATE", "READ", "WRITE")),
    Acl("useast", _USER, "group", "prefixed", f"{TOPIC}-", ("DESCRIBE",)),
)

REPLICATION = {
    "replication.factor": -1,
    "offset-syncs.topic.replication.factor": -1,
    "refresh.topics.interval.seconds": 2,
    "sync.topic.acls.enabled": False,
    "heartbeats.replication.enabled": False,
}
_CHECKPOINTS = {
    "checkpoints.topic.replication.factor": -1,
    "emit.checkpoints.interval.seconds": 2,
    "refresh.groups.interval.seconds": 2,
}
_FACTORS = {f"{topic}.storage.replication.factor": -1 for topic in ("config", "offset", "status")}
_GROUP = {
    "groupId": ("group.id", NAMESPACE),
    "configStorageTopic": ("config.storage.topic", f"{NAMESPACE}-configs"),
    "offsetStorageTopic": ("offset.storage.topic", f"{NAMESPACE}-offsets"),
    "statusStorageTopic": ("status.storage.topic", f"{NAMESPACE}-status"),
}
"""Settings that are fields in v1 and properties in v1beta2."""


class MirrorMakerFlow(Workspace):
    """A KafkaMirrorMaker2, and the topic that it replicates."""

    namespace = NAMESPACE

    def set_up(self, acls: Iterable[Acl] = ACLS) -> None:
        """Set up the namespace, and create the topic."""
        super().set_up(acls)
        admin = self._admin("useast")
        admin.create_topics([NewTopic(TOPIC, num_partitions=1, replication_factor=1)])[TOPIC].result(CALL_SECONDS)

    def mirror_maker(
        self, *, source: dict[str, Any] | None = None, checkpoint: bool = True, **connector: Any
    ) -> Object:
        """Apply the KafkaMirrorMaker2, whose workers use uswest; `connector` overrides the source connector."""
        mirror = {"source": self._cluster("east", "useast", **(source or {})), **_mirror(checkpoint, connector)}
        fields = {field: value for field, (_, value) in _GROUP.items()}
        target = self._cluster("west", "uswest", **fields, config=_FACTORS)
        spec = {"replicas": 1, "target": target, "mirrors": [mirror]}
        return self.apply(STRIMZI, "KafkaMirrorMaker2", NAME, spec=spec)

    def older_mirror_maker(self, connect_cluster: str = "west") -> Object:
        """Apply the same in v1beta2; the API server refuses this while the object is in v1."""
        mirror = {"sourceCluster": "east", "targetCluster": "west", **_mirror(True, {})}
        config = _FACTORS | dict(_GROUP.values())
        clusters = [self._cluster("east", "useast"), self._cluster("west", "uswest", config=config)]
        spec = {"replicas": 1, "connectCluster": connect_cluster, "clusters": clusters, "mirrors": [mirror]}
        return self.apply("kafka.strimzi.io/v1beta2", "KafkaMirrorMaker2", NAME, spec=spec)

    def delete(self) -> None:
        self.api.delete(self.reference)

    def generation(self) -> int:
        return int((self.api.get(self.reference) or {})["metadata"]["generation"])

    @property
    def reference(self) -> Reference:
        return Reference(STRIMZI, "KafkaMirrorMaker2", NAMESPACE, NAME)

    def expect(self, condition: str, words: str = "", met: Callable[[Object], bool] = lambda _: True) -> Object:
        """Status of the newest generation once it has this condition, with these words, and `met` is true."""
        return self.expect_condition(self.reference, condition, words, met)

    def expect_connectors(self, *names: str) -> Object:
        """The status, once the resource is Ready with exactly these connectors."""
        return self.expect("Ready", met=lambda status: names_of(status) == sorted(names))

    def connect(self, path: str) -> Any:
        """What Connect's REST interface answers."""
        url = self.expect("Ready")["url"]
        answer = httpx.get(f"{url}{path}", timeout=CALL_SECONDS)
        return answer.raise_for_status().json()

    def produce(self, *values: str, partition: int = 0) -> None:
        producer = Producer(self._client("useast"))
        for value in values:
            producer.produce(TOPIC, value.encode(), partition=partition)
        left = producer.flush(CALL_SECONDS)
        assert left == 0

    def expect_values(self, *values: str) -> None:
        """Wait until the target has at least these records, in any order."""

        def all_there() -> None:
            missing = set(values) - set(self.values())
            if missing:
                raise NotYetError(f"missing {sorted(missing)}")

        wait_for("the records on uswest", all_there, DEADLINE_SECONDS)

    def values(self) -> list[str]:
        """Every record of the topic on the target."""
        consumer = Consumer({**self._client("uswest"), "group.id": "letters-reader", "enable.auto.commit": False})
        try:
            found = []
            for place in self._partitions(consumer):
                end = consumer.get_watermark_offsets(place, timeout=CALL_SECONDS)[1]
                consumer.assign([TopicPartition(place.topic, place.partition, 0)])
                while consumer.position([place])[0].offset < end:
                    for message in consumer.consume(100, timeout=1):
                        found.append((message.value() or b"").decode())
            return found
        finally:
            consumer.close()

    def partitions(self, alias: str, topic: str) -> int:
        listed = self._admin(alias).list_topics(timeout=CALL_SECONDS).topics
        return len(listed[topic].partitions) if topic in listed else 0

    def add_partition(self) -> int:
        """Add a partition at the source, and return how many there are then."""
        wanted = self.partitions("useast", TOPIC) + 1
        admin = self._admin("useast")
        admin.create_partitions([NewPartitions(TOPIC, wanted)])[TOPIC].result(CALL_SECONDS)
        return wanted

    def expect_rounds(self) -> None:
        """Wait for two rounds of the operator: in each it writes the status of a connector that names no cluster."""
        for name in ("first-look", "second-look"):
            self.apply(STRIMZI, "KafkaConnector", name, spec={"class": "example.None", "tasksMax": 1})
            target = Reference(STRIMZI, "KafkaConnector", NAMESPACE, name)

            def has_status(target: Reference = target) -> None:
                if not (self.api.get(target) or {}).get("status"):
                    raise NotYetError("no status yet")

            wait_for(f"the status of {name}", has_status, DEADLINE_SECONDS)
            self.api.delete(target)

    def steps(self) -> list[str]:
        """What the operator has done to the connectors so far, from its log."""
        lines = (paths.logs() / "operator.log").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if f"connector {NAMESPACE}/" in line]

    def _partitions(self, consumer: Consumer) -> list[TopicPartition]:
        listed = consumer.list_topics(timeout=CALL_SECONDS).topics
        found = listed[REMOTE_TOPIC].partitions if REMOTE_TOPIC in listed else ()
        return [TopicPartition(REMOTE_TOPIC, each) for each in found]

    def _cluster(self, alias: str, region: str, **fields: Any) -> dict[str, Any]:
        return {
            "alias": alias,
            "bootstrapServers": self.region(region).bootstrap_servers,
            "tls": {"trustedCertificates": [{"secretName": region, "pattern": "*.crt"}]},
            "authentication": scram_login(region),
            **fields,
        }

    def _admin(self, alias: str) -> AdminClient:
        return AdminClient(self._client(alias))

    def _client(self, alias: str) -> dict[str, Any]:
        return self.region(alias).client_config("admin")


def _mirror(checkpoint: bool, connector: dict[str, Any]) -> dict[str, Any]:
    mirror: dict[str, Any] = {
        "sourceConnector": {"tasksMax": 1, "config": REPLICATION} | connector,
        "topicsPattern": TOPIC,
        "groupsPattern": f"{TOPIC}-.*",
    }
    if checkpoint:
        mirror["checkpointConnector"] = {"tasksMax": 1, "config": _CHECKPOINTS}
    return mirror


def names_of(status: Object) -> list[str]:
    return [each["name"] for each in status.get("connectors", [])]


def state_of(status: Object, name: str) -> str:
    """State of a connector according to the resource's status."""
    return next((str(each["connector"]["state"]) for each in status.get("connectors", []) if each["name"] == name), "")
