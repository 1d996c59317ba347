"""What the source connectors of a flow copy to remote topics besides records, for the validation job."""

from collections.abc import Mapping

from components.contract.parameters import TopicSyncParameters
from components.flows.resolved import ResolvedFlow
from components.flows.sources import each_source
from components.properties.definitions import Owner, definitions
from components.render.config_layers import values
from components.render.connector_config import changeable_layers
from components.topology.clusters import PropertyValue

_ENABLED = "sync.topic.configs.enabled"
_EXCLUDE = "config.properties.exclude"
_FILTER = "config.property.filter.class"
_DEFAULTS_FROM = "use.defaults.from"


def topic_sync(flow: ResolvedFlow) -> TopicSyncParameters:
    """What all source connectors of the flow copy.

    Configuration is not judged if the user's own filter class decides it, or if the source's defaults are copied.
    """
    known = {name: each.default or "" for name, each in definitions(flow.expanded.kafka, Owner.SOURCE).items()}
    found = [
        _excluded({**known, **values(changeable_layers(flow.expanded, "source", part))})
        for part, _ in each_source(flow.settings)
    ]
    every = [each for each in found if each is not None]
    excluded = None if len(every) < len(found) else tuple(dict.fromkeys(name for each in every for name in each))
    return TopicSyncParameters(configs_exclude=excluded, acls=flow.settings.sync_topic_acls)


def _excluded(config: Mapping[str, PropertyValue]) -> tuple[str, ...] | None:
    """The properties that a connector leaves out; None if it copies no configuration, or if that is not known."""
    copies = str(config[_ENABLED]).lower() == "true"
    plain = str(config[_FILTER]).endswith(".DefaultConfigPropertyFilter")
    if not copies or not plain or config[_DEFAULTS_FROM] != "target":
        return None
    return tuple(each.strip() for each in str(config[_EXCLUDE]).split(",") if each.strip())
