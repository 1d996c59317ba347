"""Names: aliases, the names that Kubernetes and Kafka accept, and namespaces that are created only once."""

import difflib
import re
from collections.abc import Iterator, Sequence

from components.checks.heartbeats import sending_workers
from components.contract.problems import Problem
from components.flows.expansion import ExpandedFlow, Shape
from components.flows.naming import connect_name, group_id, heartbeat_workers_name, namespace_name, replication_policy
from components.flows.selections import all_topics
from components.kafka.replication_policy import is_readable
from components.kafka.topic_names import LONGEST_NAME, has_topic_characters_only, is_name
from components.topology.kubernetes_names import LABEL, LABEL_LENGTH
from components.topology.model import Topology

#: The longest derived name that must be a label is that of the REST API's Service. If the heartbeats of a
#: KafkaMirrorMaker2 have their own workers, both names count.
_LONGEST_SUFFIX = "-connect-api"
_SHORTER_REMOTE_NAME = "shorten the source's alias or use `policy: identity`."
_LONGEST_MIRROR_SUFFIX = "-mirrormaker2-api"


def check_aliases(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """A flow's source and target exist, differ, and form topic names that the replication policy can read."""
    settings = flow.settings
    for key, alias in (("source", settings.source), ("target", settings.target)):
        if alias not in topology.clusters:
            yield _unknown_alias(flow.where(key), alias, sorted(topology.clusters))
    if settings.source == settings.target:
        yield Problem(
            flow.where("target"),
            "equal-aliases",
            f"source and target are both `{settings.source}`",
            "Such a flow would only copy topics within one cluster. With the identity policy, it would replicate its "
            "own records endlessly.",
            "name another cluster's alias.",
        )
    if not has_topic_characters_only(settings.separator):
        yield Problem(
            flow.where("separator"),
            "separator-breaks-topic-names",
            f"the separator is {settings.separator!r}",
            "Topic names may contain only ASCII letters, digits, `.`, `_` and `-`.",
            "set `separator: '.'`.",
        )
    for key, alias in (("source", settings.source), ("target", settings.target)):
        if alias in topology.clusters and not (
            has_topic_characters_only(alias) and is_readable(alias, settings.separator)
        ):
            yield Problem(
                flow.where(key),
                "alias-breaks-topic-names",
                f"the alias is `{alias}` and the separator is `{settings.separator}`",
                "The replication policy takes everything before the first separator of a remote topic as the source's "
                "alias, so MirrorMaker would not recognize cycles and upstream topics.",
                "use an alias of letters, digits, `-` or `_` that neither contains the separator nor ends with the "
                "beginning of it.",
            )


def _unknown_alias(where: str, alias: str, known: list[str]) -> Problem:
    plain = {each.lower(): each for each in known}
    near = [plain[each] for each in difflib.get_close_matches(alias.lower(), plain, n=1)]
    return Problem(
        where,
        "unknown-alias",
        f"no cluster has the alias `{alias}`",
        f"The topology has these clusters: {', '.join(known) or 'none'}.",
        f"did you mean `{near[0]}`?" if near else "name one of these, or add the cluster under `clusters`.",
    )


def check_names(topology: Topology, flow: ExpandedFlow) -> Iterator[Problem]:
    """The names that derive from a flow's name are valid in Kubernetes, and its remote topics are in Kafka."""
    name, settings, where = flow.workers, flow.settings, flow.where()
    namespace = namespace_name(name, settings)
    if not re.fullmatch(LABEL, name):
        if re.fullmatch(LABEL, flow.replication):
            yield _not_a_label(flow.where("target"), "alias of a target, from which names derive,", settings.target)
        else:
            yield _not_a_label(where, "replication's name", flow.replication)
    elif settings.namespace.name is not None and not re.fullmatch(LABEL, namespace):
        yield _not_a_label(flow.where("namespace.name"), "namespace's name", namespace)
    yield from _check_lengths(topology, flow, namespace)
    for topic in all_topics(settings):
        remote = replication_policy(settings).remote(topic)
        if is_name(topic) and len(remote) > LONGEST_NAME:
            remedy = (
                _SHORTER_REMOTE_NAME if remote != topic else "correct it; no cluster can have a topic of this name."
            )
            yield topic_too_long(flow.where("topics"), remote, remedy)


def topic_too_long(where: str, remote: str, remedy: str = _SHORTER_REMOTE_NAME) -> Problem:
    """The problem of a topic that the target refuses because of its name."""
    return Problem(
        where,
        "topic-name-too-long",
        f"the remote topic `{remote}` has {len(remote)} characters",
        f"Kafka allows at most {LONGEST_NAME}, so the topic cannot be created on the target.",
        remedy,
    )


def _check_lengths(topology: Topology, flow: ExpandedFlow, namespace: str) -> Iterator[Problem]:
    sender = sending_workers(topology, flow)
    name = connect_name(flow.workers, flow.settings)
    mirrors = flow.shape is Shape.MIRROR_MAKER2
    derived = [f"{name}{_LONGEST_MIRROR_SUFFIX if mirrors else _LONGEST_SUFFIX}"]
    if sender != flow.workers:
        derived.append(f"{sender}{_LONGEST_SUFFIX}")
    if mirrors and flow.settings.connectors.heartbeat.enabled:
        derived.append(f"{heartbeat_workers_name(flow.workers)}{_LONGEST_SUFFIX}")
    given = flow.settings.namespace.name is not None
    # A group name that the topology sets is used only in Kafka; a derived one is also a label.
    group = () if flow.settings.connect.group_id else (group_id(flow.workers, flow.settings),)
    names = (*derived, *group, *(() if given else (namespace,)))
    own = [text for text in names if len(text) > LABEL_LENGTH]
    if own:
        of_alias = f", or the alias `{flow.part}`, which these names contain," if flow.part in topology.clusters else ""
        yield _too_long(flow.where(), max(own, key=len), f"shorten the replication's name{of_alias}")
    if given and len(namespace) > LABEL_LENGTH:
        yield _too_long(flow.where("namespace.name"), namespace, "shorten it")


def _too_long(where: str, text: str, remedy: str) -> Problem:
    return Problem(
        where,
        "name-too-long",
        f"`{text}` has {len(text)} characters",
        f"It becomes a Kubernetes name or label, which may have at most {LABEL_LENGTH}.",
        f"{remedy} by at least {len(text) - LABEL_LENGTH}.",
    )


def _not_a_label(where: str, what: str, text: str) -> Problem:
    return Problem(
        where,
        "name-not-kubernetes",
        f"the {what} is `{text}`",
        "Kubernetes names consist of lower-case letters, digits and `-`, and begin and end with a letter or digit "
        "(RFC 1123).",
        f"rename it, for example to `{re.sub('[^a-z0-9-]+', '-', text.lower()).strip('-') or 'orders'}`.",
    )


def check_namespaces(topology: Topology, flows: Sequence[ExpandedFlow]) -> Iterator[Problem]:
    """No two deployments in a region create the same namespace."""
    created: dict[tuple[str, str], ExpandedFlow] = {}
    for flow in flows:
        target = topology.clusters.get(flow.settings.target)
        if target is None or not flow.settings.namespace.create:
            continue
        name = namespace_name(flow.owner, flow.settings)
        first = created.setdefault((target.region, name), flow)
        if first.owner != flow.owner:
            yield Problem(
                flow.where("namespace.create"),
                "namespace-created-twice",
                f"both this replication and {first.where()} create the namespace `{name}`",
                "Pulumi and kustomize refuse to register an object twice, and removing one replication would delete "
                "the other's objects with the namespace.",
                "set `create: false` next to `name` in all replications but one, or create the namespace elsewhere. "
                "For a pair, set `createNamespaces: false`.",
            )
