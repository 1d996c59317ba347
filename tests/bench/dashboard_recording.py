"""What the dashboard of a stack shows at one moment: each panel with a real Prometheus' answers to its queries."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from kafka_replication.components.render.dashboard import dashboard
from tests.bench.monitoring_queries import Prometheus

#: The longest time that the picture shows; the dashboard shows three hours.
MINUTES, STEP_SECONDS = 30, 15
_FIRING = 'count(ALERTS{alertname=~"Mirror.+",alertstate="firing"})'


@dataclass(frozen=True)
class Drawn:
    """A series: its labels, and its values by time in seconds since 1970."""

    labels: dict[str, str]
    values: list[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """A panel of the dashboard's JSON, and the answer to each of its queries."""

    document: dict[str, Any]
    answers: list[list[Drawn]] = field(default_factory=list)


@dataclass(frozen=True)
class Recording:
    """The panels in their order, as they were at `end`, in seconds since 1970."""

    title: str
    end: float
    step_seconds: float
    panels: list[Panel]

    @property
    def begin(self) -> float:
        """When the first value of a graph was recorded."""
        drawn = (each for panel in self.panels if panel.document["type"] != "table" for each in panel.answers)
        return min(
            (at for answer in drawn for each in answer for at, _ in each.values), default=self.end - 60 * MINUTES
        )


_RECORDING = TypeAdapter(Recording)


def recorded(prometheus: Prometheus, stack: str, flows: Sequence[str], since: float, now: float) -> Recording:
    """The dashboard at the moment between two times at which most alerts fired; times in seconds since 1970."""
    end = _worst(prometheus, since, now)
    document = json.loads(dashboard(stack, flows, exporter=True))
    panels = []
    for panel in document["panels"]:
        texts = [each["expr"].replace("$stack", stack) for each in panel.get("targets", ())]
        first = end if panel["type"] == "table" else end - 60 * MINUTES
        asked = [prometheus.between(each.replace("$flow", "|".join(flows)), first, end, STEP_SECONDS) for each in texts]
        answers = [[Drawn(each["metric"], _values(each["values"])) for each in answer] for answer in asked]
        panels.append(Panel(panel, answers))
    return Recording(document["title"], end, STEP_SECONDS, panels)


def _worst(prometheus: Prometheus, since: float, now: float) -> float:
    firing = prometheus.between(_FIRING, since, now, STEP_SECONDS)
    counts = [(count, at) for each in firing for at, count in _values(each["values"])]
    return max(counts, default=(0.0, now))[1]


def keep(file: Path, recording: Recording) -> None:
    file.write_bytes(_RECORDING.dump_json(recording))


def kept(file: Path) -> Recording:
    return _RECORDING.validate_json(file.read_bytes())


def _values(answered: Sequence[tuple[float, str]]) -> list[tuple[float, float]]:
    return [(float(at), float(value)) for at, value in answered]
