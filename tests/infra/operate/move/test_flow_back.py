"""A flow back with the identity policy: it starts after the last copied record, and its groups return.

The operator of this scene also sets offsets, in the topic where Connect stores them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest

from kafka_replication.components.clients.writer import Access
from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.flows.naming import storage_topic_name
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.kafka.acls import AclEntry
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.kubernetes.api import Object, Reference
from kafka_replication.infra.operate.move.flow_back import fail_back
from kafka_replication.infra.operate.offsets.reader import OffsetsReader
from tests.builders import a_topology
from tests.components.clients.brokers import Cluster, Reader
from tests.infra.operate.move.night import KilledError, Night, Operator, a_call, a_night, fail_over

ORDERS = TopicPartition("orders", 0)
BACK = {
    **{"kind": "flow", "policy": "identity", "source": "uswest", "target": "useast"},
    **{"topics": ["orders"], "groups": ["checkout-.*"], "connectors": {"source": {"state": "stopped"}}},
}
_ASKED = "strimzi.io/connector-offsets"


@dataclass
class WithConnect(Operator):
    """An operator that alters offsets; after `left` calls the caller is killed."""

    connect: Cluster = field(default_factory=Cluster)
    topic: str = ""
    config_maps: dict[str, Object] = field(default_factory=dict)
    left: float = float("inf")

    def get(self, wanted: Reference) -> Object | None:
        self._called()
        return super().get(wanted)

    def patch(self, wanted: Reference, operations: list[Object]) -> Object:
        self._called()
        for each in operations:
            if each["op"] == "remove":
                self.objects[wanted]["spec"].pop(each["path"].rpartition("/")[2])
        body = super().patch(wanted, [each for each in operations if each["op"] != "remove"])
        annotations = body["metadata"].get("annotations") or {}
        if annotations.pop(_ASKED, "") == "alter":
            named = body["spec"]["alterOffsets"]["fromConfigMap"]["name"]
            for each in json.loads(self.config_maps[named]["data"]["offsets.json"])["offsets"]:
                self._store(body["metadata"]["name"], each)
        return body

    def apply(self, item: Object) -> None:
        self._called()
        self.config_maps[item["metadata"]["name"]] = item

    def delete(self, wanted: Reference) -> None:
        self._called()
        self.config_maps.pop(wanted.name, None)

    def _store(self, connector: str, each: Any) -> None:
        key, value = json.dumps([connector, each["partition"]]), json.dumps(each["offset"])
        self.connect.producer.produce(self.topic, value, key, 0)
        assert self.connect.producer.flush(10) == 0

    def _called(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KilledError


class FlowBack(Night):
    """The scene of the flow back."""

    @property
    def connect(self) -> WithConnect:
        assert isinstance(self.operator, WithConnect)
        return self.operator

    def stored(self) -> dict[TopicPartition, int | None]:
        return {partition: offset for (_, partition), offset in OffsetsReader(self).stored().items()}

    def groups(self) -> dict[str, int]:
        """The groups' offsets on useast."""
        found = Reader("useast", self.source.config).committed(self.members)
        return {group: offsets[ORDERS] for group, offsets in found.items() if offsets}


@pytest.fixture
def scene() -> FlowBack:
    """10 and 11 of useast never reached uswest; 8 and 9 were sent twice; then uswest wrote five records of its own."""
    useast, uswest = Cluster(), Cluster()
    useast.hold("orders", [(each, "") for each in range(12)])
    uswest.hold("orders", [(each, "") for each in [*range(10), 8, 9, *range(100, 105)]])
    (flow,) = resolve_flows(parse_topology(a_topology(BACK)), None, {})
    night = a_night(flow, useast, uswest, {})
    for group, offset in {"checkout-app": 5, "checkout-web": 14}.items():
        uswest.commit(group, {ORDERS: offset})
        night.members[group] = 0
    objects = night.operator.objects
    for body in objects.values():
        body["metadata"]["uid"] = "u-1"
    operator = WithConnect(objects, connect=useast, topic=storage_topic_name(flow.workers, flow.settings, "offsets"))
    useast.hold(operator.topic, [])
    return FlowBack(**vars(replace(night, operator=operator)))


def begin(scene: FlowBack, *, dry_run: bool = False) -> None:
    fail_back(a_call(dry_run=dry_run), scene)


def test_a_dry_run_shows_where_the_flow_begins_and_changes_nothing(
    scene: FlowBack, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(scene, dry_run=True)
    assert capsys.readouterr().out.splitlines() == [
        "✓ connectors    every source connector is stopped",
        "✓ beginning     5 records of uswest to copy back, in 4 partitions",
        "! old only      2 records of useast never reached uswest: orders-0, offsets 10 to 11, written "
        "1970-01-01T00:00:01Z",
        "orders-0: now 0, then 12: skips up to 12 records",
        "nothing was changed",
    ]
    assert scene.stored() == {}


def test_the_flow_begins_after_the_last_copy_and_the_groups_return(
    scene: FlowBack, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(scene)
    assert scene.stored() == {ORDERS: 11}
    assert capsys.readouterr().out.splitlines()[-1] == (
        "Then stop the producers and consumers, and type `replicate failover night orders`"
    )
    (source,) = [body for body in scene.operator.objects.values() if body["metadata"]["name"] == "orders-source"]
    source["spec"]["state"] = "running"
    scene.operator.report(source)
    scene.source.hold("orders", [(each, "") for each in range(100, 105)])
    fail_over(scene)
    # useast holds 0 to 11 and 100 to 104: checkout-app has not read 5 and later, checkout-web 102 and later.
    assert scene.groups() == {"checkout-app": 5, "checkout-web": 14}
    assert "! only target   2 records on useast did not come from uswest: 2 of orders-0" in capsys.readouterr().out
    with pytest.raises(RefusedError, match="flow orders has run: orders-0 is replicated up to 11"):
        begin(scene)


def test_the_fence_of_the_failover_is_lifted_so_that_the_flow_back_can_write(
    scene: FlowBack, capsys: pytest.CaptureFixture[str]
) -> None:
    denial = AclEntry("User:*", "TOPIC", "LITERAL", "orders", "WRITE", "DENY")
    scene.acls.entries += [denial._replace(principal="Fence:prod-us-west-2/orders"), denial]
    begin(scene, dry_run=True)
    said = capsys.readouterr().out
    assert (
        "! fence         writes to the topics on useast have been denied to everybody since the failover of prod-us"
    ) in said
    assert scene.acls.denied == ["orders"]
    begin(scene)
    assert scene.acls.denied == []
    assert "✓ the fence of prod-us-west-2/orders on useast is lifted" in capsys.readouterr().out


def test_the_fence_is_reported_as_not_looked_for_if_the_acls_cannot_be_read(
    scene: FlowBack, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.acls.found = Access(may_change=False, seen=False)
    begin(scene, dry_run=True)
    assert (
        "! fence         not looked for: the connectors' user may not see the ACLs of useast" in capsys.readouterr().out
    )


def test_the_next_run_completes_a_run_that_was_killed_at_any_call(scene: FlowBack) -> None:
    for calls in count():
        scene.connect.left = calls
        try:
            begin(scene)
        except KilledError:
            scene.connect.left = float("inf")
            continue
        break
    assert calls > 5
    assert (scene.stored(), scene.connect.config_maps) == ({ORDERS: 11}, {})
    (source,) = [body for body in scene.operator.objects.values() if body["metadata"]["name"] == "orders-source"]
    assert (source["spec"]["state"], source["spec"].get("alterOffsets")) == ("stopped", None)


def test_a_flow_that_has_already_run_is_refused_with_a_remedy(scene: FlowBack) -> None:
    begin(scene)
    scene.connect._store("orders-source", next(_stored("uswest", 16)))
    with pytest.raises(RefusedError) as caught:
        begin(scene)
    assert caught.value.what == "flow orders has run: orders-0 is replicated up to 16"
    assert "deploy one from useast to uswest in its place, with its source connector `stopped`" in caught.value.remedy


def _stored(cluster: str, offset: int) -> Iterator[Object]:
    yield {"partition": {"cluster": cluster, "topic": "orders", "partition": 0}, "offset": {"offset": offset}}


def test_a_partition_that_mixes_records_of_both_origins_is_refused(scene: FlowBack) -> None:
    scene.target.hold("orders", [(11, "")])
    with pytest.raises(RefusedError, match="records of both origins are mixed"):
        begin(scene)
    assert scene.stored() == {}
