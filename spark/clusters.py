"""A Kafka cluster as the checks see it: topics, offsets, groups, ACLs and few records, read by clients in Spark's JVM.

Spark's reader uses the same client library and properties, so what works here works there. One request covers many
topics or groups and has a timeout. Every failure is a ClusterError.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from pyspark.sql import SparkSession

from components.kafka.acls import AclEntry
from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.topic_sync import Setting
from spark.credentials import ClientOptions
from spark.java_json import JavaJson
from spark.kafka_errors import ClusterError, JavaError, JavaObject, causes, silent, translated
from spark.small_reads import KafkaRecord, SilentError, SmallReads

TIMEOUT_SECONDS = 20
_ADMIN = "org.apache.kafka.clients.admin"
_COMMON = "org.apache.kafka.common"
#: States of a group without members. MirrorMaker writes a group's offsets only in these states.
_IDLE_STATES = frozenset({"Empty", "Dead"})


class Description(NamedTuple):
    """`id` is unique: a topic that is deleted and created again has another one."""

    partitions: int
    id: str


class Cluster:
    """One cluster's admin client; use as a context manager."""

    def __init__(self, spark: SparkSession, options: ClientOptions) -> None:
        self.options = options
        self.where = f"cluster {options.alias} ({options.bootstrap_servers})"
        self._answered = False
        self._reads: dict[str, SmallReads] = {}
        assert spark._jvm is not None
        self._jvm: JavaObject = spark._jvm
        properties = self._java("java.util.Properties")()
        timeout = str(TIMEOUT_SECONDS * 1000)
        timeouts = {"default.api.timeout.ms": timeout, "request.timeout.ms": str(TIMEOUT_SECONDS * 500)}
        for key, value in {"bootstrap.servers": options.bootstrap_servers, **options.properties, **timeouts}.items():
            properties.setProperty(key, value)
        self._admin: JavaObject = self._asked("connecting", lambda: self._java(f"{_ADMIN}.Admin").create(properties))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._reads.values():
            each.close()
        self._admin.close(self._java("java.time.Duration").ofSeconds(1))

    def topics(self) -> frozenset[str]:
        """Every topic that the user may describe, except Kafka's internal ones."""
        return frozenset(self._get("listing topics", lambda: self._admin.listTopics().names()))

    def describe(self, topics: Collection[str]) -> dict[str, Description]:
        """Each topic's description. Leaves out topics that do not exist; raises for a topic that is forbidden."""
        if not topics:
            return {}
        futures = self._asked("describing topics", lambda: self._admin.describeTopics(self._list(topics)))
        found: dict[str, Description] = {}
        for entry in futures.topicNameValues().entrySet():
            name = str(entry.getKey())
            description = self._value_or_none(f"describing topic {name}", entry.getValue(), "UnknownTopicOrPartition")
            if description is not None:
                found[name] = Description(description.partitions().size(), str(description.topicId()))
        return found

    def partitions(self, topics: Collection[str]) -> dict[str, int]:
        """Number of partitions by topic, as in `describe`."""
        return {name: each.partitions for name, each in self.describe(topics).items()}

    def offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
        """Log start and last stable offset: what a read_committed consumer can read. Unknown partitions raise."""
        wanted = list(partitions)
        spec = self._java(f"{_ADMIN}.OffsetSpec")
        starts = self._list_offsets(dict.fromkeys(wanted, spec.earliest()))
        ends = self._list_offsets(dict.fromkeys(wanted, spec.latest()))
        return {each: OffsetRange(starts[each], max(starts[each], ends[each])) for each in wanted}

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Last stable offset by partition."""
        return self._list_offsets(dict.fromkeys(partitions, self._java(f"{_ADMIN}.OffsetSpec").latest()))

    def high_watermarks(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """High watermark by partition, where a read_uncommitted consumer ends.

        While a transaction is open, it is past the last stable offset.
        """
        latest = self._java(f"{_ADMIN}.OffsetSpec").latest()
        return self._list_offsets(dict.fromkeys(partitions, latest), "READ_UNCOMMITTED")

    def offsets_at(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Offset of the first record at or after a time (ms since 1970) by partition; -1 if there is none."""
        spec = self._java(f"{_ADMIN}.OffsetSpec")
        return self._list_offsets({each: spec.forTimestamp(time) for each, time in times.items()})

    def records(
        self, ranges: Iterable[tuple[TopicPartition, OffsetRange]], doing: str, isolation: str = "read_committed"
    ) -> Iterator[KafkaRecord]:
        """The records of ranges that are small together, as `SmallReads.records` has them. `doing` is for errors."""
        wanted = [(each, offsets) for each, offsets in ranges if offsets.size]
        if not wanted:
            return
        try:
            if isolation not in self._reads:
                self._reads[isolation] = SmallReads(self._java, self.options, isolation, TIMEOUT_SECONDS)
            yield from self._reads[isolation].records(wanted)
        except JavaError as error:
            raise translated(error, self.where, doing, answered=True) from None
        except SilentError as error:
            raise silent(str(error), self.where, doing, TIMEOUT_SECONDS) from None

    def cleanup_policies(self, topics: Collection[str]) -> dict[str, str]:
        """`cleanup.policy` by topic."""
        configs = self._topic_configs(topics)
        return {topic: str(config.get("cleanup.policy").value()) for topic, config in configs.items()}

    def settings(self, topics: Collection[str]) -> dict[str, dict[str, Setting]]:
        """The properties of each topic that somebody can set, by name.

        Each configuration comes as one JSON text, because every call into the JVM takes time.
        """
        java_json = JavaJson(self._java)
        found = {}
        for topic, config in self._topic_configs(topics).items():
            entries = java_json.read(config.entries())
            settable = [each for each in entries if not (each["isReadOnly"] or each["isSensitive"])]
            found[topic] = {each["name"]: Setting(each["value"], each["source"]) for each in settable}
        return found

    def _topic_configs(self, topics: Collection[str]) -> dict[str, JavaObject]:
        if not topics:
            return {}
        resource = self._java(f"{_COMMON}.config.ConfigResource")
        resources = [resource(resource.Type.TOPIC, topic) for topic in sorted(topics)]
        configs = self._get(
            "reading topic configurations", lambda: self._admin.describeConfigs(self._list(resources)).all()
        )
        return {str(entry.getKey().name()): entry.getValue() for entry in configs.entrySet()}

    def groups(self) -> dict[str, bool]:
        """Every consumer group that the user may describe, and whether it has members."""
        listings = self._get("listing consumer groups", lambda: self._admin.listConsumerGroups().all())
        found = {}
        for listing in listings:
            state = listing.state()
            found[str(listing.groupId())] = state.isPresent() and str(state.get()) not in _IDLE_STATES
        return found

    def committed(self, groups: Collection[str]) -> dict[str, dict[TopicPartition, int]]:
        """Committed offsets by group; a group that does not exist has none."""
        if not groups:
            return {}
        specs = self._java("java.util.HashMap")()
        every = self._java(f"{_ADMIN}.ListConsumerGroupOffsetsSpec")
        for group in groups:
            specs.put(group, every())
        answer = self._get("reading committed offsets", lambda: self._admin.listConsumerGroupOffsets(specs).all())
        return {
            str(group.getKey()): {
                TopicPartition(str(each.getKey().topic()), each.getKey().partition()): each.getValue().offset()
                for each in group.getValue().entrySet()
                if each.getValue() is not None
            }
            for group in answer.entrySet()
        }

    def acls(self, principals: Collection[str]) -> list[AclEntry]:
        """Every ACL that names one of `principals`; needs DESCRIBE on the cluster."""
        operation = self._java(f"{_COMMON}.acl.AclOperation").ANY
        permission = self._java(f"{_COMMON}.acl.AclPermissionType").ANY
        any_resource = self._java(f"{_COMMON}.resource.ResourcePatternFilter").ANY
        entry = self._java(f"{_COMMON}.acl.AccessControlEntryFilter")
        found: list[AclEntry] = []
        for principal in sorted(principals):
            found += map(_acl_entry, self._bindings(any_resource, entry(principal, None, operation, permission)))
        return found

    def topic_acls(self) -> list[AclEntry]:
        """Every ACL of one topic by its name; needs DESCRIBE on the cluster."""
        topic = self._java(f"{_COMMON}.resource.ResourceType").TOPIC
        literal = self._java(f"{_COMMON}.resource.PatternType").LITERAL
        pattern = self._java(f"{_COMMON}.resource.ResourcePatternFilter")(topic, None, literal)
        return list(map(_acl_entry, self._bindings(pattern, self._java(f"{_COMMON}.acl.AccessControlEntryFilter").ANY)))

    def has_acl(self, resource: str, name: str) -> bool:
        """Whether any ACL applies to the resource, by its name, a prefix or a wildcard."""
        kind = self._java(f"{_COMMON}.resource.ResourceType").valueOf(resource)
        match = self._java(f"{_COMMON}.resource.PatternType").MATCH
        pattern = self._java(f"{_COMMON}.resource.ResourcePatternFilter")(kind, name, match)
        return len(list(self._bindings(pattern, self._java(f"{_COMMON}.acl.AccessControlEntryFilter").ANY))) > 0

    def _bindings(self, pattern: JavaObject, entry: JavaObject) -> JavaObject:
        wanted = self._java(f"{_COMMON}.acl.AclBindingFilter")(pattern, entry)
        return self._get("reading ACLs", lambda: self._admin.describeAcls(wanted).values())

    def sets(self, name: str) -> bool:
        """Whether the brokers' configuration sets the property. False also if the user may not see the configuration.

        Kafka hides the values of properties that it does not define itself, such as those of an authorizer.
        """
        config = self._java(f"{_COMMON}.config.ConfigResource")
        try:
            (broker, *_) = self._get("listing brokers", lambda: self._admin.describeCluster().nodes())
            resource = config(config.Type.BROKER, broker.idString())
            doing = "reading the brokers' configuration"
            found = self._get(doing, lambda: self._admin.describeConfigs(self._list([resource])).all())
        except ClusterError as error:
            if error.code != "not-authorized":
                raise
            return False
        return found.get(resource).get(name) is not None

    def _list_offsets(
        self, specs: Mapping[TopicPartition, JavaObject], isolation: str = "READ_COMMITTED"
    ) -> dict[TopicPartition, int]:
        if not specs:
            return {}
        wanted = self._java("java.util.HashMap")()
        partition = self._java(f"{_COMMON}.TopicPartition")
        for each, spec in specs.items():
            wanted.put(partition(each.topic, each.partition), spec)
        level = self._java(f"{_COMMON}.IsolationLevel").valueOf(isolation)
        options = self._java(f"{_ADMIN}.ListOffsetsOptions")(level)
        answer = self._get("listing offsets", lambda: self._admin.listOffsets(wanted, options).all())
        return {
            TopicPartition(str(entry.getKey().topic()), entry.getKey().partition()): entry.getValue().offset()
            for entry in answer.entrySet()
        }

    def _list(self, items: Iterable[object]) -> JavaObject:
        java = self._java("java.util.ArrayList")()
        for item in items:
            java.add(item)
        return java

    def _java(self, name: str) -> JavaObject:
        """The class of this full name.

        Written as `jvm.java.util.HashMap`, each part of the name would be a class that the JVM seeks in every jar.
        """
        return getattr(self._jvm, name)

    def _asked(self, doing: str, call: Callable[[], JavaObject]) -> JavaObject:
        try:
            return call()
        except JavaError as error:
            raise translated(error, self.where, doing, answered=self._answered) from None

    def _get(self, doing: str, call: Callable[[], JavaObject]) -> JavaObject:
        """The value of the future that `call` returns."""
        seconds = self._java("java.util.concurrent.TimeUnit").SECONDS
        value = self._asked(doing, lambda: call().get(TIMEOUT_SECONDS + 5, seconds))
        self._answered = True
        return value

    def _value_or_none(self, doing: str, future: JavaObject, absent: str) -> JavaObject | None:
        """The future's value; None if it failed with an exception whose class name begins with `absent`."""
        try:
            return future.get(TIMEOUT_SECONDS + 5, self._java("java.util.concurrent.TimeUnit").SECONDS)
        except JavaError as error:
            if any(name.startswith(absent) for name, _ in causes(error)):
                return None
            raise translated(error, self.where, doing, answered=self._answered) from None


def _acl_entry(binding: JavaObject) -> AclEntry:
    pattern, entry = binding.pattern(), binding.entry()
    return AclEntry(
        str(entry.principal()),
        str(pattern.resourceType().name()),
        str(pattern.patternType().name()),
        str(pattern.name()),
        str(entry.operation().name()),
        str(entry.permissionType().name()),
        str(entry.host()),
    )
