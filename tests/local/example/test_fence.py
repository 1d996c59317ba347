"""`replicate failover --fence` on real brokers: a producer is refused, a super user who still writes is reported."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from confluent_kafka import Producer

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.kafka.acls import CLUSTER_NAME
from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.local.acls import apply_acls, bindings
from kafka_replication.infra.local.endpoints import ADMIN, Region
from kafka_replication.infra.local.traffic import create_topics, produce
from kafka_replication.infra.machine.waiting import wait_for
from tests.local.example.test_access import granted, revoke
from tests.local.example.test_failover import ends_of, expect_all, killed_at, resumed
from tests.local.flows import ARRIVAL_SECONDS, Deployed
from tests.local.moving import fail_over, forget, read_on, skipped_and_again, stand_at
from tests.local.observed import committed, expect_records

TOPIC, REMOTE, GROUP = "payments-fence", "useast.payments-fence", "checkout-fence"
RECORDS = 600
MAY_DENY = Acl("useast", "User:mirror", "cluster", "literal", CLUSTER_NAME, ("ALTER",))
CALL = ("--group", GROUP, "--fence", "--watch-seconds", "3")


def fence(region: Region, stack: str) -> set[tuple[str, str]]:
    """The topics of a fence with the principal of each ACL: everybody, or the fence's own mark."""
    found = granted(region, "User:*") + granted(region, f"Fence:{stack}/orders")
    return {(each.name, each.principal) for each in found}


@pytest.fixture
def fenceable(deployed: Deployed) -> Iterator[dict[int, int]]:
    """A group half way through a topic whose records have crossed, and connectors that may change ACLs."""
    source, target = deployed.endpoints.regions["useast"], deployed.endpoints.regions["uswest"]
    create_topics(source, {TOPIC: 2})
    produce(source, TOPIC, RECORDS, seed=11)
    wait_for("records to cross", lambda: expect_records(target, REMOTE, RECORDS), ARRIVAL_SECONDS)
    offsets = {partition: end // 2 for partition, end in ends_of(source, TOPIC).items()}
    stand_at(source, GROUP, TOPIC, offsets)
    apply_acls(source, (MAY_DENY,))
    yield offsets
    fail_over(deployed, "orders", "--lift-fence")
    revoke(source, *bindings(MAY_DENY))
    forget(source, [GROUP])
    forget(target, [GROUP] if committed(target, GROUP, REMOTE) else [])


@contextmanager
def a_super_user_who_writes(region: Region) -> Iterator[None]:
    finished = Event()

    def write() -> None:
        producer = Producer(region.client_config(ADMIN))
        while not finished.wait(0.1):
            producer.produce(TOPIC, b"past the fence", b"key", 0, headers=[("trace", b"past")])
            producer.flush()

    writer = Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        finished.set()
        writer.join()


def test_a_fence_stops_producers_and_a_super_user_who_still_writes_is_reported(
    deployed: Deployed, fenceable: dict[int, int]
) -> None:
    source, target = deployed.endpoints.regions["useast"], deployed.endpoints.regions["uswest"]
    stack = deployed.settings.stack
    with a_super_user_who_writes(source):
        caught = fail_over(deployed, "orders", *CALL)
    assert (caught.returncode, f"somebody still writes to useast: {TOPIC} grew by " in caught.stderr) == (1, True)
    assert "the fence was removed" in caught.stdout
    assert fence(source, stack) == set()
    assert deployed.connector("orders-checkpoint")["spec"]["state"] == "running"
    produce(source, TOPIC, 60, seed=11, first=RECORDS)
    with resumed(deployed):
        for step in ("are denied", "point of no return"):
            killed_at(deployed, step, *CALL)
            assert (TOPIC, "User:*") in fence(source, stack)
        moved = fail_over(deployed, "orders", *CALL)
        assert moved.returncode == 0, moved.stderr
        assert f"{GROUP} subscribes to {TOPIC}, {REMOTE}" in moved.stdout
        assert {(TOPIC, "User:*"), (TOPIC, f"Fence:{stack}/orders")} <= fence(source, stack)
        with pytest.raises(CannotRunError, match=r"[Aa]uthoriz"):
            produce(source, TOPIC, 6, seed=12)
        expect_all(source, target, TOPIC, REMOTE)
        read = read_on(target, GROUP, REMOTE, ends_of(target, REMOTE))
        assert skipped_and_again(source, fenceable, TOPIC, read) == (0, 0)
        lifted = fail_over(deployed, "orders", "--lift-fence")
        assert (lifted.returncode, "on useast are allowed again" in lifted.stdout) == (0, True)
    assert fence(source, stack) == set()
    produce(source, TOPIC, 6, seed=12, first=RECORDS)
