"""What a change does to the validation in the cluster; this never affects workers."""

from collections.abc import Iterator

from components.changes.effect import Effect, Severity, listed
from components.changes.stack_change import StackChange

#: Kind of an object -> kind of change -> the sentence about it.
_KINDS = {
    **{
        kind: {
            "added": f"a {kind} will validate {{flows}} after the deployment",
            "removed": f"{kind}s no longer validate {{flows}} after deployments",
            "changed": f"because the deployed objects or the validation's settings change, a new {kind} will validate "
            "{flows} after the deployment",
        }
        for kind in ("Job", "SparkApplication")
    },
    **{
        kind: {
            "added": f"a {kind} will validate {{flows}} between deployments",
            "removed": f"a {kind} no longer validates {{flows}} between deployments",
            "changed": f"the {kind} that validates {{flows}} changes",
        }
        for kind in ("CronJob", "ScheduledSparkApplication")
    },
}


def validation_effects(change: StackChange) -> Iterator[Effect]:
    """Yield what happens to the objects that validate flows in the cluster."""
    before, after = (
        {key: body for each in side for key, body in each.validation.items()} for side in (change.before, change.after)
    )
    for kind, sentences in _KINDS.items():
        old, new = ({flow: body for (of, flow), body in side.items() if of == kind} for side in (before, after))
        for verb, flows in (
            ("added", sorted(new.keys() - old.keys())),
            ("removed", sorted(old.keys() - new.keys())),
            ("changed", sorted(flow for flow in old.keys() & new.keys() if old[flow] != new[flow])),
        ):
            if flows:
                what = (
                    f"{sentences[verb].format(flows=listed(flows))}; the validation itself has no effect on replication"
                )
                yield Effect(Severity.NONE, f"{kind.lower()}-{verb}", "", "replication:validation", what)
