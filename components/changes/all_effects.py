"""All effects of a change, from every theme, most severe first."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from kafka_replication.components.changes.continued_topics import remote_name_effects, source_offset_effects
from kafka_replication.components.changes.deployment_state import DeploymentState
from kafka_replication.components.changes.effect import Effect
from kafka_replication.components.changes.kubernetes_objects import (
    monitoring_effects,
    namespace_and_user_effects,
    validation_effects,
)
from kafka_replication.components.changes.offset_translation import translation_effects
from kafka_replication.components.changes.records import record_effects
from kafka_replication.components.changes.restarts import connector_effects, worker_effects
from kafka_replication.components.changes.stack_change import StackChange
from kafka_replication.components.changes.topics import topic_effects

_THEMES = (
    topic_effects,
    source_offset_effects,
    remote_name_effects,
    translation_effects,
    record_effects,
    connector_effects,
    worker_effects,
    namespace_and_user_effects,
    monitoring_effects,
    validation_effects,
)

#: Takes a flow's name and one of its keys, and returns the key's path in the topology file.
TopologyPath = Callable[[str, str], str]


def all_effects(
    before: Iterable[DeploymentState], after: Iterable[DeploymentState], topology_path: TopologyPath
) -> tuple[Effect, ...]:
    """Return the effects of a change, gravest first. Unchanged deployments may be left out: their topics continue."""
    change = StackChange(tuple(before), tuple(after))
    effects = [
        replace(effect, where=topology_path(effect.flow, effect.where)) for theme in _THEMES for effect in theme(change)
    ]
    return tuple(sorted(effects, key=lambda effect: (-effect.severity.rank, effect.flow, effect.code, effect.what)))
