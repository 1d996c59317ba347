"""A flow with the identity policy that leads back: it begins after the last copy, and its groups return.

The operator of this scene also sets offsets, in the topic in which Connect keeps them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pytest

from components.contract.problems import RefusedError
from components.flows.naming import storage_topic_name
from components.flows.resolved import resolve_flows
from components.kafka.acls import AclEntry
from components.kafka.positions import TopicPartition
from components.topology.parsing import parse_topology
from infra.commands.failback_call import Call, go_back
from infra.commands.failover_call import with_both
from infra.kubernetes.api import Object, Reference
from infra.operations.failover_facts import Mode
from infra.operations.group_writer import GroupWriter
from infra.operations.return_looking import offsets_reader
from infra.operations.topic_acls import Access
from tests.builders import a_topology
from tests.infra.operations.brokers import Cluster, Reader
from tests.infra.operations.night import KilledError, Night, Operator, a_call, a_night

ORDERS = TopicPartition("orders", 0)
BACK = {
    **{"kind": "flow", "policy": "identity", "source": "uswest", "target": "useast"},
    **{"topics": ["orders"], "groups": ["checkout-.*"], "connectors": {"source": {"state": "stopped"}}},
}
_ASKED = "strimzi.io/connector-offsets"


@dataclass
class WithConnect(Operator):
    """An operator that alters offsets; it answers `left` calls, and then the caller is dead."""

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


class Way(Night):
    """The scene of the flow back."""

    def writer(self) -> GroupWriter:
        return GroupWriter("useast", self.source.config)

    @property
    def connect(self) -> WithConnect:
        assert isinstance(self.operator, WithConnect)
        return self.operator

    def stored(self) -> dict[TopicPartition, int | None]:
        return {partition: offset for (_, partition), offset in offsets_reader(self).stored().items()}

    def groups(self) -> dict[str, int]:
        """The groups' offsets on useast."""
        found = Reader("useast", self.source.config).committed(self.members)
        return {group: offsets[ORDERS] for group, offsets in found.items() if offsets}


@pytest.fixture
def way() -> Way:
    """useast lost 10 and 11, which never crossed; 8 and 9 were sent twice; then uswest wrote five records."""
    useast, uswest = Cluster(), Cluster()
    useast.hold("orders", [(each, "") for each in range(12)])
    uswest.hold("orders", [(each, "") for each in [*range(10), 8, 9, *range(100, 105)]])
    (flow,) = resolve_flows(parse_topology(a_topology(BACK)), None, {})
    night = a_night(flow, useast, uswest, {})
    for group, offset in {"checkout-app": 5, "checkout-web": 14}.items():
        GroupWriter("uswest", uswest.config).commit(group, {ORDERS: offset}, "")
        night.members[group] = 0
    objects = night.operator.objects
    for body in objects.values():
        body["metadata"]["uid"] = "u-1"
    operator = WithConnect(objects, connect=useast, topic=storage_topic_name(flow.workers, flow.settings, "offsets"))
    useast.hold(operator.topic, [])
    values = {**vars(replace(night, operator=operator, api=operator))}  # type: ignore[arg-type]  # it stands for it
    return Way(**values)


def begin(way: Way, *, dry_run: bool = False) -> None:
    def no_writer() -> GroupWriter:
        raise AssertionError("this step commits for no group")

    go_back(Call((), dry_run, as_json=False, wait_seconds=5), way, no_writer)


def test_a_dry_run_shows_where_the_flow_begins_and_changes_nothing(
    way: Way, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(way, dry_run=True)
    assert capsys.readouterr().out.splitlines() == [
        "✓ connectors    every source connector is stopped",
        "✓ beginning     5 records of uswest to take back, in 4 partitions",
        "! old only      2 records of useast never reached uswest: orders-0, offsets 10 to 11, written "
        "1970-01-01T00:00:01Z",
        "orders-0: now 0, then 12: leaves up to 12 records out",
        "nothing was changed",
    ]
    assert way.stored() == {}


def test_the_flow_begins_after_the_last_copy_and_the_groups_return(
    way: Way, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(way)
    assert way.stored() == {ORDERS: 11}
    assert capsys.readouterr().out.splitlines()[-1] == (
        "Then stop the producers and consumers, and type `replicate failover night orders`"
    )
    (source,) = [body for body in way.operator.objects.values() if body["metadata"]["name"] == "orders-source"]
    source["spec"]["state"] = "running"
    way.operator.report(source)
    way.source.hold("orders", [(each, "") for each in range(100, 105)])
    with_both(a_call(way), way, Mode.PLANNED)
    # Of useast's 0 to 11, 100 to 104 the one lacks 5 and more, the other 102 and more.
    assert way.groups() == {"checkout-app": 5, "checkout-web": 14}
    assert "! only target   2 records on useast did not come from uswest: 2 of orders-0" in capsys.readouterr().out
    with pytest.raises(RefusedError, match="flow orders has run: orders-0 is replicated up to 11"):
        begin(way)


def test_the_flow_may_write_to_the_old_origin_although_its_failover_had_a_fence(
    way: Way, capsys: pytest.CaptureFixture[str]
) -> None:
    denial = AclEntry("User:*", "TOPIC", "LITERAL", "orders", "WRITE", "DENY")
    way.acls.entries += [denial._replace(principal="Fence:prod-us-west-2/orders"), denial]
    begin(way, dry_run=True)
    said = capsys.readouterr().out
    assert (
        "! fence         writes to the topics on useast have been denied to everybody since the failover of prod-us"
    ) in said
    assert way.acls.denied == ["orders"]
    begin(way)
    assert way.acls.denied == []
    assert "✓ the fence of prod-us-west-2/orders on useast is lifted" in capsys.readouterr().out


def test_a_fence_that_nobody_could_see_is_not_said_to_be_absent(way: Way, capsys: pytest.CaptureFixture[str]) -> None:
    way.acls.found = Access(may_change=False, seen=False)
    begin(way, dry_run=True)
    assert (
        "! fence         not looked for: the connectors' user may not see the ACLs of useast" in capsys.readouterr().out
    )


def test_killed_at_any_call_the_next_run_ends_right(way: Way) -> None:
    for calls in count():
        way.connect.left = calls
        try:
            begin(way)
        except KilledError:
            way.connect.left = float("inf")
            continue
        break
    assert calls > 5
    assert (way.stored(), way.connect.config_maps) == ({ORDERS: 11}, {})
    (source,) = [body for body in way.operator.objects.values() if body["metadata"]["name"] == "orders-source"]
    assert (source["spec"]["state"], source["spec"].get("alterOffsets")) == ("stopped", None)


def test_a_flow_that_has_run_is_refused_with_the_way_that_works(way: Way) -> None:
    begin(way)
    way.connect._store("orders-source", next(_stored("uswest", 16)))
    with pytest.raises(RefusedError) as caught:
        begin(way)
    assert caught.value.what == "flow orders has run: orders-0 is replicated up to 16"
    assert "deploy one from useast to uswest in its place, with its source connector `stopped`" in caught.value.remedy


def _stored(cluster: str, offset: int) -> Iterator[Object]:
    yield {"partition": {"cluster": cluster, "topic": "orders", "partition": 0}, "offset": {"offset": offset}}


def test_records_of_both_mixed_are_refused(way: Way) -> None:
    way.target.hold("orders", [(11, "")])
    with pytest.raises(RefusedError, match="records of both origins are mixed"):
        begin(way)
    assert way.stored() == {}
