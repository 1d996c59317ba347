"""The dashboard of a stack reads only metrics that the contract test proves to exist."""

import json
import re
from typing import Any

from kafka_replication.components.contract.exported_series import ABOUT_FLOWS
from kafka_replication.components.render.dashboard import dashboard
from kafka_replication.components.render.metrics import READ

FLOWS = ("ledger-to-uswest", "orders")
#: Prometheus' own series of the alerts that fire.
ALERTS = "ALERTS"
_METRIC = re.compile(r"\b([A-Za-z_]\w+)\{")


def document(*, exporter: bool = False) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(dashboard("prod-us-west-2", FLOWS, exporter=exporter))
    return parsed


def queries(*, exporter: bool = False) -> list[str]:
    panels = document(exporter=exporter)["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def test_queries_read_exactly_the_metrics_that_the_contract_test_proves() -> None:
    read = {name for query in queries() for name in _METRIC.findall(query)}
    assert read == {*READ, ALERTS}


def test_exporter_panels_are_added_on_request_and_read_only_the_exporters_series() -> None:
    added = set(queries(exporter=True)) - set(queries())
    read = {name for query in added for name in _METRIC.findall(query)}
    assert read
    assert read <= {exported.name for exported in ABOUT_FLOWS}
    assert set(queries()) <= set(queries(exporter=True))


def test_every_query_selects_only_the_chosen_flows_of_the_stack() -> None:
    for query in queries(exporter=True):
        assert query.count("{") == query.count('stack="$stack",flow=~"$flow"'), query
    (stack,) = (variable for variable in document()["templating"]["list"] if variable["name"] == "stack")
    assert (stack["query"], stack["type"]) == ("prod-us-west-2", "constant")


def test_latencies_and_ages_are_maximums_over_partitions() -> None:
    for query in queries(exporter=True):
        if "latency" in query or "seconds" in query:
            assert not re.search(r"\b(sum|avg)\b", query), query


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in document(exporter=True)["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_a_flow_that_reports_nothing_can_be_chosen() -> None:
    *_, flow = document()["templating"]["list"]
    assert [option["value"] for option in flow["options"]] == ["$__all", *FLOWS]


def test_lag_queries_leave_out_consumers_of_the_workers_own_topics() -> None:
    lags = [query for query in queries() if "records_lag" in query]
    assert lags
    assert all('client_id=~".*replication-consumer.*"' in query for query in lags)


def test_two_stacks_have_two_dashboards() -> None:
    assert json.loads(dashboard("one", FLOWS))["uid"] != json.loads(dashboard("two", FLOWS))["uid"]


def test_a_partition_without_records_is_left_out_instead_of_being_drawn_as_nan() -> None:
    latencies = [query for query in queries() if "replication_latency" in query]
    assert latencies
    assert all("} >= 0" in query for query in latencies)
