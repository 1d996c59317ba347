"""Turns what Connect's REST API reports about connectors into the objects that would create them."""

from collections.abc import Iterable, Iterator

from kafka_replication.components.flows.naming import MIRRORED
from kafka_replication.components.properties.definitions import Owner, definitions, nearest, supported_versions
from kafka_replication.components.render.kafka_connect import BYTE_CONVERTERS
from kafka_replication.components.topology.clusters import is_label, is_subdomain
from kafka_replication.infra.onboard.importing.documents import COMPLETE, PropertiesFile, RestConnector
from kafka_replication.infra.onboard.importing.flows import role_of
from kafka_replication.infra.onboard.importing.left_out import LeftOut
from kafka_replication.infra.onboard.importing.reading import (
    GROUP,
    ReadInput,
    ReadObject,
    ReadProperties,
    read_connector,
    read_workers,
)

#: Prefixes of worker properties that KafkaConnects take in their `config`.
_PASSED = (
    *("producer.", "consumer.", "admin.", "config.providers"),
    *("key.converter", "value.converter", "header.converter"),
)
_OF_THE_PROCESS = ("rest.", "listeners", "plugin.", "access.control.", "admin.listeners", "response.http.")
_NOT_READ = "Connect's workers do not read it."
_UNKNOWN = "(unknown)"
#: Placeholder for workers of which nothing was read.
_NAMELESS = dict.fromkeys(GROUP, _UNKNOWN) | {key: str(value) for key, value in BYTE_CONVERTERS.items()}

_NO_STATE = (
    "The input does not say whether it runs, is paused or is stopped. So the topology does not either, and "
    "deploying it would resume a connector that somebody paused or stopped."
)


def attach_connectors(found: ReadInput) -> Iterator[LeftOut]:
    """Add the connectors that Connect reported to the only workers that were read, and note what is not taken over."""
    for worker in found.workers if not found.rest or len(found.workers) > 1 else ():
        why = "No connector that runs on these workers was read, or another file also has workers."
        yield LeftOut(worker.file, "", "", "no-mirror-connectors", why, "import one Connect cluster at a time.")
    if not found.rest:
        return
    connects = found.of("KafkaConnect")
    if len(connects) == 1:
        yield from _add(found, connects[0], named=True)
        return
    if len(found.workers) == 1:
        yield from _file_of_workers(found.workers[0])
        yield from _other_connection(found.workers[0], found.rest)
        given = found.workers[0]
        group, address = given.properties["group.id"], given.properties.get("bootstrap.servers", "")
        passed = {key: value for key, value in given.properties.items() if _is_passed(key)}
        name = group if is_label(group) else "connect"
        connect = read_workers(given.file, given.namespace, name, address, passed, keeps_group=True)
    else:
        file = found.rest[0][0]
        why = (
            "Connect's REST API does not report the worker group, its topics and its converters, so the project uses "
            "a new group, which has no offsets: the connectors would copy every record again."
        )
        remedy = "also import the workers' `connect-distributed.properties`, or their KafkaConnect."
        yield LeftOut(file, "", "", "workers-not-said", why, remedy)
        addresses = (connector.config.get("target.cluster.bootstrap.servers") for _, connector in found.rest)
        address = next(filter(None, addresses), "")
        connect = read_workers(file, found.namespace, "connect", address, _NAMELESS)
    found.objects.append(connect)
    yield from _add(found, connect, named=connect.keeps_group)


def _add(found: ReadInput, workers: ReadObject, *, named: bool) -> Iterator[LeftOut]:
    """Add the connectors to the workers. `named`: whether these workers have the group that runs them now."""
    own = (workers.namespace, workers.name)
    managed = {read.name for read in found.of("KafkaConnector") if (read.namespace, read.workers) == own}
    mirrors = bool(found.of("KafkaMirrorMaker2"))
    for file, reported in found.rest:
        config = {key: value for key, value in reported.config.items() if key not in ("name", "connector.class")}
        spec = {"class": reported.config.get("connector.class", ""), "config": config}
        spec |= {"state": reported.state} if reported.state in ("paused", "stopped") else {}
        connector = read_connector(file, *own, reported.name, spec, part=f"connector {reported.name}")
        if reported.name in managed or (mirrors and MIRRORED.fullmatch(reported.name)):
            why = "The object from which the operator creates this connector was also read."
            yield connector.left_out("", "stays-as-it-is", why, "none is needed.")
        elif role_of(connector) is None and named:
            why = (
                f"Its class is `{connector.spec['class']}`, which is not one of MirrorMaker's. Once the operator "
                "manages these workers' connectors, it deletes those without a KafkaConnector."
            )
            remedy = "write a KafkaConnector for it before you deploy."
            yield connector.left_out("", "connector-without-object", why, remedy)
        elif role_of(connector) is None:
            why = f"Its class is `{connector.spec['class']}`, which is not one of MirrorMaker's."
            remedy = "leave it as it is; it keeps running on its workers."
            yield connector.left_out("", "other-connector", why, remedy)
        else:
            found.objects.append(connector)
            if reported.state is None:
                yield connector.left_out("", "state-not-said", _NO_STATE, COMPLETE)
            if named and role_of(connector) == "source" and not is_subdomain(reported.name):
                yield _lost_offsets(connector, reported.name)


def _lost_offsets(connector: ReadProperties, name: str) -> LeftOut:
    why = (
        f"Connect keeps the offsets under the name `{name}`, which no KafkaConnector can have. The connector of the "
        "project would copy every record again."
    )
    remedy = (
        f"set `connectors.source.state: stopped` before you deploy it, stop `{name}`, and give its offsets "
        "(`GET /connectors/NAME/offsets`) to `replicate offsets STACK FLOW set FILE`; then start the connector."
    )
    if MIRRORED.fullmatch(name):
        remedy = "import the KafkaMirrorMaker2 that it belongs to, which keeps the name."
    return connector.left_out("", "offsets-not-carried", why, remedy)


def _is_passed(key: str) -> bool:
    newest = supported_versions()[-1]
    own = key in definitions(newest, Owner.WORKER) and key not in definitions(newest, Owner.CLUSTER)
    return key.startswith(_PASSED) or (own and not key.startswith(_OF_THE_PROCESS))


def _other_connection(workers: PropertiesFile, connectors: Iterable[tuple[str, RestConnector]]) -> Iterator[LeftOut]:
    """Yield a note for each property in which the workers' login to the target differs from a source connector's."""
    known = definitions(supported_versions()[-1], Owner.CLUSTER)
    own = {key: value for key, value in workers.properties.items() if key in known and key != "bootstrap.servers"}
    own = {"security.protocol": "PLAINTEXT", **own}
    used = {"sasl.": own["security.protocol"].startswith("SASL"), "ssl.": own["security.protocol"].endswith("SSL")}
    sources = [given for _, given in connectors if given.config["connector.class"].endswith("MirrorSourceConnector")]
    for key, value in own.items():
        if not all(is_used for prefix, is_used in used.items() if key.startswith(prefix)):
            why = f"With `security.protocol={own['security.protocol']}` the workers do not read it."
            yield LeftOut(workers.file, "", key, "without-effect", why, "none is needed.")
            continue
        default = "PLAINTEXT" if key == "security.protocol" else None
        for connector in sources:
            other = connector.config.get(f"target.cluster.{key}", default)
            if other == value:
                continue
            how, otherwise = "with it", "has another value or none"
            if key == "security.protocol":
                how, otherwise = f"by {value}", f"by {other}"
            why = (
                f"The workers reach the target {how}, but connector `{connector.name}` {otherwise}. A flow has one "
                "login for the target, so the workers of the project get the connector's."
            )
            remedy = "if the target needs the workers' login, set it as `authentication` and `tls` of that cluster."
            yield LeftOut(workers.file, "", key, "connection-property", why, remedy)


def _file_of_workers(given: PropertiesFile) -> Iterator[LeftOut]:
    for key in given.properties:
        if key.startswith(_OF_THE_PROCESS):
            why = "The operator sets it for its workers."
            yield LeftOut(given.file, "", key, "without-effect", why, "none is needed.")
        elif not _is_passed(key) and key not in definitions(supported_versions()[-1], Owner.CLUSTER):
            near = nearest(key, definitions(supported_versions()[-1], Owner.WORKER))
            if near is not None and key not in GROUP:
                yield LeftOut(given.file, "", key, "unknown-property", _NOT_READ, f"did you mean `{near}`?")
            else:
                yield LeftOut(given.file, "", key, "without-effect", _NOT_READ, "none is needed.")
