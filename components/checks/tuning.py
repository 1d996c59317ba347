"""What a flow's clients can carry against what is declared, and settings of its producer that lose order.

A partition is one stream: each fetch waits for the one before it, and so do batches beyond those in flight. So it
carries at most what is under way at once, divided by the time that it is under way.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.expansion import NamedFlow
from components.kafka_version import kafka_version
from components.model import Preset, Topology
from components.problems import Problem, Severity
from components.properties.clients import DATA_PRODUCER, SOURCE_CONSUMER, Client
from components.resolved import strimzi
from components.specs.connector_layers import changeable_layers
from components.specs.effective import ClientSetting, client_settings, flow_clients, with_defaults
from components.specs.layers import LayerName, layer, merged

_IN_FLIGHT = "max.in.flight.requests.per.connection"
#: Source: ProducerConfig, for idempotent producers.
_MOST_IN_FLIGHT = 5


@dataclass(frozen=True)
class _Limit:
    """Bytes of a partition that are under way at most, because of `name`; `times` of it are under way at once."""

    name: str
    value: int
    times: int = 1

    @property
    def under_way(self) -> int:
        return self.value * self.times


@dataclass(frozen=True)
class _Way:
    """One of the two ways of a record: its client, how long it takes, and what the topology calls that."""

    verb: str
    prefix: str
    milliseconds: int
    why: str


def check_tuning(topology: Topology, named: NamedFlow) -> Iterator[Problem]:
    """Ceilings and order of each source connector of a flow."""
    version = kafka_version(named.flow.connect, strimzi(topology.strimzi))
    for part in list(named.flow.connectors.sources) or [""]:
        producer = next(each for each in flow_clients(named.flow, "source") if each.name == DATA_PRODUCER.name)
        consumes = _settings(named, part, SOURCE_CONSUMER, version)
        produces = _settings(named, part, producer, version)
        yield from _check_ceilings(named, part, consumes, produces)
        yield from _check_order(named, part, produces)


def _settings(named: NamedFlow, part: str, client: Client, version: str) -> Mapping[str, ClientSetting]:
    connector = merged(changeable_layers(named, "source", part))
    worker = merged([layer(LayerName.WORKER, named.flow.connect.config, named.where("connect.config"))])
    return with_defaults(client, client_settings(client, connector, worker, version), version)


def _check_ceilings(
    named: NamedFlow, part: str, consumes: Mapping[str, ClientSetting], produces: Mapping[str, ClientSetting]
) -> Iterator[Problem]:
    tuning = named.flow.tuning
    if tuning.round_trip_milliseconds is None or tuning.bytes_per_second_per_partition is None:
        return
    fetching = _Way(
        "fetches",
        "source.consumer.",
        tuning.round_trip_milliseconds,
        "A fetch is asked for once the last one is used up",
    )
    producing = _Way(
        "produces",
        "producer.override.",
        tuning.acknowledge_milliseconds or tuning.round_trip_milliseconds,
        "A batch waits until one of those in flight is acknowledged",
    )
    fetch_limits = _limits(consumes, "max.partition.fetch.bytes", "fetch.max.bytes", "receive.buffer.bytes")
    in_flight = _number(produces, _IN_FLIGHT) or 1
    produce_limits = [
        *(_Limit("batch.size", each.value, in_flight) for each in _limits(produces, "batch.size")),
        *_limits(produces, "buffer.memory", "send.buffer.bytes"),
    ]
    where = named.where("tuning")
    if words := _ceiling(named, part, fetching, fetch_limits):
        yield Problem(where, "fetch-ceiling", *words, severity=Severity.WARNING)
    if words := _ceiling(named, part, producing, produce_limits):
        yield Problem(where, "produce-ceiling", *words, severity=Severity.WARNING)


def _limits(settings: Mapping[str, ClientSetting], *names: str) -> list[_Limit]:
    """Limits of these properties; a buffer of -1 is the operating system's, which grows as it needs."""
    numbers = {name: _number(settings, name) for name in names}
    return [_Limit(name, number) for name, number in numbers.items() if number is not None and number > 0]


def _ceiling(named: NamedFlow, part: str, way: _Way, limits: list[_Limit]) -> tuple[str, str, str] | None:
    """What, why and remedy of a ceiling below the declared rate; None if it is not below."""
    declared = named.flow.tuning.bytes_per_second_per_partition or 0
    needed = math.ceil(declared * way.milliseconds / 1000)
    short = [limit for limit in limits if limit.under_way < needed]
    if not short:
        return None
    tightest = min(short, key=lambda limit: limit.under_way)
    shown = f"`{tightest.name}` of {tightest.value:,} bytes"
    shown += f" and {tightest.times} of them in flight" if tightest.name == "batch.size" else ""
    return (
        f"{_connector(part)} {way.verb} at most {tightest.under_way * 1000 // way.milliseconds:,} bytes a second of a "
        f"partition, and {declared:,} are declared",
        f"{way.why}, and {shown} in {way.milliseconds} ms are no more; {needed:,} bytes must be under way.",
        _remedy(named, way, short, needed),
    )


def _remedy(named: NamedFlow, way: _Way, short: list[_Limit], needed: int) -> str:
    each = " and ".join(_raise(way, limit, needed) for limit in short)
    if named.flow.tuning.preset is Preset.THROUGHPUT:
        return f"{each}."
    return f"{each}; `tuning.preset: throughput` raises all of them, see `replicate explain`."


def _raise(way: _Way, limit: _Limit, needed: int) -> str:
    if limit.name in {"receive.buffer.bytes", "send.buffer.bytes"}:
        return f"set `{way.prefix}{limit.name}` to -1, the operating system's own"
    if limit.name != "batch.size" or limit.times >= _MOST_IN_FLIGHT:
        return f"set `{way.prefix}{limit.name}` to at least {math.ceil(needed / limit.times)}"
    return (
        f"set `{way.prefix}batch.size` to at least {math.ceil(needed / _MOST_IN_FLIGHT)}, "
        f"`{way.prefix}{_IN_FLIGHT}` to {_MOST_IN_FLIGHT} and `{way.prefix}enable.idempotence` to true"
    )


def _check_order(named: NamedFlow, part: str, produces: Mapping[str, ClientSetting]) -> Iterator[Problem]:
    in_flight = _number(produces, _IN_FLIGHT) or 1
    where = named.where(f"connectors.sources.{part}.config" if part else "connectors.source.config")
    idempotent = str(produces["enable.idempotence"].value).lower() == "true"
    acks = str(produces["acks"].value).lower()
    if idempotent and (in_flight > _MOST_IN_FLIGHT or acks not in {"all", "-1"}):
        yield Problem(
            where,
            "idempotence-refused",
            f"the producer of records is idempotent with {in_flight} requests in flight and `acks` {acks}",
            f"Kafka's producer does not start then: it needs `acks` all and at most {_MOST_IN_FLIGHT} in flight.",
            f"set `producer.override.{_IN_FLIGHT}` to at most {_MOST_IN_FLIGHT} and `producer.override.acks` to all.",
        )
    if not idempotent and in_flight > 1:
        yield Problem(
            where,
            "records-may-reorder",
            f"the producer of records has {in_flight} requests in flight and is not idempotent",
            "A batch that is sent again then lands behind later ones of its partition; Connect turns idempotence off "
            "unless it is asked for.",
            "set `producer.override.enable.idempotence` to true.",
            Severity.WARNING,
        )


def _connector(part: str) -> str:
    return f"the source connector `{part}`" if part else "the source connector"


def _number(settings: Mapping[str, ClientSetting], name: str) -> int | None:
    """A property's whole number; None for a placeholder, whose value nobody can see here."""
    try:
        return int(str(settings[name].value))
    except ValueError:
        return None
