"""A failover that also moves applications, between two brokers in this process and with a Kubernetes that obeys."""

import base64
import os
import signal
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_replication.components.clients.reader import KafkaReader
from kafka_replication.components.contract.parameters import ClusterParameters
from kafka_replication.components.contract.problems import CannotRunError, RefusedError, ReplicationError
from kafka_replication.components.kafka.positions import TopicPartition
from kafka_replication.components.topology.parsing import parse_model
from kafka_replication.infra.kubernetes.api import ApiError, Object, Reference, reference
from kafka_replication.infra.operate.move.disaster import DisasterFailover
from kafka_replication.infra.operate.move.facts import Mode
from kafka_replication.infra.operate.move.failover import Failover
from kafka_replication.infra.operate.switch.file import SwitchFile
from kafka_replication.infra.operate.switch.switch import Switch
from kafka_replication.infra.operate.switch.workloads import REPLICAS
from tests.builders import a_resolved_flow
from tests.components.clients.brokers import Cluster, Reader
from tests.infra.operate.move.night import Night, Operator, a_call, a_night
from tests.repository import ROOT

ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("useast.orders", 0)
GROUP = "checkout-web"
SHOP = Reference("apps/v1", "Deployment", "shop", "checkout")
CONFIG = Reference("v1", "ConfigMap", "shop", "checkout-kafka")
SECRET = Reference("v1", "Secret", "shop", "web-kafka")


def a_deployment(name: str, group: str = "", **spec: Any) -> Object:
    container = {"name": "app", "env": [{"name": "GROUP", "value": group}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    body = {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    metadata = {"namespace": "shop", "name": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": body}


@dataclass
class Kubernetes(Operator):
    """Runs the pods of Deployments: a started one joins its group where its ConfigMap leads, and consumes to the end.

    No pod of the workloads in `waiting` becomes ready. From the call `dies_at` on, the server does not answer.
    """

    shop: Any = None
    denied: set[str] = field(default_factory=set)
    waiting: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    dies_at: str = ""
    refuses: str = ""
    #: Members that other machines run.
    elsewhere: int = 0
    consumes: bool = True
    at_stop: Callable[[], object] = lambda: None

    def may(self, verb: str, group: str, resource: str, namespace: str, name: str) -> bool:
        assert namespace == "shop"
        assert group == {"deployments": "apps", "statefulsets": "apps"}.get(resource, group)
        return f"{verb} {resource} {name}".strip() not in self.denied

    def list_all(self, _: str, kind: str, *, label_selector: str = "", namespace: str | None = None) -> list[Object]:
        if kind == "Pod":
            name = label_selector.removeprefix("app=")
            state = {"name": "app", "state": {"waiting": {"reason": self.waiting.get(name)}}}
            count = self.objects[replace(SHOP, name=name)]["spec"]["replicas"]
            return [{"metadata": {"name": name}, "status": {"containerStatuses": [state]}}] * count
        return [body for at, body in self.objects.items() if (at.kind, at.namespace) == (kind, namespace)]

    def patch(self, wanted: Reference, operations: list[Object]) -> Object:
        if wanted.kind.startswith("Kafka"):
            return super().patch(wanted, operations)
        body, call = self.objects[wanted], f"{wanted.kind} {wanted.name}"
        before = deepcopy(body)
        for operation in operations:
            *parents, last = (part.replace("~1", "/") for part in operation["path"].strip("/").split("/"))
            place: Any = body
            for parent in parents:
                place = place[int(parent)] if isinstance(place, list) else place[parent]
            match operation["op"]:
                case "test":
                    assert place[last] == operation["value"]
                case "remove":
                    del place[last]
                case _:
                    place[last] = operation["value"]
        if wanted.kind == "Deployment" and body["spec"]["replicas"] != before["spec"]["replicas"]:
            call += f" {body['spec']['replicas']}"
        self.calls.append(call)
        if call == self.refuses:
            self.objects[wanted] = before
            raise ApiError(403, "Forbidden", "no")
        if self.dies_at in self.calls:
            self.objects[wanted] = before
            raise ApiError(0, "Unreachable", "the Kubernetes API server does not answer")
        if len(call.split()) > 2:
            self.run(body)
        return body

    def run(self, body: Object) -> None:
        count = body["spec"]["replicas"]
        if not count and body["metadata"]["name"] == "web":
            self.at_stop()
        ready = 0 if body["metadata"]["name"] in self.waiting else count
        body["status"] = {"replicas": count, "readyReplicas": ready, "updatedReplicas": ready}
        group = body["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"]
        if group:
            self.shop.join(group, count, self.objects[CONFIG]["data"]["bootstrap"])


@dataclass(frozen=True)
class Shop(Night):
    """The scene with an application, whose groups have members on one side."""

    places: dict[str, str] = field(default_factory=dict)

    def join(self, group: str, count: int, bootstrap: str) -> None:
        self.members[group] = count + self.kubernetes_.elsewhere
        self.places[group] = "uswest" if "uswest" in bootstrap else "useast"
        if count and self.places[group] == "uswest" and self.kubernetes_.consumes:
            self.target.commit(group, {REMOTE: 12})

    def reader(self, cluster: ClusterParameters) -> KafkaReader:
        reader = super().reader(cluster)
        if isinstance(reader, Reader):
            reader._groups = {
                name: count if self.places.get(name) == cluster.alias else 0 for name, count in self.members.items()
            }
        return reader

    @property
    def kubernetes_(self) -> Kubernetes:
        assert isinstance(self.operator, Kubernetes)
        return self.operator


@pytest.fixture
def shop() -> Shop:
    flow = a_resolved_flow(topics=["orders"], groups=["checkout-.*"])
    source, target = Cluster(), Cluster()
    source.hold("orders", [(each, "") for each in range(12)])
    target.hold(REMOTE.topic, [(each, "") for each in range(12)])
    night = a_night(flow, source, target, {GROUP: {ORDERS: 10}})
    kubernetes = Kubernetes(night.operator.objects)
    made = Shop(**{**vars(night), "operator": kubernetes, "places": {}})
    kubernetes.shop = made
    for body in (
        a_deployment("checkout", GROUP),
        a_deployment("web"),
        an_object("ConfigMap", "checkout-kafka", data={"bootstrap": flow.source.bootstrap_servers}),
        an_object("Secret", "web-kafka", data={"bootstrap": encoded(str(flow.source.bootstrap_servers))}),
    ):
        kubernetes.objects[reference(body)] = body
    for workload in ("checkout", "web"):
        kubernetes.run(kubernetes.objects[replace(SHOP, name=workload)])
    return made


def an_object(kind: str, name: str, **content: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "shop", "name": name}, **content}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def a_workload(name: str = "checkout", kind: str = "ConfigMap", key: str = "bootstrap", **given: Any) -> dict[str, Any]:
    settings = [{"kind": kind, "name": f"{name}-kafka", "key": key}]
    groups = [GROUP] if name == "checkout" else []
    return {"namespace": "shop", "name": name, "groups": groups, "settings": settings, **given}


CHECKOUT, WEB = a_workload(), a_workload("web", "Secret", role="producer")


def switch(shop: Shop, folder: Path, mode: Mode = Mode.PLANNED, *workloads: dict[str, Any], **given: Any) -> None:
    path = folder / "switch.yaml"
    path.write_text(yaml.safe_dump({"workloads": workloads or [CHECKOUT, WEB]}))
    operation = DisasterFailover if mode is Mode.DISASTER else Failover
    Switch(a_call(mode=mode, **{"wait_seconds": 0, **given}), shop, operation, path).run()


def test_applications_are_stopped_and_go_on_on_the_target(
    shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    switch(shop, tmp_path)
    assert shop.kubernetes_.calls == [
        *("Deployment checkout 0", "Deployment web 0", "ConfigMap checkout-kafka", "Deployment checkout 3"),
        *("Secret web-kafka", "Deployment web 3"),
    ]
    address = str(shop.flow.target.bootstrap_servers)
    assert shop.kubernetes_.objects[CONFIG]["data"] == {"bootstrap": address}
    assert shop.kubernetes_.objects[replace(CONFIG, kind="Secret", name="web-kafka")]["data"]["bootstrap"] == encoded(
        address
    )
    assert shop.kubernetes_.objects[SHOP]["metadata"]["annotations"] == {}
    assert (shop.positions(REMOTE), shop.places) == ({GROUP: 12}, {GROUP: "uswest"})
    assert "1 group consumes on uswest" in capsys.readouterr().out


def test_a_dry_run_shows_the_steps_and_changes_nothing(
    shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    switch(shop, tmp_path, dry_run=True)
    assert (shop.kubernetes_.calls, shop.positions(REMOTE)) == ([], {})
    said = capsys.readouterr().out
    assert "stop Deployment shop/checkout, Deployment shop/web, then commit the positions" in said
    assert "change `bootstrap` in ConfigMap checkout-kafka to kafka.uswest.example.com:9093" in said
    assert "change `bootstrap` in Secret web-kafka\nstart Deployment shop/web with 3 replicas" in said
    assert "! producers     the switch stops Deployment shop/web" in said
    assert "checkout-web: orders-0 at 10 -> useast.orders-0 at 10" in said
    assert "nothing was changed" in said


def test_with_an_unmet_precondition_no_application_is_stopped(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="precondition-unmet: source: useast answers"):
        switch(shop, tmp_path, Mode.DISASTER)
    assert shop.kubernetes_.calls == []


def test_a_group_that_also_runs_elsewhere_is_refused_and_the_applications_run_again(
    shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.kubernetes_.elsewhere = 1
    with pytest.raises(CannotRunError, match="last seen: checkout-web still has 1 member on useast"):
        switch(shop, tmp_path)
    assert (shop.positions(REMOTE), shop.places, shop.members) == ({}, {GROUP: "useast"}, {GROUP: 4})
    assert shop.kubernetes_.objects[SHOP]["spec"]["replicas"] == 3
    assert "put back on useast: Deployment shop/checkout, Deployment shop/web" in capsys.readouterr().out


def test_everything_is_put_back_if_a_setting_cannot_be_changed(shop: Shop, tmp_path: Path) -> None:
    """The positions are committed then; nothing has consumed on the target."""
    shop.kubernetes_.refuses = "ConfigMap checkout-kafka"
    with pytest.raises(CannotRunError, match="kubernetes-refused: Kubernetes answers 403 Forbidden"):
        switch(shop, tmp_path)
    assert (shop.positions(REMOTE), shop.places, shop.members) == ({GROUP: 10}, {GROUP: "useast"}, {GROUP: 3})


@pytest.mark.parametrize(
    "step",
    [
        *("Deployment checkout 0", "Deployment web 0", "ConfigMap checkout-kafka", "Deployment checkout 3"),
        *("Secret web-kafka", "Deployment web 3"),
    ],
)
def test_a_command_that_was_killed_at_a_step_is_finished_by_the_next(shop: Shop, tmp_path: Path, step: str) -> None:
    """The server does not answer from then on, so that the command cannot put anything back either."""
    shop.kubernetes_.dies_at = step
    with pytest.raises(CannotRunError):
        switch(shop, tmp_path)
    shop.kubernetes_.dies_at = ""
    switch(shop, tmp_path)
    assert (shop.positions(REMOTE), shop.places, shop.members) == ({GROUP: 12}, {GROUP: "uswest"}, {GROUP: 3})
    for name in ("checkout", "web"):
        body = shop.kubernetes_.objects[replace(SHOP, name=name)]
        assert (body["spec"]["replicas"], body["metadata"]["annotations"]) == (3, {})


def test_a_command_that_cannot_put_back_names_what_is_stopped(shop: Shop, tmp_path: Path) -> None:
    shop.kubernetes_.dies_at = "Deployment web 0"
    with pytest.raises(
        CannotRunError, match="switch-left: Deployment shop/checkout, Deployment shop/web may be stopped"
    ):
        switch(shop, tmp_path)
    assert shop.kubernetes_.objects[SHOP]["metadata"]["annotations"] == {REPLICAS: "3"}


def test_a_workload_that_never_becomes_ready_is_not_put_back(
    shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.kubernetes_.waiting["checkout"] = "ImagePullBackOff"
    with pytest.raises(CannotRunError, match="checkout has 0 of 3 replicas ready: app ImagePullBackOff"):
        switch(shop, tmp_path)
    assert "consumers may run on uswest already, so nothing is put back: run the command" in capsys.readouterr().err
    assert (shop.positions(REMOTE), shop.places) == ({GROUP: 12}, {GROUP: "uswest"})


def test_a_group_that_commits_nothing_on_the_target_is_not_called_moved(shop: Shop, tmp_path: Path) -> None:
    shop.kubernetes_.consumes = False
    with pytest.raises(CannotRunError, match="checkout-web has committed nothing since it was started on uswest"):
        switch(shop, tmp_path)


def test_the_last_records_of_stopped_producers_are_waited_for(shop: Shop, tmp_path: Path) -> None:
    shop.source.hold("orders", [(12, "")])
    shop.kubernetes_.at_stop = lambda: shop.target.hold(REMOTE.topic, [(12, "")])
    switch(shop, tmp_path)
    assert shop.places == {GROUP: "uswest"}


def test_ctrl_c_before_the_positions_are_committed_puts_everything_back(shop: Shop, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    shop.operator.before_patch = interrupt
    with pytest.raises(KeyboardInterrupt):
        switch(shop, tmp_path)
    assert (shop.positions(REMOTE), shop.places, shop.members) == ({}, {GROUP: "useast"}, {GROUP: 3})


def test_an_unknown_group_is_refused(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="switch: no position to commit for checkout-wob"):
        switch(shop, tmp_path, Mode.PLANNED, {**CHECKOUT, "groups": [GROUP, "checkout-wob"]})
    assert shop.kubernetes_.calls == []


def test_in_continuous_mode_producers_run_until_the_consumers_have_moved(shop: Shop, tmp_path: Path) -> None:
    switch(shop, tmp_path, Mode.CONTINUOUS)
    assert shop.kubernetes_.calls == [
        *("Deployment checkout 0", "ConfigMap checkout-kafka", "Deployment checkout 3"),
        *("Deployment web 0", "Secret web-kafka", "Deployment web 3"),
    ]


def test_in_a_disaster_consumers_go_on_where_the_target_knows_them(shop: Shop, tmp_path: Path) -> None:
    shop.target.commit(GROUP, {REMOTE: 7})
    shop.dead.add("useast")
    switch(shop, tmp_path, Mode.DISASTER)
    assert shop.kubernetes_.calls == [
        *("Deployment checkout 0", "Deployment web 0", "ConfigMap checkout-kafka", "Deployment checkout 3"),
        *("Secret web-kafka", "Deployment web 3"),
    ]
    assert (shop.positions(REMOTE), shop.places) == ({GROUP: 12}, {GROUP: "uswest"})


def test_in_a_disaster_a_group_that_runs_on_the_target_is_refused(shop: Shop, tmp_path: Path) -> None:
    shop.target.commit(GROUP, {REMOTE: 7})
    shop.dead.add("useast")
    shop.places[GROUP] = "uswest"
    with pytest.raises(RefusedError, match="checkout-web cannot move: it runs on uswest with 3 members already"):
        switch(shop, tmp_path, Mode.DISASTER)
    assert shop.kubernetes_.calls == []


def of_web(shop: Shop) -> Object:
    return shop.kubernetes_.objects[replace(SHOP, name="web")]


def scaled_to_zero(shop: Shop) -> None:
    of_web(shop)["spec"]["replicas"] = 0


def scaled_by_keda(shop: Shop) -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}
    metadata = {"namespace": "shop", "name": "keda-web", "ownerReferences": [{"kind": "ScaledObject", "name": "web"}]}
    at = Reference("autoscaling/v2", "HorizontalPodAutoscaler", "shop", "keda-web")
    shop.kubernetes_.objects[at] = {"kind": at.kind, "metadata": metadata, "spec": spec}


def with_another_reader(shop: Shop) -> None:
    other = a_deployment("report")
    other["spec"]["template"]["spec"]["volumes"] = [{"name": "kafka", "secret": {"secretName": "web-kafka"}}]
    shop.kubernetes_.objects[reference(other)] = other


def as_it_is(_: Shop) -> None:
    """Change nothing."""


@pytest.mark.parametrize(
    ("workload", "change", "said"),
    [
        (a_workload("wob", role="producer"), as_it_is, "unknown-workload: there is no Deployment shop/wob"),
        (a_workload("web", "Secret", "address", role="producer"), as_it_is, "setting-missing: Secret web-kafka of"),
        (a_workload("web", "Container", role="producer"), as_it_is, "setting-missing: Container web-kafka of"),
        (WEB, scaled_to_zero, "no-replicas: Deployment shop/web has no replicas"),
        (WEB, scaled_by_keda, "scaled-from-zero: ScaledObject web scales Deployment shop/web"),
        (WEB, with_another_reader, "setting-shared: Deployment shop/report also reads Secret web-kafka"),
        ({**WEB, "settings": []}, as_it_is, "nothing-to-switch: `settings` is empty, at workloads.1"),
        ({**WEB, "role": "consumer"}, as_it_is, "consumer-without-groups: a consumer has no group"),
    ],
)
def test_a_workload_that_cannot_be_switched_is_refused_by_name(
    shop: Shop, tmp_path: Path, workload: dict[str, Any], change: Callable[[Shop], None], said: str
) -> None:
    change(shop)
    with pytest.raises(ReplicationError) as caught:
        switch(shop, tmp_path, Mode.PLANNED, CHECKOUT, workload)
    assert [problem.text.startswith(said) for problem in caught.value.problems] == [True]
    assert shop.kubernetes_.calls == []


def test_a_value_of_neither_cluster_is_refused_and_a_secret_is_not_shown(shop: Shop, tmp_path: Path) -> None:
    shop.kubernetes_.objects[CONFIG]["data"]["bootstrap"] = "kafka-0:9092"
    shop.kubernetes_.objects[SECRET]["data"]["bootstrap"] = encoded("hunter2:9092")
    with pytest.raises(ReplicationError) as caught:
        switch(shop, tmp_path)
    first, second = (problem.what for problem in caught.value.problems)
    neither = "neither that of the source nor that of the target"
    assert first == f"`bootstrap` in ConfigMap checkout-kafka of Deployment shop/checkout is `kafka-0:9092`, {neither}"
    assert second == f"`bootstrap` in Secret web-kafka of Deployment shop/web holds another value, {neither}"
    assert "hunter2" not in str(caught.value)


def test_two_workloads_cannot_give_one_setting_different_values(shop: Shop, tmp_path: Path) -> None:
    other = a_workload("web", role="producer")
    other["settings"] = [{**CHECKOUT["settings"][0], "target": "elsewhere:9092"}]
    with pytest.raises(ReplicationError, match="setting-twice: `bootstrap` has other values than in"):
        switch(shop, tmp_path, Mode.PLANNED, CHECKOUT, other)


def test_two_workloads_may_share_a_setting(shop: Shop, tmp_path: Path) -> None:
    switch(shop, tmp_path, Mode.PLANNED, CHECKOUT, {**WEB, "settings": CHECKOUT["settings"]})
    assert shop.kubernetes_.calls.count("ConfigMap checkout-kafka") == 1


def test_a_file_without_an_application_is_refused(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "switch.yaml"
    path.write_text("workloads: []")
    with pytest.raises(ReplicationError, match="nothing-to-switch: `workloads` is empty"):
        Switch(a_call(), shop, Failover, path)


def test_missing_rights_are_named_with_the_role_that_gives_them(shop: Shop, tmp_path: Path) -> None:
    shop.kubernetes_.denied |= {"patch secrets web-kafka", "list pods"}
    with pytest.raises(RefusedError, match="switch-forbidden: you may not list pods in shop") as caught:
        switch(shop, tmp_path)
    role = yaml.safe_load(caught.value.detail)
    assert role["metadata"] == {"namespace": "shop", "name": "replicate-switch"}
    pods = {"apiGroups": [""], "resources": ["pods"], "resourceNames": [], "verbs": ["list"]}
    secret = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["web-kafka"], "verbs": ["patch"]}
    assert role["rules"] == [pods, secret]


def test_what_gitops_manages_is_named(shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop.kubernetes_.objects[CONFIG]["metadata"]["managedFields"] = [{"manager": "argocd-controller"}]
    switch(shop, tmp_path, dry_run=True)
    said = "! switch        argocd-controller manages ConfigMap shop/checkout-kafka and may revert it: suspend it"
    assert said in capsys.readouterr().out


def with_hook(shop: Shop, folder: Path, script: str, **given: Any) -> None:
    (folder / "gateway.sh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "gateway.sh").chmod(0o755)
    command = {"name": "gateway", "command": ["./gateway.sh"], "role": "producer", **given}
    path = folder / "switch.yaml"
    workloads = [CHECKOUT if command["role"] == "producer" else WEB]
    path.write_text(yaml.safe_dump({"workloads": workloads, "commands": [command]}))
    Switch(a_call(wait_seconds=20), shop, Failover, path).run()


@pytest.mark.process
def test_a_command_stops_and_starts_what_does_not_run_in_kubernetes(
    shop: Shop, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_hook(shop, tmp_path, 'echo "$REPLICATE_STEP $REPLICATE_FLOW $REPLICATE_CLUSTER $REPLICATE_BOOTSTRAP"')
    said = capsys.readouterr().out
    assert "  stop orders useast kafka.useast.example.com:9093\n✓ command gateway: stop on useast" in said
    assert "  start orders uswest kafka.uswest.example.com:9093\n✓ command gateway: start on uswest" in said


@pytest.mark.process
def test_a_command_may_leave_a_process_running(shop: Shop, tmp_path: Path) -> None:
    """Its output would never end in a pipe, and the switch would wait for it as long as for anything else."""
    with_hook(shop, tmp_path, "sleep 60 & echo $! >> left")
    for left in (tmp_path / "left").read_text().split():
        os.kill(int(left), signal.SIGKILL)
    assert shop.places == {GROUP: "uswest"}


@pytest.mark.process
def test_a_command_that_fails_stops_the_switch_and_its_output_is_shown(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="hook-failed: stop ended with exit status 3") as caught:
        with_hook(shop, tmp_path, 'echo "no gateway here"; [ "$REPLICATE_STEP" = start ] || exit 3')
    assert caught.value.detail == "no gateway here"
    assert (shop.positions(REMOTE), shop.places, shop.members) == ({}, {GROUP: "useast"}, {GROUP: 3})


@pytest.mark.process
def test_a_command_that_reports_that_it_has_moved_is_not_moved_again(shop: Shop, tmp_path: Path) -> None:
    """Its group runs on the target, where no position can be committed for it any more."""
    shop.join(GROUP, 3, "uswest")
    script = '[ "$REPLICATE_STEP" != stop ]'
    with_hook(shop, tmp_path, script, role="consumer", groups=[GROUP], reports=True)
    assert shop.kubernetes_.calls == ["Deployment web 0", "Secret web-kafka", "Deployment web 3"]


@pytest.mark.process
def test_a_command_that_cannot_report_stops_the_switch(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(CannotRunError, match="hook-failed: moved ended with exit status 2"):
        with_hook(shop, tmp_path, "exit 2", reports=True)
    assert shop.kubernetes_.calls == []


def test_the_readmes_file_is_one() -> None:
    page = (ROOT / "infra" / "operate" / "switch" / "README.md").read_text()
    assert parse_model(SwitchFile, yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0]))
