"""Which mirror of a KafkaMirrorMaker2 becomes which flow, and what prevents the move. No cluster is asked."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.flows.operators import PAUSE
from kafka_replication.components.render.kafka_connectors import ANNOTATION, waiting_for_offsets
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.deploy.adoption.facts import AdoptionFacts
from kafka_replication.infra.deploy.adoption.plan import AdoptionPlan, planned
from kafka_replication.infra.deploy.adoption.text import print_plan
from kafka_replication.infra.operate.connectors.changes import OFFSETS
from kafka_replication.infra.review.object_changes import identity
from kafka_replication.infra.review.snapshots import Snapshot, current_snapshot
from tests.infra.review.changes import written
from tests.infra.review.served import an_entry

Edit = Callable[[Manifest], None]
KEYS = {"source": "useast", "target": "uswest", "topics": ["orders", "payments-.*"], "groups": ["checkout-.*"]}
FLOW = {"replications": {"orders": {"kind": "flow", **KEYS}}}
SOURCE = "useast->uswest.MirrorSourceConnector"


def snapshot(folder: Path, overrides: Mapping[str, Any]) -> Snapshot:
    return current_snapshot("test", written(folder, dict(overrides)))


def a_mirror(folder: Path, edit: Edit | None = None, **keys: Any) -> Manifest:
    """A KafkaMirrorMaker2 that another tool created and that does what the flow does."""
    mirror = {"kind": "mirrorMaker2", **KEYS, "namespace": {"name": "kafka", "create": False}, **keys}
    found = snapshot(folder / "mirror", {"replications": {"orders": None, "mm2": mirror}})
    (body,) = (each for each in found.objects("mm2").values() if each["kind"] == "KafkaMirrorMaker2")
    body = copy.deepcopy(dict(body))
    body["metadata"] |= {"generation": 1, "managedFields": [an_entry("kubectl-create", {"f:spec": {}})]}
    body["status"] = {"observedGeneration": 1, "connectors": [status(SOURCE)]}
    if edit is not None:
        edit(body)
    return body


def status(name: str, connector: str = "RUNNING", task: str = "RUNNING") -> dict[str, Any]:
    return {"name": name, "connector": {"state": connector}, "tasks": [{"id": 0, "state": task}]}


def facts(folder: Path, mirror: Manifest, flow: Mapping[str, Any] = FLOW, **more: Any) -> AdoptionFacts:
    """Nothing of the stack is deployed, and the mirror copies."""
    return replace(AdoptionFacts("test", snapshot(folder / "flow", flow), {}, frozenset(), [mirror]), **more)


def plan_of(
    folder: Path, edit: Edit | None = None, names: tuple[str, ...] = ("kafka/mm2",), **more: Any
) -> AdoptionPlan:
    return planned(facts(folder, a_mirror(folder, edit), **more), (), names)


def codes(plan: AdoptionPlan) -> list[str]:
    return [each.code for each in plan.problems]


@pytest.mark.parametrize("name", ["mm2", "kafka/mm2"])
def test_a_mirror_that_does_the_same_as_its_flow_moves_without_an_agreement(tmp_path: Path, name: str) -> None:
    plan = plan_of(tmp_path, names=(name,))
    assert codes(plan) == []
    assert {each.severity for each in plan.effects} <= {Impact.NONE}, plan.effects
    (move,) = plan.moves.mirrors
    assert (move.source, move.target, [flow.name for flow in move.flows]) == ("useast", "uswest", ["orders"])
    assert [place.name for place in move.places] == [SOURCE, "useast->uswest.MirrorCheckpointConnector"]
    assert [place.name for place in move.waiting] == ["orders-source", "orders-checkpoint", "orders-heartbeat"]
    assert not plan.is_done


def test_without_the_option_a_running_mirror_blocks_the_flow(tmp_path: Path) -> None:
    assert codes(plan_of(tmp_path, names=())) == ["other-kind-runs"]


def test_a_second_mirror_between_the_same_clusters_still_blocks_the_flow(tmp_path: Path) -> None:
    mirror = a_mirror(tmp_path)
    other = copy.deepcopy(mirror)
    other["metadata"]["name"] = "mm3"
    plan = planned(replace(facts(tmp_path, mirror), others=[mirror, other]), (), ["mm2"])
    assert codes(plan) == ["other-kind-runs"]
    assert "kafka/mm3" in plan.problems[0].text


DIFFERENCES: dict[str, tuple[dict[str, Any], str]] = {
    "fewer topics": ({"topics": ["orders"]}, "data:orders"),
    "fewer groups": ({"groups": ["checkout-web"]}, "data:orders"),
    "another policy": ({"policy": "identity"}, "data:orders"),
    "another separator": ({"separator": "_"}, "data:orders"),
}


@pytest.mark.parametrize(("keys", "agreement"), DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_a_difference_between_flow_and_mirror_needs_an_agreement(
    tmp_path: Path, keys: dict[str, Any], agreement: str
) -> None:
    flow = {"replications": {"orders": {"kind": "flow", **KEYS, **keys}}}
    plan = plan_of(tmp_path, flow=flow)
    assert set(codes(plan)) == {"not-agreed"}
    assert agreement in {each.agreement for each in plan.refusals}


def other_target(body: Manifest) -> None:
    body["spec"]["target"]["bootstrapServers"] = "elsewhere:9092"


def other_source(body: Manifest) -> None:
    body["spec"]["mirrors"][0]["source"]["bootstrapServers"] = "elsewhere:9092"


def other_alias(body: Manifest) -> None:
    body["spec"]["mirrors"][0]["source"]["alias"] = "east"


def paused(body: Manifest) -> None:
    body["spec"]["mirrors"][0]["sourceConnector"]["state"] = "paused"


def failed(body: Manifest) -> None:
    body["status"]["connectors"] = [status(SOURCE, task="FAILED")]


def held(body: Manifest) -> None:
    body["metadata"]["annotations"] = {PAUSE: "true"}


def armed(body: Manifest) -> None:
    body["metadata"]["annotations"] = {OFFSETS: "reset"}


def of_argocd(body: Manifest) -> None:
    body["metadata"]["managedFields"] = [an_entry("argocd-controller", {"f:spec": {}}, "Apply")]


def deleted(body: Manifest) -> None:
    body["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"


def owned(body: Manifest) -> None:
    body["metadata"]["ownerReferences"] = [{"kind": "Platform", "name": "p"}]


def not_observed(body: Manifest) -> None:
    body["metadata"]["generation"] = 2


def same_group(body: Manifest) -> None:
    body["spec"]["target"]["groupId"] = "mirror-orders"


REFUSED: dict[str, tuple[Edit, str]] = {
    "another alias": (other_alias, "alias-differs"),
    "a paused connector": (paused, "mirror-paused"),
    "a failed task": (failed, "mirror-failed"),
    "a paused reconciliation": (held, "reconciliation-held"),
    "an operator that has not seen the newest change": (not_observed, "operator-behind"),
    "a requested change of offsets": (armed, "offsets-armed"),
    "Argo CD": (of_argocd, "gitops-manages"),
    "a deletion": (deleted, "being-deleted"),
    "an owner": (owned, "owned-by-object"),
    "the worker group of the flow": (same_group, "worker-group-taken"),
    "another target": (other_target, "not-agreed"),
    "another source": (other_source, "not-agreed"),
}


@pytest.mark.parametrize(("edit", "code"), REFUSED.values(), ids=list(REFUSED))
def test_an_obstacle_to_a_move_is_reported_with_a_remedy(tmp_path: Path, edit: Edit, code: str) -> None:
    plan = plan_of(tmp_path, edit)
    assert codes(plan) == [code]
    assert all(each.remedy for each in plan.problems)


def test_an_unknown_resource_name_is_answered_with_the_nearest_name(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, names=("mm",))
    assert codes(plan)[0] == "mirror-not-found"
    assert "name `mm2`" in plan.problems[0].remedy


@pytest.mark.parametrize(
    ("searched", "remedy"),
    [
        ((), "check `kubernetes:context` of the stack: its cluster has no KafkaMirrorMaker2."),
        (
            ("mirror-orders",),
            "let the account of the stack's Kubernetes context list kafkamirrormaker2s in all namespaces.",
        ),
    ],
)
def test_a_cluster_without_a_resource_is_told_apart_from_an_account_that_cannot_look(
    tmp_path: Path, searched: tuple[str, ...], remedy: str
) -> None:
    plan = plan_of(tmp_path, others=[], searched=searched)
    assert [(each.code, each.remedy) for each in plan.problems] == [("mirror-not-found", remedy)]


def test_a_resource_without_a_mirror_for_any_flow_has_nothing_to_move(tmp_path: Path) -> None:
    def elsewhere(body: Manifest) -> None:
        other_source(body)
        body["spec"]["mirrors"][0]["source"]["alias"] = "eucentral"

    assert codes(plan_of(tmp_path, elsewhere)) == ["nothing-to-move"]


def test_a_resource_that_this_stack_deployed_is_not_moved(tmp_path: Path) -> None:
    mirror = a_mirror(tmp_path)
    plan = planned(replace(facts(tmp_path, mirror), known=frozenset({identity(mirror)})), (), ["mm2"])
    assert "mirror-of-this-stack" in codes(plan)


def deployed(seen: AdoptionFacts, *, waits: bool) -> AdoptionFacts:
    live = {}
    for _, _, body, _ in seen.objects():
        found = copy.deepcopy(dict(body))
        if found["kind"] == "KafkaConnector" and waits:
            found = waiting_for_offsets(found, "KafkaMirrorMaker2 kafka/mm2")
        live[identity(body)] = found
    return replace(seen, live=live, known=frozenset(live))


def stopped(body: Manifest) -> None:
    for role in ("source", "checkpoint"):
        body["spec"]["mirrors"][0][f"{role}Connector"]["state"] = "stopped"


def test_an_interrupted_move_continues_with_the_connectors_that_wait(tmp_path: Path) -> None:
    plan = planned(deployed(facts(tmp_path, a_mirror(tmp_path, stopped)), waits=True), (), ["mm2"])
    (move,) = plan.moves.mirrors
    assert codes(plan) == []
    assert len(move.waiting) == 3
    assert not plan.is_done


def test_a_completed_move_is_done(tmp_path: Path) -> None:
    plan = planned(deployed(facts(tmp_path, a_mirror(tmp_path, stopped)), waits=False), (), ["mm2"])
    assert (codes(plan), plan.is_done) == ([], True)


def test_two_mirrors_never_become_one_flow(tmp_path: Path) -> None:
    """The flow would have the offsets of the second mirror, and copy again what the first has copied."""
    mirror = a_mirror(tmp_path)
    other = copy.deepcopy(mirror)
    other["metadata"]["name"] = "mm3"
    seen = replace(facts(tmp_path, mirror), others=[mirror, other])
    plan = planned(seen, (), ["mm2", "mm3"])
    assert codes(plan) == ["mirrors-share-flow", "mirrors-share-flow"]
    stopped(other)
    stopped(mirror)
    plan = planned(deployed(seen, waits=True), (), ["mm3"])
    assert set(codes(plan)) == {"waits-for-another-mirror"}
    assert "--from kafka/mm2" in plan.problems[0].remedy


def test_a_mirror_that_copies_beside_its_running_flow_is_reported(tmp_path: Path) -> None:
    plan = planned(deployed(facts(tmp_path, a_mirror(tmp_path)), waits=False), (), ["mm2"])
    assert codes(plan) == ["copied-twice"]


def test_a_waiting_source_connector_is_stopped_and_selects_no_topic(tmp_path: Path) -> None:
    objects = snapshot(tmp_path / "flow", FLOW).objects("orders")
    source = waiting_for_offsets(objects["source-connector"], "KafkaMirrorMaker2 kafka/mm2")
    assert source["metadata"]["annotations"][ANNOTATION] == "KafkaMirrorMaker2 kafka/mm2"
    assert (source["spec"]["state"], source["spec"]["config"]["topics.exclude"]) == ("stopped", ".*")
    assert source["spec"]["config"]["heartbeats.replication.enabled"] == "false"
    checkpoint = waiting_for_offsets(objects["checkpoint-connector"], "x")
    assert checkpoint["spec"]["config"] == objects["checkpoint-connector"]["spec"]["config"]


@pytest.mark.parametrize("selected", ["logs", "logs-.*"])
def test_a_mirror_of_other_topics_is_not_moved(tmp_path: Path, selected: str) -> None:
    def narrowed(body: Manifest) -> None:
        body["spec"]["mirrors"][0]["topicsPattern"] = selected

    assert codes(plan_of(tmp_path, narrowed)) == ["nothing-to-move"]


@pytest.mark.parametrize("selected", [None, "${maps:kafka/names:topics}", "(?=orders).*"])
def test_a_mirror_whose_topics_cannot_be_compared_is_moved(tmp_path: Path, selected: str | None) -> None:
    def edited(body: Manifest) -> None:
        mirror = body["spec"]["mirrors"][0]
        mirror.pop("topicsPattern")
        mirror |= {} if selected is None else {"topicsPattern": selected}

    (move,) = plan_of(tmp_path, edited).moves.mirrors
    assert [flow.name for flow in move.flows] == ["orders"]


@pytest.mark.parametrize("enabled", [True, False])
def test_a_flow_without_heartbeats_is_reported_in_the_plan(tmp_path: Path, enabled: bool) -> None:
    keys = {**KEYS, "connectors": {"heartbeat": {"enabled": enabled}}}
    plan = plan_of(tmp_path, flow={"replications": {"orders": {"kind": "flow", **keys}}})
    printed = StringIO()
    print_plan(plan, Console(file=printed, width=1000))
    assert ("No heartbeats: orders." in printed.getvalue()) != enabled
