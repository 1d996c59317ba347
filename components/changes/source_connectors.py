"""Effects on a flow's source connectors: reported once if all have them, and by connector if only some do."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from components.changes.deployment_state import DeployedConnector
from components.changes.effect import Effect
from components.changes.stack_change import StackChange


def effects_on_sources(
    change: StackChange, effects: Callable[[DeployedConnector, DeployedConnector], Iterable[Effect]]
) -> Iterator[Effect]:
    """Yield what `effects` finds for the source connectors that exist before and after."""
    pairs = [(before, after) for before, after in change.connector_pairs_of("source") if before and after]
    parts: dict[Effect, list[str]] = {}
    for before, after in pairs:
        for effect in effects(before, after):
            parts.setdefault(effect, []).append(after.part)
    connectors = Counter(after.flow for _, after in pairs)
    for effect, having in parts.items():
        if len(having) == connectors[effect.flow]:
            yield effect
        else:
            yield from (replace(effect, where=f"connectors.sources.{part}.{effect.where}") for part in having)
