"""A Kafka cluster as the checks see it: topics, offsets, groups, ACLs and few records, read by clients in Spark's JVM.

Spark's reader uses the same client library and properties, so what works here works there. One request covers many
topics or groups and has a timeout. Every failure is a ClusterError.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Self

from components.kafka.acls import AclEntry
from components.kafka.positions import OffsetRange, TopicPartition
from components.kafka.topic_sync import Setting
from spark.admin_json import admin_json, partition_of
from spark.read.credentials import ClientOptions
from spark.read.kafka_errors import ClusterError, JavaError, JavaObject, causes, gone, silent, translated
from spark.read.small_reads import JsonRecord, KafkaRecord, SilentError, SmallReads, decoded

TIMEOUT_SECONDS = 20
_ADMIN = "org.apache.kafka.clients.admin"
_COMMON = "org.apache.kafka.common"
#: States of a group without members, as Java prints them. MirrorMaker writes a group's offsets only in these states.
_IDLE_STATES = frozenset({"Optional[Empty]", "Optional[Dead]", "Optional.empty"})


class Description(NamedTuple):
    """`id` is unique: a topic that is deleted and created again has another one."""

    partitions: int
    id: str


class Cluster:
    """One cluster's admin client; use as a context manager."""

    def __init__(self, jvm: JavaObject, options: ClientOptions) -> None:
        self.options = options
        self.where = f"cluster {options.alias} ({options.bootstrap_servers})"
        self._answered = False
        self._reads: dict[str, SmallReads] = {}
        self._requests: dict[tuple[str, frozenset[TopicPartition]], JavaObject] = {}
        self._partitions: dict[TopicPartition, JavaObject] = {}
        self._jvm = jvm
        self._json = admin_json(self._java)
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
        known = self._java("java.util.HashMap")()
        for entry in futures.topicNameValues().entrySet():
            name = str(entry.getKey())
            description = self._value_or_none(f"describing topic {name}", entry.getValue(), "UnknownTopicOrPartition")
            if description is not None:
                known.put(name, description)
        found = self._json.read(known)
        return {name: Description(len(each["partitions"]), each["topicId"]) for name, each in found.items()}

    def partitions(self, topics: Collection[str]) -> dict[str, int]:
        """Number of partitions by topic, as in `describe`."""
        return {name: each.partitions for name, each in self.describe(topics).items()}

    def offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
        """Log start and last stable offset: what a read_committed consumer can read. Unknown partitions raise."""
        wanted = list(partitions)
        starts, ends = self._at(wanted, "earliest"), self._at(wanted, "latest")
        return {each: OffsetRange(starts[each], max(starts[each], ends[each])) for each in wanted}

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Last stable offset by partition."""
        return self._at(partitions, "latest")

    def high_watermarks(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """High watermark by partition, where a read_uncommitted consumer stops.

        While a transaction is open, the high watermark is past the last stable offset.
        """
        return self._at(partitions, "latest", "READ_UNCOMMITTED")

    def offsets_at(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Offset of the first record at or after a time (ms since 1970) by partition; -1 if there is none."""
        if not times:
            return {}
        spec, wanted = self._java(f"{_ADMIN}.OffsetSpec"), self._java("java.util.HashMap")()
        for each, time in times.items():
            wanted.put(self._partition(each), spec.forTimestamp(time))
        return self._list_offsets(wanted)

    def records(
        self, ranges: Iterable[tuple[TopicPartition, OffsetRange]], doing: str, isolation: str = "read_committed"
    ) -> Iterator[KafkaRecord]:
        """The records of ranges that are small in total, in the form of `SmallReads.records`. `doing` is for errors."""
        return map(decoded, chain.from_iterable(self.json_batches(ranges, doing, isolation)))

    def json_batches(
        self, ranges: Iterable[tuple[TopicPartition, OffsetRange]], doing: str, isolation: str = "read_committed"
    ) -> Iterator[Sequence[JsonRecord]]:
        """`records` as JSON, several of one partition at a time."""
        wanted = [(each, offsets) for each, offsets in ranges if offsets.size]
        if not wanted:
            return
        try:
            if isolation not in self._reads:
                self._reads[isolation] = SmallReads(self._java, self.options, isolation, TIMEOUT_SECONDS)
            yield from self._reads[isolation].json_batches(wanted)
        except JavaError as error:
            raise translated(error, self.where, doing, answered=True) from None
        except SilentError as error:
            topics = {each.topic for each, _ in wanted}
            if missing := topics - self.describe(topics).keys():
                raise gone(missing, self.where, doing) from None
            raise silent(str(error), self.where, doing, TIMEOUT_SECONDS) from None

    def cleanup_policies(self, topics: Collection[str]) -> dict[str, str]:
        """`cleanup.policy` by topic."""
        configs = self._topic_configs(topics)
        return {topic: str(config.get("cleanup.policy").value()) for topic, config in configs.items()}

    def settings(self, topics: Collection[str]) -> dict[str, dict[str, Setting]]:
        """The settable properties of each topic, by name. Each configuration arrives as one JSON text, because every
        call into the JVM takes time.
        """
        found = {}
        for topic, config in self._topic_configs(topics).items():
            entries = self._json.read(config.entries())
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
        return {each["groupId"]: each["state"] not in _IDLE_STATES for each in self._json.read(listings)}

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
            group: {partition_of(name): each["offset"] for name, each in offsets.items() if each is not None}
            for group, offsets in self._json.read(answer).items()
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

    def _at(
        self, partitions: Iterable[TopicPartition], place: str, isolation: str = "READ_COMMITTED"
    ) -> dict[TopicPartition, int]:
        """The `earliest` or `latest` offsets. Keeps requests, because the job repeats them for the same partitions."""
        wanted = frozenset(partitions)
        if not wanted:
            return {}
        if (place, wanted) not in self._requests:
            spec, request = getattr(self._java(f"{_ADMIN}.OffsetSpec"), place)(), self._java("java.util.HashMap")()
            for each in wanted:
                request.put(self._partition(each), spec)
            self._requests[place, wanted] = request
        return self._list_offsets(self._requests[place, wanted], isolation)

    def _list_offsets(self, wanted: JavaObject, isolation: str = "READ_COMMITTED") -> dict[TopicPartition, int]:
        level = self._java(f"{_COMMON}.IsolationLevel").valueOf(isolation)
        options = self._java(f"{_ADMIN}.ListOffsetsOptions")(level)
        answer = self._get("listing offsets", lambda: self._admin.listOffsets(wanted, options).all())
        return {partition_of(name): each["offset"] for name, each in self._json.read(answer).items()}

    def _partition(self, partition: TopicPartition) -> JavaObject:
        if partition not in self._partitions:
            self._partitions[partition] = self._java(f"{_COMMON}.TopicPartition")(*partition)
        return self._partitions[partition]

    def _list(self, items: Iterable[object]) -> JavaObject:
        java = self._java("java.util.ArrayList")()
        for item in items:
            java.add(item)
        return java

    def _java(self, name: str) -> JavaObject:
        """The class of this full name.

        With `jvm.java.util.HashMap`, the JVM would search every jar for a class with the name of each part.
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
