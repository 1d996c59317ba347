"""Settings that work on a test cluster and lose records or run badly in production: warnings, but for credentials."""

from collections.abc import Iterator, Mapping
from typing import Any

from kafka_replication.components.checks.names import label_maps
from kafka_replication.components.checks.property_values import is_open_credential, open_credential
from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.contract.wording import number
from kafka_replication.components.flows.expansion import ExpandedFlow
from kafka_replication.components.flows.naming import namespace_name
from kafka_replication.components.properties.values import value_text
from kafka_replication.components.topology.connectors import Connector

#: Namespaces that belong to Kubernetes.
_OF_KUBERNETES = frozenset({"kube-system", "kube-public", "kube-node-lease"})


def check_production(flow: ExpandedFlow) -> Iterator[Problem]:
    """Yield what is valid but should not reach production."""
    yield from _check_factors(flow)
    yield from _check_workers(flow)
    yield from _check_image(flow)
    yield from _check_annotations(flow)
    namespace = namespace_name(flow.owner, flow.settings)
    if namespace in {"default", *_OF_KUBERNETES} and flow.settings.namespace.create:
        yield Problem(
            flow.where("namespace.create"),
            "namespace-of-kubernetes",
            f"the stack creates the namespace `{namespace}`",
            "Every Kubernetes cluster has this namespace, so `up` would fail.",
            "give the flow a namespace of its own, or set `create: false`.",
        )
    elif namespace in _OF_KUBERNETES:
        yield warning(
            flow.where("namespace.name"),
            "namespace-of-kubernetes",
            f"the workers run in `{namespace}`",
            "Everyone who may deploy the flow could then change the cluster's own components, and read their Secrets.",
            "give the flow a namespace of its own.",
        )


def _connectors(flow: ExpandedFlow) -> dict[str, Connector]:
    settings = flow.settings.connectors
    sources: dict[str, Connector] = {f"sources.{part}": source for part, source in settings.sources.items()}
    optional = {key: getattr(settings, key) for key in ("checkpoint", "heartbeat")}
    return (sources or {"source": settings.source}) | {key: value for key, value in optional.items() if value.enabled}


def _check_factors(flow: ExpandedFlow) -> Iterator[Problem]:
    configs: dict[str, Mapping[str, Any]] = {"connect": flow.settings.connect.config}
    configs |= {f"connectors.{key}": connector.config for key, connector in _connectors(flow).items()}
    for path, config in configs.items():
        for key, value in config.items():
            if key.endswith("replication.factor") and value_text(value).strip() == "1":
                yield warning(
                    flow.where(f"{path}.config.{key}"),
                    "single-replica",
                    f"`{key}` is 1",
                    "If the broker with the only replica fails, the topic cannot be read or written, and if its disk "
                    "is lost, so are the records.",
                    "remove it, which takes the cluster's own factor, or set 3.",
                )


def _check_workers(flow: ExpandedFlow) -> Iterator[Problem]:
    connectors = _connectors(flow).values()
    # Each connector has an instance besides its tasks, which a worker runs, too.
    most = sum(connector.tasks_max + 1 for connector in connectors)
    replicas = flow.settings.connect.replicas
    # Three, the default, suit the fewest tasks, too: the others replace a worker that fails.
    if not flow.shared and replicas > max(most, 3):
        tasks = number(sum(connector.tasks_max for connector in connectors), "task")
        yield warning(
            flow.where("connect.replicas"),
            "idle-workers",
            f"there are {replicas} workers, but the connectors have at most {tasks}",
            "A task runs on one worker, so the others never have work. They only make each rebalance longer.",
            f"set `connect.replicas` to {most} or less, or raise `connectors.source.tasksMax`.",
        )


def _check_image(flow: ExpandedFlow) -> Iterator[Problem]:
    connect = flow.settings.connect
    images = {"connect.image": connect.image}
    for index, plugin in enumerate(connect.plugins or ()):
        artifacts = plugin.get("artifacts")
        listed = enumerate(artifacts if isinstance(artifacts, list | tuple) else ())
        named = {at: one.get("reference") for at, one in listed if isinstance(one, Mapping)}
        images |= {f"connect.plugins.{index}.artifacts.{at}.reference": image for at, image in named.items()}
    for where, image in images.items():
        tag = str(image).rpartition("/")[2].partition(":")[2]
        if image is not None and "@" not in image and tag in ("", "latest"):
            yield warning(
                flow.where(where),
                "image-not-pinned",
                f"the image is `{image}`, {'with the tag `latest`' if tag else 'without a tag'}",
                "Workers that start later may run another version than those that run already, and a review does not "
                "show it.",
                "name a version, as in `IMAGE:1.2.0`, or a digest.",
            )


def _check_annotations(flow: ExpandedFlow) -> Iterator[Problem]:
    maps = dict(label_maps(flow))
    for name, part in (flow.settings.connect.template or {}).items():
        metadata = part.get("metadata") if isinstance(part, Mapping) else None
        if isinstance(metadata, Mapping):
            for key in ("labels", "annotations"):
                given = metadata.get(key)
                maps[f"connect.template.{name}.metadata.{key}"] = given if isinstance(given, Mapping) else {}
    remedy = "remove it; keep the credential in a Secret, and let the tool that needs it read it there."
    for path, given in maps.items():
        for key, value in given.items():
            if is_open_credential(key, value):
                yield open_credential(flow.where(f"{path}.{key}"), key, remedy, shown_by="the objects in Kubernetes")
