"""Which offsets of a mirror go to which source connector of a flow. Pure."""

from collections.abc import Collection, Mapping

from components.contract.parameters import FlowParameters
from components.kafka.positions import TopicPartition
from components.kafka.replication_policy import is_heartbeat_topic
from infra.operate.offsets.plan import Move, Stored

Mirrored = Mapping[TopicPartition, int]


def connectors_of(flow: FlowParameters, sources: Collection[str], topics: Collection[str]) -> dict[str, str]:
    """Which of a flow's source connectors replicates each topic. The first one replicates heartbeats."""
    parts = [(flow.part_selection(part), part.connector) for part in flow.parts]
    every = next(iter(sources), "")
    chosen = parts or [(flow.topic_selection, every)]
    found = {topic: name for topic in topics for selection, name in chosen if topic in selection}
    found |= {topic: every for topic in topics if is_heartbeat_topic(topic, flow.separator)}
    return {topic: name for topic, name in found.items() if name in sources}


def offset_moves(mirrored: Mirrored, connectors: Mapping[str, str], stored: Stored) -> list[Move]:
    """What Connect must still store for the connectors. `mirrored` are the offsets of the mirror, `connectors` names
    the connector of each topic, and `stored` are the offsets that Connect has. Offsets that Connect has but the mirror
    lacks are left over from an earlier connector, and are deleted.
    """
    wanted: dict[tuple[str, TopicPartition], int | None] = {
        (connectors[each.topic], each): offset for each, offset in mirrored.items() if each.topic in connectors
    }
    left = {place: None for place in stored if place[0] in {*connectors.values()} and place not in wanted}
    return [
        Move(connector, partition, _next(stored.get((connector, partition))), _next(offset), offset)
        for (connector, partition), offset in sorted({**left, **wanted}.items())
        if stored.get((connector, partition)) != offset
    ]


def _next(stored: int | None) -> int:
    return 0 if stored is None else stored + 1
