"""All effects of a change, from every theme, gravest first."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from components.effects.change import Change
from components.effects.connectors import connector_effects
from components.effects.effect import Effect
from components.effects.kubernetes import kubernetes_effects
from components.effects.names import name_effects
from components.effects.positions import position_effects
from components.effects.records import record_effects
from components.effects.running import Deployed
from components.effects.topics import topic_effects
from components.effects.translation import translation_effects
from components.effects.workers import worker_effects

_THEMES = (
    topic_effects,
    position_effects,
    name_effects,
    translation_effects,
    record_effects,
    connector_effects,
    worker_effects,
    kubernetes_effects,
)

#: Path in the topology file of a flow's key.
Place = Callable[[str, str], str]


def effects_between(before: Iterable[Deployed], after: Iterable[Deployed], place: Place) -> tuple[Effect, ...]:
    """Effects of a change of a stack, gravest first, then by flow; deployments that are equal may be left out.

    Leaving them out is exact: topics of an equal deployment go on in it.
    """
    change = Change(tuple(before), tuple(after))
    found = [effect for theme in _THEMES for effect in theme(change)]
    placed = [replace(effect, where=place(effect.flow, effect.where)) for effect in found]
    return tuple(sorted(placed, key=lambda effect: (-effect.severity.rank, effect.flow, effect.code, effect.what)))
