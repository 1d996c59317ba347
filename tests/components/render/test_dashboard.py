"""The dashboard of a stack asks only for metrics that the contract test proves to be there."""

import json
import re
from typing import Any

from components.render.dashboard import dashboard
from components.render.metrics import READ

FLOWS = ("ledger-to-uswest", "orders")
#: Prometheus' own series of the alerts that fire.
ALERTS = "ALERTS"
_METRIC = re.compile(r"\b([A-Za-z_]\w+)\{")


def document() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(dashboard("prod-us-west-2", FLOWS))
    return parsed


def queries() -> list[str]:
    return [target["expr"] for panel in document()["panels"] for target in panel.get("targets", ())]


def test_queries_read_every_metric_that_is_proven_and_no_other() -> None:
    read = {name for query in queries() for name in _METRIC.findall(query)}
    assert read == {*READ, ALERTS}


def test_every_query_is_about_the_chosen_flows_alone() -> None:
    for query in queries():
        assert query.count("{") == query.count('flow=~"$flow"'), query


def test_latencies_and_ages_are_maximums_over_partitions() -> None:
    for query in queries():
        if "latency" in query:
            assert not re.search(r"\b(sum|avg)\b", query), query


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in document()["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_a_flow_that_reports_nothing_can_be_chosen() -> None:
    _, flow = document()["templating"]["list"]
    assert [option["value"] for option in flow["options"]] == ["$__all", *FLOWS]


def test_two_stacks_have_two_dashboards() -> None:
    assert json.loads(dashboard("one", FLOWS))["uid"] != json.loads(dashboard("two", FLOWS))["uid"]
