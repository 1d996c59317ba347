"""A workload that moves: what Kubernetes says of it, and how it is stopped, led to the other side and started.

The cluster holds the state: an annotation says how many replicas a stopped workload had, and its settings show which
side it uses. So the next run continues one that was killed.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

import yaml

from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.contract.wording import named, number
from kafka_replication.components.kafka.replication_policy import Side
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference, annotations_of
from kafka_replication.infra.kubernetes.managed_fields import GITOPS
from kafka_replication.infra.machine.waiting import NotYetError
from kafka_replication.infra.operate.switch.file import Setting, SwitchedWorkload

REPLICAS = "kafka-replication/replicas-before-switch"
"""The annotation of a stopped workload: how many replicas it had."""

_PATH = "/metadata/annotations/" + REPLICAS.replace("/", "~1")
_APPS = "apps/v1"
#: A right: verb, API group, resource, and name; "" for every object.
Right: TypeAlias = tuple[str, str, str, str]


class LiveWorkload:
    """A workload of the file in its cluster. Members raise ApiError."""

    def __init__(
        self, application: SwitchedWorkload, api: KubernetesApi, where: str, addresses: Mapping[Side, str]
    ) -> None:
        self.application, self.api, self.where, self.addresses = application, api, where, addresses
        self.reference = Reference(_APPS, application.kind, application.namespace, application.name)
        self.title = str(self.reference)

    @cached_property
    def body(self) -> Object:
        """The object as it was last read; empty if there is none."""
        return self.api.get(self.reference) or {}

    def refresh(self) -> Object:
        self.__dict__.pop("body", None)
        return self.body

    @property
    def stopped_at(self) -> int | None:
        """Return how many replicas it had when a switch stopped it; None if it is not stopped."""
        kept = annotations_of(self.body).get(REPLICAS)
        return None if kept is None or self.body["spec"].get("replicas", 1) else int(kept)

    @property
    def replicas(self) -> int:
        """Return how many replicas it has, or had."""
        stopped = self.stopped_at
        return int(self.body["spec"].get("replicas", 1)) if stopped is None else stopped

    def is_on(self, side: Side) -> bool:
        """Return whether it was started with the settings of this side."""
        values = ((self._value(setting), self.values(setting)[side]) for setting in self.application.settings)
        return self.stopped_at is None and all(value == wanted for value, wanted in values)

    def values(self, setting: Setting) -> dict[Side, str]:
        given: dict[Side, str | None] = {"source": setting.source, "target": setting.target}
        return {side: self.addresses[side] if value is None else value for side, value in given.items()}

    def _holder(self, setting: Setting) -> tuple[Reference, Object, str, str | None]:
        """Return the object that holds a setting, the path of the value in it, and the value; None without one."""
        if setting.kind == "Container":
            for place, container in enumerate(self.body["spec"]["template"]["spec"]["containers"]):
                for line, variable in enumerate(container.get("env") or ()):
                    if (container["name"], variable["name"]) == (setting.name, setting.key):
                        path = f"/spec/template/spec/containers/{place}/env/{line}/value"
                        return self.reference, self.body, path, variable.get("value")
            return self.reference, self.body, "", None
        target = Reference("v1", setting.kind, self.application.namespace, setting.name)
        body = self.api.get(target) or {}
        value = (body.get("data") or {}).get(setting.key)
        if value is not None and setting.kind == "Secret":
            value = base64.b64decode(value).decode(errors="replace")
        return target, body, f"/data/{setting.key}", value

    def _value(self, setting: Setting) -> str | None:
        return self._holder(setting)[3]

    def rights(self) -> Iterator[Right]:
        """Yield what the switch does in the namespace."""
        for group, kind in (("apps", "Deployment"), ("apps", "StatefulSet"), ("", "Pod")):
            yield "list", group, f"{kind.lower()}s", ""
        yield "list", "autoscaling", "horizontalpodautoscalers", ""
        held = [
            ("", setting.kind, setting.name) for setting in self.application.settings if setting.kind != "Container"
        ]
        for group, kind, name in (("apps", self.application.kind, self.application.name), *held):
            for verb in ("get", "patch"):
                yield verb, group, f"{kind.lower()}s", name

    def missing_rights(self) -> list[Right]:
        namespace = self.application.namespace
        return [
            (verb, group, resource, name)
            for verb, group, resource, name in dict.fromkeys(self.rights())
            if not self.api.may(verb, group, resource, namespace, name)
        ]

    def problems(self) -> Iterator[Problem]:
        """Yield why it cannot be switched."""
        if not self.body:
            items = self.api.list_all(_APPS, self.application.kind, namespace=self.application.namespace)
            similar = nearest(self.application.name, [item["metadata"]["name"] for item in items])
            what, why = f"there is no {self.title}", "The switch stops and starts workloads that exist."
            remedy = f"name `{similar}`." if similar else "correct its `kind`, `namespace`, `name` or `context`."
            yield Problem(self.where, "unknown-workload", what, why, remedy)
            return
        if not self.replicas and self.application.replicas is None:
            what, why = f"{self.title} has no replicas", "The switch starts as many as it stopped."
            remedy = "scale it up, or write how many to start: `replicas: 1`."
            yield Problem(self.where, "no-replicas", what, why, remedy)
        for place, setting in enumerate(self.application.settings):
            yield from self._setting_problems(setting, f"{self.where}.settings.{place}")
        yield from self._scaled_by_keda()

    def _scaled_by_keda(self) -> Iterator[Problem]:
        """Report KEDA, which scales from zero. A HorizontalPodAutoscaler rests while there are no replicas."""
        for item in self.api.list_all(
            "autoscaling/v2", "HorizontalPodAutoscaler", namespace=self.application.namespace
        ):
            target, owners = item["spec"]["scaleTargetRef"], item["metadata"].get("ownerReferences")
            if owners and (target["kind"], target["name"]) == (self.application.kind, self.application.name):
                what = f"{owners[0]['kind']} {owners[0]['name']} scales {self.title}"
                why = "It would start it again while the positions are committed."
                remedy = 'pause it until the switch is done: annotate it with `autoscaling.keda.sh/paused: "true"`.'
                yield Problem(self.where, "scaled-from-zero", what, why, remedy)

    def _setting_problems(self, setting: Setting, where: str) -> Iterator[Problem]:
        value, values = self._value(setting), self.values(setting)
        what = f"{setting.kind} {setting.name} of {self.title}"
        if value is None:
            why = "The switch changes a value that exists."
            remedy = "correct `kind`, `name` or `key`; for a variable with `valueFrom`, name what it refers to."
            yield Problem(where, "setting-missing", f"{what} has no value `{setting.key}`", why, remedy)
        elif value not in values.values():
            shown = "holds another value" if setting.kind == "Secret" else f"is `{value}`"
            what = f"`{setting.key}` in {what} {shown}, neither that of the source nor that of the target"
            why = f"They are `{values['source']}` and `{values['target']}`, and the switch replaces the whole value."
            if setting.kind == "Secret":
                why = "The switch replaces the whole value, and must be able to put it back."
            yield Problem(where, "setting-unexpected", what, why, "write its values as `source` and `target`.")

    def readers(self) -> Iterator[tuple[str, Setting, str]]:
        """Yield who else reads a ConfigMap or Secret that is changed: the workload's title, and the setting's place."""
        kinds = ("Deployment", "StatefulSet")
        items = [
            item for kind in kinds for item in self.api.list_all(_APPS, kind, namespace=self.application.namespace)
        ]
        for place, setting in enumerate(self.application.settings):
            for item in items:
                if setting.kind != "Container" and _refers(item["spec"]["template"]["spec"], setting):
                    title = f"{item['kind']} {self.application.namespace}/{item['metadata']['name']}"
                    yield title, setting, f"{self.where}.settings.{place}"

    def notes(self) -> Iterator[str]:
        """Yield what may interfere with the switch, but does not stop it."""
        holders = [self._holder(setting)[:2] for setting in self.application.settings]
        for at, body in dict([(self.reference, self.body), *holders]).items():
            managers = (str(entry.get("manager")) for entry in body["metadata"].get("managedFields") or ())
            for manager in dict.fromkeys(name for name in managers if name.startswith(GITOPS)):
                yield f"{manager} manages {at} and may revert it: suspend it until Git has the new values"

    def lines(self, side: Side) -> Iterator[str]:
        """Yield what is changed to start it on a side, one line each."""
        for setting in self.application.settings:
            what = f"change `{setting.key}` in {setting.kind} {setting.name}"
            yield what if setting.kind == "Secret" else f"{what} to {self.values(setting)[side]}"
        yield f"start {self.title} with {number(self.application.replicas or self.replicas, 'replica')}"

    def stop(self, _: Side) -> str:
        """Scale it to zero and keep how many replicas it had; if that was done, change nothing."""
        if (stopped := self.stopped_at) is not None:
            return f"{self.title} was scaled from {number(stopped, 'replica')} to 0 by an earlier run"
        count, annotations = self.replicas, self.body["metadata"].get("annotations")
        kept = [{"op": "add", "path": "/metadata/annotations", "value": {}}] if annotations is None else []
        kept += [{"op": "add", "path": _PATH, "value": str(count)}]
        scale = {"op": "replace", "path": "/spec/replicas", "value": 0}
        self.api.patch(self.reference, [{"op": "test", "path": "/spec/replicas", "value": count}, *kept, scale])
        self.refresh()
        return f"{self.title} is scaled from {number(count, 'replica')} to 0"

    def lead(self, side: Side) -> None:
        """Point the workload's settings to a side."""
        self.refresh()
        for setting in self.application.settings:
            target, _, path, value = self._holder(setting)
            wanted = self.values(setting)[side]
            if value != wanted:
                content = base64.b64encode(wanted.encode()).decode() if setting.kind == "Secret" else wanted
                self.api.patch(target, [{"op": "replace", "path": path, "value": content}])
        self.refresh()

    def start(self, side: Side) -> None:
        """Scale the workload up again if a switch stopped it; on the target, to the number that its file asks for."""
        if (count := self.stopped_at) is not None:
            wanted = (self.application.replicas if side == "target" else None) or count
            scale = {"op": "replace", "path": "/spec/replicas", "value": wanted}
            self.api.patch(self.reference, [scale, {"op": "remove", "path": _PATH}])
            self.refresh()

    def pods(self) -> list[Object]:
        labels = self.body["spec"]["selector"].get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        return self.api.list_all("v1", "Pod", namespace=self.application.namespace, label_selector=selector)

    def expect_down(self) -> None:
        """Raise NotYetError while a pod is left."""
        left = [pod["metadata"]["name"] for pod in self.pods()]
        if left or self.refresh().get("status", {}).get("replicas", 0):
            raise NotYetError(f"{self.title} still has {named(left) or 'replicas'}")

    def expect_up(self) -> None:
        """Raise NotYetError, with what its pods wait for, until every replica is ready."""
        status, wanted = self.refresh().get("status", {}), self.body["spec"].get("replicas", 1)
        current = status.get("observedGeneration", 0) >= self.body["metadata"].get("generation", 0)
        ready = min(status.get("readyReplicas", 0), status.get("updatedReplicas", 0)) if current else 0
        if ready < wanted:
            reasons = dict.fromkeys(reason for pod in self.pods() for reason in pod_reasons(pod))
            why = f": {named(list(reasons))}" if reasons else ""
            raise NotYetError(f"{self.title} has {ready} of {number(wanted, 'replica')} ready{why}")


def _refers(part: object, setting: Setting) -> bool:
    """Return whether a part of a pod's specification names the ConfigMap or Secret."""
    if isinstance(part, Mapping):
        return any(
            (str(key).lower().startswith(setting.kind.lower()) and _names(value, setting.name))
            or _refers(value, setting)
            for key, value in part.items()
        )
    return isinstance(part, list) and any(_refers(item, setting) for item in part)


def _names(reference: object, name: str) -> bool:
    return isinstance(reference, Mapping) and name in (reference.get("name"), reference.get("secretName"))


def role_text(missing: Mapping[str, Iterable[Right]]) -> str:
    """Return the Roles that give these rights, by namespace."""
    roles = [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"namespace": namespace, "name": "replicate-switch"},
            "rules": [
                {
                    "apiGroups": [group],
                    "resources": [resource],
                    "resourceNames": [name] if name else [],
                    "verbs": [verb],
                }
                for verb, group, resource, name in rights
            ],
        }
        for namespace, rights in missing.items()
    ]
    return str(yaml.safe_dump_all(roles, sort_keys=False)).strip()


def pod_reasons(pod: Object) -> Iterator[str]:
    """Yield why a pod is not ready, in the words of Kubernetes."""
    status = pod.get("status") or {}
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        reason = state.get("waiting") or state.get("terminated") or {}
        if reason:
            yield f"{container['name']} {' '.join(filter(None, (reason.get('reason'), reason.get('message'))))}"
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            yield str(condition.get("message") or condition.get("reason"))
