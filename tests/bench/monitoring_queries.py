"""Asks Prometheus over HTTP: every query of the dashboard and of the alerts, and which alerts fire."""

import json
import math
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.alerts import translates
from kafka_replication.components.render.dashboard import dashboard
from kafka_replication.components.render.monitoring import monitoring_objects
from kafka_replication.components.topology.model import Topology

POLL_SECONDS = 2.0
_ASK_SECONDS = 30.0
_SELECTOR = re.compile(r"[a-z_:]+\{[^}]*\}")
#: A query with one of these has a result only while something is wrong or something waits.
_FILTERS = re.compile(r"ALERTS\{|== ?\d|[><] ?\d|\babsent\(")
#: The exporter serves these only for partitions that are behind now, or for a group that would read again; those of the
#: operator are nowhere on the local stack.
_OF_SOME = ("mirror_partition_lag", "mirror_partition_position", "mirror_group_read_again_records", "strimzi_")


_OF_CHECKPOINTS = ("checkpoint_latency", "mirror_read_again", "mirror_group")
_HEARTBEATS = 'topic=~".*heartbeats"'


@dataclass(frozen=True)
class Query:
    """A query of a panel or an alert for one flow; `where` names it.

    `trouble`: it filters, so it has a result only while something is wrong or waits. `foreign`: the flow has nothing of
    that kind, such as checkpoints in a pair.
    """

    where: str
    flow: str
    text: str
    trouble: bool = False
    foreign: bool = False


@dataclass(frozen=True)
class Answer:
    """The series that a query had, and how many of them were NaN."""

    query: Query
    series: int
    nan: int

    @property
    def wrong(self) -> str:
        """Why the answer is not as expected; empty if it is."""
        if self.nan:
            return f"{self.nan} of {self.series} series are NaN"
        return "" if self.series or self.query.trouble or self.query.foreign else "no series"


def queries(topology: Topology, stack: str, flows: Sequence[ResolvedFlow]) -> Iterator[Query]:
    """Every panel's query for each flow, and the expressions of each flow's alerts with the selectors in them."""
    for panel in json.loads(dashboard(stack, [flow.name for flow in flows], exporter=True))["panels"]:
        for target in panel.get("targets", ()):
            for flow in flows:
                text = target["expr"].replace("$stack", stack).replace("$flow", flow.name)
                filters = bool(_FILTERS.search(text)) or any(each in text for each in _OF_SOME)
                yield Query(f"panel {panel['title']}", flow.name, text, filters, _is_foreign(flow, text))
    for planned in monitoring_objects(topology, stack, None):
        if planned.kind == "PrometheusRule":
            yield from _of_rules(planned.manifest)


def _is_foreign(flow: ResolvedFlow, text: str) -> bool:
    if not translates(flow.settings) and any(each in text for each in _OF_CHECKPOINTS):
        return True
    return not flow.settings.replicate_heartbeats and _HEARTBEATS in text


def _of_rules(manifest: dict[str, Any]) -> Iterator[Query]:
    for rule in manifest["spec"]["groups"][0]["rules"]:
        flow = rule["labels"]["flow"]
        yield Query(f"alert {rule['alert']}", flow, rule["expr"], trouble=True)
        for selector in dict.fromkeys(_SELECTOR.findall(rule["expr"])):
            yield Query(f"selector of {rule['alert']}", flow, selector, selector.startswith(_OF_SOME))


@dataclass(frozen=True)
class Prometheus:
    """A server at this address."""

    address: str

    def _get(self, path: str, **params: str) -> Any:
        answer = httpx.get(f"{self.address}/api/v1/{path}", params=params, timeout=_ASK_SECONDS, trust_env=False)
        document = answer.json()
        assert document["status"] == "success", document
        return document["data"]

    def ask(self, query: Query) -> Answer:
        """The answer to a query now."""
        values = [float(each["value"][1]) for each in self._get("query", query=query.text)["result"]]
        # Kafka reports the latency of a partition without records as NaN.
        ignored = query.where.startswith("selector") and "latency" in query.text
        return Answer(query, len(values), 0 if ignored else sum(map(math.isnan, values)))

    def value(self, text: str) -> float | None:
        """The only value of a query; None if it has none."""
        found = self._get("query", query=text)["result"]
        return float(found[0]["value"][1]) if found else None

    def between(self, text: str, first: float, last: float, step_seconds: float) -> Any:
        """The series of a query from one time to another, in seconds since 1970."""
        times = {"start": str(first), "end": str(last), "step": str(step_seconds)}
        return self._get("query_range", query=text, **times)["result"]

    def raised(self, *states: str) -> frozenset[tuple[str, str]]:
        """The name and the flow of each alert in one of these states, `pending` or `firing`."""
        alerts = self._get("alerts")["alerts"]
        return frozenset(
            (each["labels"]["alertname"], each["labels"].get("flow", "")) for each in alerts if each["state"] in states
        )


@dataclass(frozen=True)
class Fired:
    """An alert of a flow that started to fire at `at`, by the monotonic clock."""

    alert: str
    flow: str
    at: float


@dataclass
class Watch:
    """What has started to fire, in order, and what fires now. `blind` counts polls without an answer."""

    prometheus: Prometheus
    fired: list[Fired] = field(default_factory=list)
    now: frozenset[tuple[str, str]] = frozenset()
    blind: int = 0

    @contextmanager
    def running(self) -> Iterator["Watch"]:
        """Poll until the body ends."""
        ended = threading.Event()
        thread = threading.Thread(target=self._poll, args=(ended,))
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()

    def of(self, flow: str, since: float) -> list[Fired]:
        """What has started to fire for a flow since then."""
        return [each for each in list(self.fired) if each.flow == flow and each.at >= since]

    def _poll(self, ended: threading.Event) -> None:
        while not ended.wait(POLL_SECONDS):
            before = self.blind
            self.blind += 1
            with suppress(httpx.HTTPError):
                found = self.prometheus.raised("firing")
                self.fired += [Fired(*each, time.monotonic()) for each in sorted(found - self.now)]
                self.now, self.blind = found, before
