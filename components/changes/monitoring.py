"""What a change does to the monitoring objects; this never affects workers."""

from collections.abc import Iterator

from components.changes.effect import Effect, Severity, listed
from components.changes.stack_change import StackChange

#: Kind of an object -> what readers call it.
_KINDS = {"PodMonitor": "scraping", "PrometheusRule": "alerts", "ConfigMap": "dashboard"}


def monitoring_effects(change: StackChange) -> Iterator[Effect]:
    """Yield what happens to scraping, alerts and the dashboard."""
    before, after = (
        {key: body for each in side for key, body in each.monitoring.items()} for side in (change.before, change.after)
    )
    for kind, word in _KINDS.items():
        old, new = ({name: body for (of, name), body in side.items() if of == kind} for side in (before, after))
        for verb, names in (
            ("added", sorted(new.keys() - old.keys())),
            ("removed", sorted(old.keys() - new.keys())),
            ("changed", sorted(name for name in old.keys() & new.keys() if old[name] != new[name])),
        ):
            if names:
                what = f"{word} {verb} in {kind} {listed(names)}; this restarts nothing"
                yield Effect(Severity.NONE, f"monitoring-{verb}", "", "monitoring", what)
