"""`replicate exporter` for the deployed flows: it serves what `status` sees, and nothing of a cluster that is down."""

from collections.abc import Callable
from subprocess import Popen

from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.exporting import exporter, scrape
from tests.infra.operate.status.exported import values
from tests.local.flows import ARRIVAL_SECONDS, Deployed, suspended

_EVERY_SECONDS = 1


def scraped(address: str, expected: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """The values of `orders` in the first scrape that is as expected."""

    def probe() -> dict[str, float]:
        found = values(scrape(address), "orders")
        if not expected(found):
            raise NotYetError(str(found))
        return found

    return wait_for("a scrape as expected", probe, ARRIVAL_SECONDS)


def asked(found: dict[str, float]) -> bool:
    return not any(value for name, value in found.items() if name.startswith("mirror_flow_unasked"))


def test_the_exporter_serves_what_it_sees_and_no_values_of_a_cluster_that_is_down(deployed: Deployed) -> None:
    stacks = deployed.settings.stacks
    with exporter("local", "--stacks", stacks, every_seconds=_EVERY_SECONDS) as (process, address):
        well = scraped(address, lambda each: asked(each) and each.get("mirror_groups", 0) > 0)
        assert well["mirror_partitions"] >= 6
        assert well["mirror_connector_running orders-source"] == 1
        assert well["mirror_connector_running_tasks orders-checkpoint"] == 1
        assert well["mirror_heartbeat_age_seconds"] < ARRIVAL_SECONDS
        assert sum(value for name, value in well.items() if name.startswith("mirror_verdict ")) == 1
        assert "mirror_group_read_again_records checkout-web" in well
        assert values(scrape(address), "ledger")["mirror_partitions"] == 2
        with suspended("kafka-useast"):
            # The part of a look before the suspension has its answers.
            down = scraped(address, lambda each: each.get("mirror_flow_unasked readAgain") == 1)
        assert down["mirror_flow_unasked lag"] == down["mirror_flow_unasked readAgain"] == 1
        assert down["mirror_flow_unasked heartbeatSeconds"] == 0
        assert not [name for name in down if "lag_" in name or "_again_" in name]
        # The target has the heartbeats.
        assert "mirror_heartbeat_age_seconds" in down
        scraped(address, asked)
        expect_no_password(process, deployed)


def expect_no_password(process: "Popen[str]", deployed: Deployed) -> None:
    process.terminate()
    assert process.stderr is not None
    said = process.stderr.read()
    assert "Kafka cluster useast does not answer" in said
    passwords = [user.password for region in deployed.endpoints.regions.values() for user in region.users.values()]
    assert [each for each in passwords if each in said] == []
