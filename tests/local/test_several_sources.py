"""Several source connectors in one flow, for real: disjoint topics, one stopped leaves the other flowing."""

from collections.abc import Iterator
from typing import Any

import pytest

from components.contract.report import Verdict
from infra.local.endpoints import Endpoints
from infra.local.example_traffic import Example, make_example_traffic
from infra.local.traffic import end_offsets
from infra.settings import read_settings
from infra.waiting import wait_for
from tests.local.flows import ARRIVAL_SECONDS, Deployed, check_named, told, write_edited
from tests.local.observed import expect_records

pytestmark = pytest.mark.usefixtures("spark")

TRAFFIC = Example(topics={"carts": 2, "views-web": 2}, groups={"basket": (("carts", "views-web"), 0.8)})


def _divide(topology: dict[str, Any]) -> None:
    split = topology["replications"].pop("traffic")
    topology["replications"]["shop"] = {
        "kind": "flow",
        **{key: split[key] for key in ("source", "target", "offsetSyncs", "intervals")},
        "groups": ["basket"],
        "connect": {"replicas": 1, "jvmOptions": {"-Xmx": "256m"}},
        "connectors": {
            "sources": {
                "carts": {"topics": ["carts"]},
                "views": {"topics": ["views-.*"], "config": {"producer.override.compression.type": "zstd"}},
            }
        },
    }


@pytest.fixture(scope="module")
def divided(endpoints: Endpoints, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """A flow whose topics two source connectors divide, one of them with compression of its own."""
    folder = write_edited(tmp_path_factory.mktemp("divided"), "local-split", _divide)
    stack = Deployed(read_settings("local-split", folder), endpoints)
    make_example_traffic(endpoints.regions["useast"], 200, 1, TRAFFIC)
    with stack.running():
        yield stack


def test_the_union_is_complete_and_each_topic_has_one_connector(divided: Deployed) -> None:
    make_example_traffic(divided.endpoints.regions["useast"], 200, 1, TRAFFIC)
    outcome = divided.validate("shop")
    assert outcome.verdict is Verdict.PASS, told(outcome)
    parity = check_named(outcome, "parity").counts
    assert (parity["sourceRecords"], parity["targetRecords"], parity["duplicated"]) == (800, 800, 0)
    assert check_named(outcome, "topics-divided").verdict is Verdict.PASS


def test_a_stopped_source_connector_is_named_with_its_lag_and_no_other(divided: Deployed) -> None:
    with divided.edited("shop-source-views", {"state": "stopped"}, {"state": "running"}):
        source, target = (divided.endpoints.regions[alias] for alias in ("useast", "uswest"))
        make_example_traffic(source, 100, 1, TRAFFIC)
        carts = sum(end_offsets(source, ["carts"]).values())
        wait_for("carts to arrive", lambda: expect_records(target, "useast.carts", carts), ARRIVAL_SECONDS)
        # Nothing of the stopped connector can arrive, however long the job waits.
        outcome = divided.validate("shop", catch_up_seconds=1)
    assert outcome.verdict is Verdict.FAIL
    assert check_named(outcome, "parity").counts["lagging"] == 100, told(outcome)
    behind = [
        finding.message for check in outcome.checks for finding in check.findings if finding.code == "part-behind"
    ]
    assert len(behind) == 1, told(outcome)
    assert "shop-source-views" in behind[0]
