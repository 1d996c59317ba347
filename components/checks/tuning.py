"""Throughput and order: whether a flow's clients can carry the declared rate, and whether its producer keeps order.

A partition is one stream. Each fetch waits for the one before it, and so does each batch beyond those in flight. So the
highest rate of a partition is what is in flight at once, divided by the time that it is in flight.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.selections import source_parts
from kafka_replication.components.kafka.throughput import (
    IN_FLIGHT,
    LARGE_WINDOW,
    Limit,
    Numbers,
    carried_alone,
    fetch_limits,
    produce_limits,
)
from kafka_replication.components.properties.clients import DATA_PRODUCER, SOURCE_CONSUMER
from kafka_replication.components.render.client_settings import client_settings, flow_clients, with_defaults
from kafka_replication.components.render.config_layers import LayerName, Settings, layer, merged
from kafka_replication.components.render.connector_config import changeable_layers
from kafka_replication.components.topology.model import Preset

_DELIVERY = "delivery.timeout.ms"
#: Limit for idempotent producers. Source: ProducerConfig.
_MOST_IN_FLIGHT = 5


@dataclass(frozen=True)
class _Way:
    """Fetching or producing: the client's prefix, how long one request takes, and why a request has to wait."""

    verb: str
    prefix: str
    milliseconds: int
    why: str


def check_tuning(flow: ExpandedFlow) -> Iterator[Problem]:
    """The clients of each source connector carry the declared rate, and its producer keeps records and their order."""
    for part in source_parts(flow.settings):
        consumes, produces = _client_settings(flow, part)
        yield from _check_ceilings(flow, part, consumes, produces)
        yield from _check_order(flow, part, produces)
        yield from _check_delivery(flow, part, produces)


def client_numbers(flow: ExpandedFlow) -> tuple[Numbers, Numbers]:
    """Return the properties of the consumer and the producer of the source connector that are whole numbers."""
    consumes, produces = _client_settings(flow, "")
    return _numbers(consumes), _numbers(produces)


def _client_settings(flow: ExpandedFlow, part: str) -> tuple[Settings, Settings]:
    connector = merged(changeable_layers(flow, "source", part))
    worker = merged([layer(LayerName.WORKER, flow.settings.connect.config, flow.where("connect.config"))])
    producer = next(client for client in flow_clients(flow.settings, "source") if client.name == DATA_PRODUCER.name)
    consumes, produces = (
        with_defaults(client, client_settings(client, connector, worker, flow.kafka), flow.kafka)
        for client in (SOURCE_CONSUMER, producer)
    )
    return consumes, produces


def _numbers(settings: Settings) -> Numbers:
    return {name: _number(settings, name) for name in settings}


def _check_ceilings(flow: ExpandedFlow, part: str, consumes: Settings, produces: Settings) -> Iterator[Problem]:
    tuning = flow.settings.tuning
    if tuning.round_trip_milliseconds is None or tuning.bytes_per_second_per_partition is None:
        return
    fetching = _Way(
        "fetches",
        "source.consumer.",
        tuning.round_trip_milliseconds,
        "The next fetch is sent when the last one has been processed",
    )
    producing = _Way(
        "produces",
        "producer.override.",
        tuning.acknowledge_milliseconds or tuning.round_trip_milliseconds,
        "A batch waits until one of the batches in flight is acknowledged",
    )
    where, lag_seconds = flow.where("tuning"), flow.settings.objectives.lag_seconds
    consumer, producer, declared = _numbers(consumes), _numbers(produces), tuning.bytes_per_second_per_partition
    fetch_words = _ceiling(flow, part, fetching, fetch_limits(consumer))
    if fetch_words:
        yield warning(where, "fetch-ceiling", *fetch_words)
    produce_words = _ceiling(flow, part, producing, produce_limits(producer))
    if produce_words:
        yield warning(where, "produce-ceiling", *produce_words)
    if lag_seconds is None or fetch_words or produce_words:
        return
    carried = carried_alone(consumer, producer, fetching.milliseconds, producing.milliseconds)
    if carried is not None and carried < declared:
        yield warning(
            flow.where("objectives.lagSeconds"),
            "objective-unreachable",
            f"the objective of {lag_seconds} s cannot be met while a partition receives {declared:,} bytes a second, "
            "which `tuning` declares",
            f"One task copies a partition. By what was measured of MirrorMaker, {_connector(part)} carries less over "
            f"{fetching.milliseconds} ms, even of large records, so the lag grows as long as the rate lasts.",
            "spread the records over more partitions and lower `tuning.bytesPerSecondPerPartition`; `replicate size` "
            "says how many carry a rate.",
        )


def _ceiling(flow: ExpandedFlow, part: str, way: _Way, limits: list[Limit]) -> tuple[str, str, str] | None:
    """What, why and remedy if a limit keeps the rate below the declared one; None if it does not."""
    declared = flow.settings.tuning.bytes_per_second_per_partition or 0
    needed = math.ceil(declared * way.milliseconds / 1000)
    short = [limit for limit in limits if limit.under_way < needed]
    if not short:
        return None
    tightest = min(short, key=lambda limit: limit.under_way)
    shown = f"`{tightest.name}` of {tightest.value:,} bytes"
    shown += f", {tightest.times} in flight," if tightest.name == "batch.size" else ""
    shown += ", which all partitions of a connection share," if tightest.is_window else ""
    if tightest.round_trips > 1:
        shown += f", which take {tightest.round_trips} round trips of the operating system's window of 4 MiB,"
    return (
        f"{_connector(part)} {way.verb} at most {tightest.under_way * 1000 // way.milliseconds:,} bytes a second of a "
        f"partition, but the declared rate is {declared:,}",
        f"{way.why}, which takes {way.milliseconds} ms. {needed:,} bytes must be in flight at once, but {shown} "
        "allows fewer.",
        _remedy(flow, way, short, needed),
    )


def _remedy(flow: ExpandedFlow, way: _Way, short: list[Limit], needed: int) -> str:
    remedies = " and ".join(dict.fromkeys(_raise(way, limit, needed) for limit in short))
    if flow.settings.tuning.preset is Preset.THROUGHPUT:
        return f"{remedies}."
    return f"{remedies}; `tuning.preset: throughput` raises all such limits (see `replicate explain`)."


def _raise(way: _Way, limit: Limit, needed: int) -> str:
    if limit.is_window:
        return f"set `{way.prefix}{limit.name}` to -1 (the operating system's default)"
    if limit.round_trips > 1 and needed >= LARGE_WINDOW:
        return "spread the records over more partitions and lower `tuning.bytesPerSecondPerPartition`"
    if limit.round_trips > 1:
        return f"set `{way.prefix}{limit.name}` to at least {needed} and less than {LARGE_WINDOW}"
    if limit.name != "batch.size" or limit.times >= _MOST_IN_FLIGHT:
        return f"set `{way.prefix}{limit.name}` to at least {math.ceil(needed / limit.times)}"
    return (
        f"set `{way.prefix}batch.size` to at least {math.ceil(needed / _MOST_IN_FLIGHT)}, "
        f"`{way.prefix}{IN_FLIGHT}` to {_MOST_IN_FLIGHT} and `{way.prefix}enable.idempotence` to true"
    )


def _check_order(flow: ExpandedFlow, part: str, produces: Settings) -> Iterator[Problem]:
    in_flight = _number(produces, IN_FLIGHT) or 1
    where = flow.where(f"connectors.sources.{part}.config" if part else "connectors.source.config")
    idempotent = str(produces["enable.idempotence"].value).lower() == "true"
    acks = str(produces["acks"].value).lower()
    if idempotent and (in_flight > _MOST_IN_FLIGHT or acks not in {"all", "-1"}):
        yield Problem(
            where,
            "idempotence-refused",
            f"the producer of records is idempotent, but has {in_flight} requests in flight and `acks` {acks}",
            f"An idempotent producer starts only with `acks` all and at most {_MOST_IN_FLIGHT} requests in flight.",
            f"set `producer.override.{IN_FLIGHT}` to at most {_MOST_IN_FLIGHT} and `producer.override.acks` to all.",
        )
    if not idempotent and acks in {"0", "1"}:
        yield warning(
            where,
            "records-may-be-lost",
            f"the producer of records has `acks` {acks}",
            "The target then confirms a record before other brokers have it. If its broker fails, the record is lost, "
            "and the connector does not send it again.",
            "set `producer.override.acks` to all, or remove it.",
        )
    if not idempotent and in_flight > 1:
        yield warning(
            where,
            "records-may-reorder",
            f"the producer of records has {in_flight} requests in flight and is not idempotent",
            "A batch that is sent again can end up after later batches of its partition. Connect disables "
            "idempotence unless it is enabled explicitly.",
            "set `producer.override.enable.idempotence` to true.",
        )


def _check_delivery(flow: ExpandedFlow, part: str, produces: Settings) -> Iterator[Problem]:
    """Source: KafkaProducer.configureDeliveryTimeout; Connect always sets the timeout."""
    delivery, linger, request = (_number(produces, name) for name in (_DELIVERY, "linger.ms", "request.timeout.ms"))
    if delivery is None or linger is None or request is None or delivery >= linger + request:
        return
    yield Problem(
        flow.where(f"connectors.sources.{part}.config" if part else "connectors.source.config"),
        "delivery-timeout-too-short",
        f"the producer of records has `{_DELIVERY}` {delivery}, but `linger.ms` {linger} and `request.timeout.ms` "
        f"{request}",
        "A producer starts only if the first is at least the sum of the other two, so every task would fail.",
        f"set `producer.override.{_DELIVERY}` to at least {linger + request}, or remove it.",
    )


def _connector(part: str) -> str:
    return f"the source connector `{part}`" if part else "the source connector"


def _number(settings: Settings, name: str) -> int | None:
    """Return a property as a whole number; None for a placeholder, whose value is not known here."""
    try:
        return int(str(settings[name].value))
    except ValueError:
        return None
