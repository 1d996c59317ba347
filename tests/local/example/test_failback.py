"""`replicate failback` of the deployed flow, with groups that consumed on the target: they skip and reread nothing."""

from collections import Counter
from collections.abc import Iterator

import pytest

from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.traffic import create_topics, produce
from kafka_replication.infra.machine.waiting import wait_for
from tests.local.example.test_interventions import replicate
from tests.local.flows import ARRIVAL_SECONDS, Deployed
from tests.local.moving import forget, read_on, stand_at
from tests.local.observed import Watch, committed, contents, expect_records

TOPIC, REMOTE = "payments-failback", "useast.payments-failback"
RECORDS = 1_500
#: The share of its partitions that each group has consumed on the target.
SHARES = {"checkout-fb-none": 0.0, "checkout-fb-half": 0.5, "checkout-fb-all": 1.0}
MAY_COMMIT = Acl("useast", "User:mirror", "group", "prefixed", "checkout-fb-", ("READ",))


@pytest.fixture(scope="module")
def groups_on_target(deployed: Deployed) -> Iterator[None]:
    """Groups that stand at different offsets of the remote topic, and records that only the source has."""
    source, target = deployed.endpoints.regions["useast"], deployed.endpoints.regions["uswest"]
    create_topics(source, {TOPIC: 3})
    produce(source, TOPIC, RECORDS, seed=5)
    wait_for("records to cross", lambda: expect_records(target, REMOTE, RECORDS), ARRIVAL_SECONDS)
    ends = {number: len(each) for number, each in contents(target, REMOTE).items()}
    for name, share in SHARES.items():
        stand_at(target, name, REMOTE, {each: int(end * share) for each, end in ends.items()})
    watch = Watch("orders")
    tasks = watch.tasks("orders-source")
    stopped = replicate(deployed, "stop", "orders", "--connector", "orders-source")
    assert (stopped.returncode, "Tasks may copy records for a few more seconds" in stopped.stdout) == (0, True)
    wait_for("the tasks of orders-source to end", lambda: watch.expect_stopped(tasks), ARRIVAL_SECONDS)
    produce(source, TOPIC, 60, seed=5, first=RECORDS)
    yield
    assert replicate(deployed, "resume", "orders").returncode == 0
    forget(target, SHARES)
    forget(source, [name for name in SHARES if committed(source, name, TOPIC)])


def options() -> list[str]:
    return [part for name in SHARES for part in ("--group", name)]


@pytest.mark.usefixtures("groups_on_target")
def test_groups_go_back_to_exactly_the_record_that_they_had_reached(deployed: Deployed) -> None:
    source, target = deployed.endpoints.regions["useast"], deployed.endpoints.regions["uswest"]
    for more in (["--dry-run"], []):
        refused = replicate(deployed, "failback", "orders", *options(), *more)
        assert (refused.returncode, "precondition-unmet" in refused.stderr) == (1, True)
        assert "--operation Read --group checkout-fb-all --group checkout-fb-half" in refused.stdout
        assert "point of no return" not in refused.stdout
    apply_acls(source, (MAY_COMMIT,))
    tried = replicate(deployed, "failback", "orders", *options(), "--dry-run")
    assert (tried.returncode, "nothing was changed" in tried.stdout) == (0, True)
    assert f"never reached uswest, and groups now read them: {TOPIC}-0, offsets " in tried.stdout
    answer = replicate(deployed, "failback", "orders", *options())
    assert (answer.returncode, "9 positions committed on useast and read back" in answer.stdout) == (0, True)
    every = Counter(each for partition in contents(source, TOPIC).values() for each in partition)
    ends = {number: len(each) for number, each in contents(source, TOPIC).items()}
    for name in SHARES:
        at = committed(target, name, REMOTE)
        consumed = Counter(each for number, found in contents(target, REMOTE).items() for each in found[: at[number]])
        read = read_on(source, name, TOPIC, ends)
        skipped, twice = (every - consumed) - read, read & consumed
        print(f"{name}: skipped {skipped.total()}, twice {twice.total()} of {read.total()}")
        assert (skipped.total(), twice.total()) == (0, 0)
