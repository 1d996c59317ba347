"""Names that Kubernetes and Kafka accept: checked, never cut."""

import re
from collections.abc import Iterator

from components.expansion import NamedFlow, Shape, all_topics
from components.naming import (
    connect_name,
    group_id,
    heartbeat_workers_name,
    namespace_name,
    remote_topic_name,
)
from components.problems import Problem

#: RFC 1123 label.
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_LENGTH = 63
#: Longest name that the operator derives and that must be a label, the Service of the REST API; the heartbeats of a
#: KafkaMirrorMaker2 may have a KafkaConnect of their own.
_LONGEST_SUFFIX = "-connect-api"
_LONGEST_MIRROR_SUFFIX = "-mirrormaker2-api"
#: Source: org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH.
_TOPIC_LENGTH = 249
_LITERAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")


def check_names(named: NamedFlow) -> Iterator[Problem]:
    name, flow, where = named.workers, named.flow, named.where()
    namespace = namespace_name(name, flow)
    if not _LABEL.fullmatch(name):
        yield _not_a_label(where, "replication", name)
    elif flow.namespace.name is not None and not _LABEL.fullmatch(namespace):
        yield _not_a_label(named.where("namespace.name"), "namespace", namespace)
    yield from _check_lengths(named, namespace)
    for topic in all_topics(flow):
        remote = remote_topic_name(flow, topic)
        if _LITERAL_TOPIC.fullmatch(topic) and len(remote) > _TOPIC_LENGTH:
            yield Problem(
                named.where("topics"),
                "topic-name-too-long",
                f"the remote topic `{remote}` has {len(remote)} characters",
                f"Kafka takes at most {_TOPIC_LENGTH}; the topic could not be created on the target.",
                "shorten the source's alias or use `policy: identity`.",
            )


def _check_lengths(named: NamedFlow, namespace: str) -> Iterator[Problem]:
    name = named.workers
    derived = [f"{connect_name(name)}{_LONGEST_SUFFIX}"]
    if named.shape is Shape.MIRROR_MAKER2:
        derived = [f"{name}{_LONGEST_MIRROR_SUFFIX}"]
        if named.flow.connectors.heartbeat.enabled:
            derived.append(f"{connect_name(heartbeat_workers_name(name))}{_LONGEST_SUFFIX}")
    given = named.flow.namespace.name is not None
    own = [text for text in (*derived, group_id(name), *(() if given else (namespace,))) if len(text) > _LABEL_LENGTH]
    if own:
        yield _too_long(named.where(), max(own, key=len), "shorten the replication's name")
    if given and len(namespace) > _LABEL_LENGTH:
        yield _too_long(named.where("namespace.name"), namespace, "shorten it")


def _too_long(where: str, text: str, remedy: str) -> Problem:
    return Problem(
        where,
        "name-too-long",
        f"`{text}` has {len(text)} characters",
        f"It becomes a Kubernetes name or label, which takes at most {_LABEL_LENGTH}.",
        f"{remedy}; {len(text) - _LABEL_LENGTH} too many.",
    )


def _not_a_label(where: str, what: str, text: str) -> Problem:
    return Problem(
        where,
        "name-not-kubernetes",
        f"the {what}'s name is `{text}`",
        "Kubernetes names are lower-case letters, digits and `-`, with a letter or digit at both ends (RFC 1123).",
        f"rename it, for example to `{re.sub('[^a-z0-9-]+', '-', text.lower()).strip('-') or 'orders'}`.",
    )
