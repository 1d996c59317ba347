"""Setting offsets with the stand-in for the operator, and a small Kubernetes and Connect; killed at every call."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_replication.components.contract.problems import CannotRunError, RefusedError
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.render.kafka_connectors import ANNOTATION
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.local.operator.conditions import written
from kafka_replication.infra.local.operator.connect_rest import ConnectRest, RestError
from kafka_replication.infra.local.operator.connector_annotations import manage_offsets
from kafka_replication.infra.local.operator.mirror_maker2 import connector_resources
from kafka_replication.infra.local.operator.resources import connector_resource
from kafka_replication.infra.operate.connectors.changes import ConnectorPlace
from kafka_replication.infra.operate.offsets.change import PURPOSE, Run, left_behind
from kafka_replication.infra.operate.offsets.plan import OffsetChange, Stored
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from tests.infra.operate.connectors.test_changes import NOW, SOURCE, a_request, announce

ORDERS = TopicPartition("orders", 0)
MM2 = ConnectorPlace(
    "useast->uswest.MirrorSourceConnector",
    "source",
    Reference("kafka.strimzi.io/v1", "KafkaMirrorMaker2", "mirror-orders", "orders"),
)
BACK = OffsetChange(SOURCE.name, ORDERS, 42, 20, 19)
OWNERS = [{"manager": "pulumi-kubernetes"}, {"manager": "strimzi", "subresource": "status"}]
OURS = {"manager": "kafka-replication", "operation": "Update"}


class KilledError(BaseException):
    """Ends the run at once, like a SIGKILL."""


def a_connector() -> Object:
    connector = {"class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "state": "running"}
    return {"kind": "KafkaConnector", "spec": {**connector, "tasksMax": 1, "config": {}}}


def a_mirror_maker() -> Object:
    side = {"bootstrapServers": "kafka:9092"}
    target = {"alias": "uswest", **side, "groupId": "g", "configStorageTopic": "c", "offsetStorageTopic": "o"}
    mirror = {"source": {"alias": "useast", **side}, "sourceConnector": {"state": "running", "config": {}}}
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaMirrorMaker2",
        "spec": {"target": {**target, "statusStorageTopic": "s"}, "mirrors": [mirror]},
    }


@dataclass
class Cluster:
    """One resource with its ConfigMaps, its Connect, and the operator, which reconciles before each answer.

    After `left` calls the caller is killed. The first `conflicts` patches are refused. `refuses` is the status with
    which Connect refuses a change of offsets. `ending` lists, for each time it is asked, the tasks that have not ended;
    when the last one ends, it stores its own offset. `present` are the tasks that the connector has while it runs.
    """

    place: ConnectorPlace
    body: Object
    stored: dict[TopicPartition, int] = field(default_factory=lambda: {ORDERS: 41})
    config_maps: dict[str, Object] = field(default_factory=dict)
    works: bool = True
    left: float = float("inf")
    conflicts: int = 0
    refuses: int = 0
    calls: int = 0
    ending: list[list[int]] = field(default_factory=list)
    present: frozenset[int] = frozenset({0, 1})

    def __post_init__(self) -> None:
        resource = self.place.resource
        self.body["metadata"] = {
            **{"name": resource.name, "namespace": resource.namespace, "uid": "u-1", "generation": 1},
            **{"resourceVersion": "1", "annotations": {"kept": "yes"}, "labels": {"strimzi.io/cluster": "orders"}},
            "managedFields": deepcopy(OWNERS),
        }

    @property
    def connector(self) -> Object:
        spec = self.body["spec"]
        return cast(Object, spec["mirrors"][0]["sourceConnector"] if "mirrors" in spec else spec)

    # The operator.

    def reconcile(self) -> None:
        alone = self.body["kind"] == "KafkaConnector"
        given = connector_resource(self.body) if alone else connector_resources(self.body)[0]
        api = cast(KubernetesApi, SimpleNamespace(get=self._config_map, patch=lambda _, patch: self._apply(patch)))
        failed = manage_offsets(api, cast(ConnectRest, self), given)
        said = written([failed] if failed else [], (self.body.get("status") or {}).get("conditions") or [], NOW)
        state, generation = self.status("")["connector"]["state"], self.body["metadata"]["generation"]
        status = {"name": self.place.name, "connector": {"state": state}, "tasks": []}
        seen = {"connectorStatus": status} if alone else {"connectors": [status]}
        self.body["status"] = {"observedGeneration": generation, "conditions": said, **seen}

    # Connect.

    def status(self, _: str) -> Object:
        return {"connector": {"state": self.connector["state"].upper()}}

    def call(self, _: str, method: str, path: str, offsets: Any) -> Object:
        assert path == "/offsets"
        if method == "DELETE":
            self.stored.clear()
            return {}
        assert method == "PATCH"
        if self.refuses:
            raise RestError(self.refuses, "no")
        for each in offsets["offsets"]:
            partition = TopicPartition(each["partition"]["topic"], each["partition"]["partition"])
            self.stored.pop(partition, None)
            if each["offset"] is not None:
                self.stored[partition] = each["offset"]["offset"]
        return {}

    # Kubernetes.

    def get(self, _: Reference) -> Object:
        self._called()
        return deepcopy(self.body)

    def patch(self, _: Reference, patch: list[Object]) -> None:
        self._called()
        if self.conflicts:
            self.conflicts -= 1
            raise ApiError(409, "Conflict", "it was changed")
        if not any(each["path"] == "/metadata/managedFields" for each in patch):
            self.body["metadata"]["managedFields"] = [*OWNERS, OURS]
        self._apply(patch)

    def apply(self, item: Object) -> None:
        self._called()
        self.config_maps[item["metadata"]["name"]] = item

    def delete(self, target: Reference) -> None:
        self._called()
        self.config_maps.pop(target.name, None)

    def _called(self) -> None:
        self.calls += 1
        if self.calls > self.left:
            raise KilledError
        if self.works:
            self.reconcile()

    def _config_map(self, target: Reference) -> Object | None:
        return self.config_maps.get(target.name)

    def _apply(self, patch: list[Object]) -> None:
        result = deepcopy(self.body)
        for each in patch:
            *path, last = (step.replace("~1", "/") for step in each["path"].split("/")[1:])
            place = result
            for step in path:
                place = place[int(step)] if isinstance(place, list) else place[step]
            if each["path"] == "/metadata/resourceVersion":
                assert each["value"] == place[last]
            elif each["op"] == "remove":
                del place[last]
            else:
                place[last] = each["value"]
        result["metadata"]["generation"] += 1
        result["metadata"]["resourceVersion"] = str(int(result["metadata"]["resourceVersion"]) + 1)
        self.body = result

    # The command.

    def run(self, verb: str = "alter", seconds: float = 5, move: OffsetChange = BACK, by: str = "ann") -> list[str]:
        """Set the offset, and return the reported states of the connectors that run again."""
        reader = SimpleNamespace(source="useast", stored=self.read, unended=self.unended, present=self.tasks)
        wanted = replace(move, connector=self.place.name)
        request = a_request("stopped", by=f"{by}{PURPOSE}")
        run = Run(cast(KubernetesApi, self), cast(OffsetsReader, reader), request, verb, seconds, lambda _: None)
        return [each.state for each in run.set([self.place], lambda: [wanted])[1]]

    def tasks(self, _: str) -> frozenset[int]:
        assert self.connector["state"] == "running"
        return self.present

    def unended(self, _: str) -> list[int]:
        if not self.ending:
            return []
        assert self.connector["state"] == "stopped"
        left = self.ending.pop(0)
        if not self.ending:
            self.stored[ORDERS] = 44
        return left

    def read(self) -> Stored:
        return {(self.place.name, partition): offset for partition, offset in self.stored.items()}

    def left_alone(self) -> tuple[object, ...]:
        """Everything that a command must leave as it was."""
        metadata = self.body["metadata"]
        return deepcopy((self.body["spec"], metadata["annotations"], metadata["managedFields"], self.config_maps))


MAKERS: list[Callable[[], Cluster]] = [
    lambda: Cluster(SOURCE, a_connector()),
    lambda: Cluster(MM2, a_mirror_maker()),
]
of_each_kind = pytest.mark.parametrize("make", MAKERS, ids=["KafkaConnector", "KafkaMirrorMaker2"])


@of_each_kind
def test_setting_an_offset_leaves_the_resource_as_it_was(make: Callable[[], Cluster]) -> None:
    cluster = make()
    before = cluster.left_alone()
    assert cluster.run() == ["RUNNING"]
    assert cluster.stored == {ORDERS: 19}
    assert cluster.left_alone() == before


@of_each_kind
def test_offsets_are_set_after_the_tasks_have_stored_their_own(make: Callable[[], Cluster]) -> None:
    cluster = make()
    cluster.ending = [[0, 1], [1], []]
    cluster.run()
    assert (cluster.stored, cluster.ending) == ({ORDERS: 19}, [])


def test_the_offsets_and_the_connector_stay_as_they_were_if_tasks_do_not_end() -> None:
    cluster = Cluster(SOURCE, a_connector(), ending=[[0], [0], [0]])
    before = cluster.left_alone()
    cluster.reconcile()
    with pytest.raises(CannotRunError, match="tasks 0 of orders-source have not ended") as caught:
        cluster.run(seconds=0)
    assert (caught.value.code, cluster.left_alone(), cluster.stored) == ("tasks-not-ended", before, {ORDERS: 41})


def test_a_task_that_the_connector_no_longer_has_is_not_waited_for() -> None:
    """Its worker was killed, so it never reports its end; every call used to end in `tasks-not-ended`."""
    cluster = Cluster(SOURCE, a_connector(), ending=[[0, 1], [1], [1]], present=frozenset({0}))
    assert cluster.run() == ["RUNNING"]
    assert (cluster.stored, cluster.ending) == ({ORDERS: 19}, [[1]])


def test_every_task_of_a_stopped_connector_is_waited_for() -> None:
    cluster = Cluster(SOURCE, a_connector(), ending=[[1], [1]], present=frozenset({0}))
    stop(cluster)
    cluster.reconcile()
    with pytest.raises(CannotRunError, match=r"tasks-not-ended: .*`replicate resume prod orders` if it is stopped"):
        cluster.run(seconds=0)


def test_a_connector_held_back_for_its_first_offsets_has_no_tasks_to_wait_for() -> None:
    """If a flow ran before it was moved, the status topic may say for ever that one of its tasks runs."""
    cluster = Cluster(SOURCE, a_connector(), ending=[[1], [1]])
    cluster.body["metadata"]["annotations"][ANNOTATION] = "mirror"
    stop(cluster)
    cluster.reconcile()
    cluster.run(seconds=0)
    assert cluster.stored == {ORDERS: 19}


@of_each_kind
def test_a_reset_deletes_every_offset(make: Callable[[], Cluster]) -> None:
    cluster = make()
    assert cluster.run("reset", move=replace(BACK, then=0, stored=None)) == ["RUNNING"]
    assert cluster.stored == {}


@of_each_kind
def test_a_second_call_finishes_a_call_that_was_killed_at_any_point(make: Callable[[], Cluster]) -> None:
    whole = make()
    before = whole.left_alone()
    whole.run()
    for killed_at in range(whole.calls):
        cluster = make()
        cluster.left = killed_at
        with pytest.raises(KilledError):
            cluster.run()
        cluster.left = float("inf")
        cluster.run()
        assert (cluster.stored, cluster.left_alone()) == ({ORDERS: 19}, before), killed_at
        assert left_behind(cast(KubernetesApi, cluster), [cluster.place]) == []


def stop(cluster: Cluster) -> None:
    """Somebody stopped the connector with `replicate stop`."""
    announce(cluster.body, "ann", "stopped")
    cluster.body["metadata"]["managedFields"].append(OURS)


def test_a_connector_that_was_stopped_stays_stopped() -> None:
    cluster = Cluster(SOURCE, a_connector())
    stop(cluster)
    before = cluster.left_alone()
    assert cluster.run() == []
    assert (cluster.stored, cluster.left_alone()) == ({ORDERS: 19}, before)


def test_a_refusal_by_connect_is_reported_and_the_request_is_withdrawn() -> None:
    cluster = Cluster(SOURCE, a_connector(), refuses=400)
    before = cluster.left_alone()
    with pytest.raises(CannotRunError) as caught:
        cluster.run()
    assert caught.value.code == "offsets-not-changed"
    assert caught.value.what == (
        "Encountered error altering connector offsets. PATCH /connectors/orders-source/offsets returned 400 (400): "
        "Unexpected status code"
    )
    assert cluster.left_alone() == before


def test_an_operator_that_is_down_leaves_nothing_armed() -> None:
    cluster = Cluster(SOURCE, a_connector())
    before = cluster.left_alone()
    cluster.reconcile()
    cluster.works = False
    with pytest.raises(CannotRunError) as caught:
        cluster.run(seconds=0)
    assert (caught.value.code, cluster.left_alone(), cluster.stored) == ("operator-not-acting", before, {ORDERS: 41})


def test_an_operator_that_went_down_after_the_stop_leaves_nothing_armed() -> None:
    cluster = Cluster(SOURCE, a_connector())
    stop(cluster)
    before = cluster.left_alone()
    cluster.reconcile()
    cluster.works = False
    with pytest.raises(CannotRunError) as caught:
        cluster.run(seconds=0)
    assert (caught.value.code, cluster.left_alone(), cluster.stored) == ("operator-not-acting", before, {ORDERS: 41})


def test_a_patch_that_conflicts_with_a_change_by_the_operator_is_repeated() -> None:
    cluster = Cluster(SOURCE, a_connector())
    stop(cluster)
    cluster.conflicts = 2
    cluster.run()
    assert cluster.stored == {ORDERS: 19}


def test_an_armed_annotation_is_found_before_anything_stops() -> None:
    cluster = Cluster(SOURCE, a_connector())
    cluster.body["metadata"]["annotations"]["strimzi.io/connector-offsets"] = "reset"
    with pytest.raises(RefusedError) as caught:
        cluster.run()
    assert (caught.value.code, cluster.stored) == ("offsets-armed", {ORDERS: 41})
    assert cluster.connector["state"] == "running"
