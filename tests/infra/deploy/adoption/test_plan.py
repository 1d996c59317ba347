"""The plan of an adoption: what it says about each object, and what it refuses and why. No cluster is asked."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.flows.operators import PAUSE
from kafka_replication.components.render.planned_objects import Manifest
from kafka_replication.infra.deploy.adoption.facts import AdoptionFacts
from kafka_replication.infra.deploy.adoption.plan import AGREEMENTS, AdoptionPlan, Fate, planned
from kafka_replication.infra.deploy.adoption.text import document_of, print_plan
from kafka_replication.infra.kubernetes.managed_fields import FieldOwner
from kafka_replication.infra.review.object_changes import identity
from kafka_replication.infra.review.snapshots import Snapshot, current_snapshot
from tests.infra.review.changes import written
from tests.infra.review.served import an_entry, by_hand, in_cluster

Edit = Callable[[dict[str, Manifest]], None]
EXISTING = {"replications": {"orders": {"namespace": {"name": "mirror", "create": False}}}}


def declared(folder: Path, overrides: dict[str, Any] | None = None) -> Snapshot:
    return current_snapshot("test", written(folder / "stacks", overrides or {}))


def facts(
    snapshot: Snapshot, edit: Edit | None = None, *, manager: str = "kubectl-create", **more: Any
) -> AdoptionFacts:
    """Everything exists as declared, created by one tool."""

    def as_created_by_the_manager(objects: dict[str, Manifest]) -> None:
        for body in objects.values():
            body["metadata"]["managedFields"][0] |= {"manager": manager, "operation": "Update"}
            body.get("spec", {}).pop("defaulted", None)
        if edit is not None:
            edit(objects)

    live = {identity(each): each for each in in_cluster(snapshot, as_created_by_the_manager)}
    return replace(AdoptionFacts("test", snapshot, live, frozenset()), **more)


def codes(plan: AdoptionPlan) -> list[str]:
    return [each.code for each in plan.problems]


def fates(plan: AdoptionPlan) -> dict[str, Fate]:
    return {f"{each.object.kind} {each.object.name}": each.fate for each in plan.objects}


def test_objects_that_exist_as_declared_are_taken_over_without_an_agreement(tmp_path: Path) -> None:
    plan = planned(facts(declared(tmp_path)), ())
    assert (set(fates(plan).values()), plan.effects, plan.problems) == ({Fate.EQUAL}, (), ())
    assert len(plan.unmanaged) == len(plan.objects)
    assert not plan.is_done


def test_a_plan_is_done_if_pulumi_already_knows_every_object(tmp_path: Path) -> None:
    seen = facts(declared(tmp_path), manager="pulumi-kubernetes")
    plan = planned(replace(seen, known=frozenset(seen.live)), ())
    assert (plan.unmanaged, plan.problems, plan.is_done) == ((), (), True)


def test_only_objects_that_pulumi_does_not_know_yet_are_taken_over(tmp_path: Path) -> None:
    seen = facts(declared(tmp_path))
    known = frozenset(list(seen.live)[:3])
    plan = planned(replace(seen, known=known), ())
    assert len(plan.unmanaged) == len(plan.objects) - 3
    assert not plan.is_done


def test_a_changed_field_is_shown_with_both_values_and_its_restart_needs_an_agreement(tmp_path: Path) -> None:
    def edit(objects: dict[str, Manifest]) -> None:
        objects["source-connector"]["spec"]["tasksMax"] = 7

    plan = planned(facts(declared(tmp_path), edit), ())
    (changed,) = [each for each in plan.objects if each.fate is Fate.CHANGED]
    assert [(each.path, each.before, each.after) for each in changed.fields] == [("spec.tasksMax", 7, 3)]
    assert changed.owners == {
        FieldOwner("kubectl-create", "2026-01-02T03:04:05Z"): changed.owners[next(iter(changed.owners))]
    }
    assert [(each.code, each.severity) for each in plan.effects] == [("connector-restarts", Impact.RESTART)]
    (refusal,) = plan.refusals
    assert (refusal.problem.code, refusal.agreement) == ("not-agreed", "restart:orders")
    assert "pass `--agree restart:orders`" in refusal.problem.remedy


def test_an_agreement_allows_only_what_it_names(tmp_path: Path) -> None:
    def edit(objects: dict[str, Manifest]) -> None:
        objects["source-connector"]["spec"]["tasksMax"] = 7

    seen = facts(declared(tmp_path), edit)
    assert codes(planned(seen, ["restart:orders"])) == []
    other = planned(seen, ["restart:payments"])
    assert (codes(other), other.unused) == (["not-agreed"], ("restart:payments",))


def test_a_number_written_as_text_changes_the_object_and_restarts_nothing(tmp_path: Path) -> None:
    """Connect gets text in both cases."""

    def edit(objects: dict[str, Manifest]) -> None:
        config = objects["source-connector"]["spec"]["config"]
        config["offset.lag.max"] = str(config["offset.lag.max"])

    plan = planned(facts(declared(tmp_path), edit), ())
    assert [each.fate for each in plan.objects if each.fields] == [Fate.CHANGED]
    assert (plan.effects, plan.problems) == ((), ())


def test_undeclared_fields_are_removed_unless_the_operator_or_kubernetes_wrote_them(tmp_path: Path) -> None:
    def edit(objects: dict[str, Manifest]) -> None:
        source = objects["source-connector"]
        by_hand(source, "metadata", "annotations", "last", value='{"password":"hunter2"}')
        by_hand(source, "spec", "autoRestart", "maxRestarts", value=3)
        source["spec"]["defaulted"] = True
        source["metadata"]["annotations"]["strimzi.io/x"] = "y"
        fields: Any = {"f:metadata": {"f:annotations": {"f:strimzi.io/x": {}}}}
        source["metadata"]["managedFields"].append(an_entry("strimzi-cluster-operator", fields))

    plan = planned(facts(declared(tmp_path), edit), ())
    (changed,) = [each for each in plan.objects if each.fields]
    assert [(each.path, each.before, each.after) for each in changed.fields] == [
        ("metadata.annotations", {"last": "(not shown)"}, None),
        ("spec.autoRestart.maxRestarts", 3, None),
    ]


def test_labels_that_reach_the_pods_restart_the_workers(tmp_path: Path) -> None:
    def edit(objects: dict[str, Manifest]) -> None:
        objects["connect"]["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "kubectl"}

    plan = planned(facts(declared(tmp_path), edit), ())
    (effect,) = plan.effects
    assert (effect.code, effect.severity) == ("labels-roll", Impact.RESTART)
    assert "`app.kubernetes.io/part-of`" in effect.what
    assert "managed-by" not in effect.what


def test_removing_a_topic_needs_an_agreement_of_severity_data(tmp_path: Path) -> None:
    def edit(objects: dict[str, Manifest]) -> None:
        source = objects["source-connector"]["spec"]["config"]
        source["topics"] = "orders,payments-.*,ledger"

    plan = planned(facts(declared(tmp_path), edit), ())
    assert {each.agreement for each in plan.refusals} == {"data:orders", "restart:orders"}
    assert "topics-stop" in [each.code for each in plan.effects]


def test_a_config_map_that_would_be_replaced_needs_an_agreement(tmp_path: Path) -> None:
    def edit(objects: dict[str, Manifest]) -> None:
        objects["source-config"]["immutable"] = False

    seen = facts(declared(tmp_path), edit)
    plan = planned(seen, ())
    (replaced,) = [each.object for each in plan.objects if each.fate is Fate.REPLACED]
    assert codes(plan) == ["would-be-replaced"]
    assert codes(planned(seen, [f"replaced:{replaced.name}"])) == []


@pytest.mark.parametrize(
    ("manager", "agreement", "remedy"),
    [
        ("argocd-controller", "released:argocd", "--cascade=orphan"),
        ("kustomize-controller", "released:kustomize-controller", "`prune: false`"),
        ("helm-controller", "released:helm-controller", "flux suspend helmrelease"),
        ("pulumi-kubernetes-1a2b", "released:pulumi-kubernetes", "pulumi state delete"),
    ],
)
def test_objects_of_another_deployer_are_refused_until_a_user_agrees_that_it_released_them(
    tmp_path: Path, manager: str, agreement: str, remedy: str
) -> None:
    seen = facts(declared(tmp_path), manager=manager)
    (refusal,) = planned(seen, ()).refusals
    assert refusal.agreement == agreement
    assert remedy in refusal.problem.remedy
    assert f"pass `--agree {agreement}`" in refusal.problem.remedy
    assert codes(planned(seen, [agreement])) == []
    assert codes(planned(replace(seen, known=frozenset(seen.live)), ())) == [], "it is this stack's own"


@pytest.mark.parametrize("place", ["labels", "annotations"])
def test_a_label_or_annotation_of_argo_cd_is_enough_to_refuse_an_object(tmp_path: Path, place: str) -> None:
    """Argo CD may have applied the object as `kubectl` does, so that no field manager shows it."""

    def edit(objects: dict[str, Manifest]) -> None:
        objects["connect"]["metadata"].setdefault(place, {})["argocd.argoproj.io/instance"] = "mirrors"

    assert "gitops-manages" in codes(planned(facts(declared(tmp_path), edit), ()))


def marked(key: str, value: Any) -> Edit:
    def edit(objects: dict[str, Manifest]) -> None:
        objects["connect"]["metadata"][key] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "code", "words"),
    [
        (marked("deletionTimestamp", "2026-01-02T00:00:00Z"), "being-deleted", "deletion at 2026-01-02T00:00:00Z"),
        (marked("ownerReferences", [{"kind": "Mirror", "name": "m"}]), "owned-by-object", "belongs to Mirror m"),
        (
            marked("annotations", {PAUSE: "true", "strimzi.io/use-connector-resources": "true"}),
            "reconciliation-held",
            "-n mirror-orders strimzi.io/pause-reconciliation-`",
        ),
    ],
)
def test_an_object_that_cannot_be_taken_over_is_refused_despite_every_agreement(
    tmp_path: Path, edit: Edit, code: str, words: str
) -> None:
    plan = planned(facts(declared(tmp_path), edit), [f"{each}:orders" for each in AGREEMENTS])
    (problem,) = plan.problems
    assert (problem.code, problem.where) == (code, "KafkaConnect mirror-orders/orders")
    assert words in str(problem)


def test_a_secret_that_already_exists_is_refused(tmp_path: Path) -> None:
    login = {"type": "scram-sha-512", "username": "mirror", "password": {"config": "password"}}
    clusters = {"useast": {"authentication": None}, "uswest": {}}
    stacks = written(tmp_path / "plain", {"clusters": clusters})
    topology = stacks / "topologies" / "test.yaml"
    topology.write_text(topology.read_text().replace("useast:\n", f"useast:\n    authentication: {login!r}\n", 1))
    snapshot = current_snapshot("test", stacks)
    (problem,) = planned(facts(snapshot), ()).problems
    assert problem.code == "secret-exists"
    assert "`{secret: NAME, key: KEY}`" in problem.remedy


def test_a_kind_that_is_not_served_and_a_missing_namespace_are_refused(tmp_path: Path) -> None:
    seen = facts(declared(tmp_path, EXISTING), without_namespace=frozenset({"mirror"}))
    plan = planned(replace(seen, not_served=frozenset({("kafka.strimzi.io/v1", "KafkaUser")})), ())
    assert codes(plan) == ["kind-not-served", "namespace-missing"]
    assert "kubectl create namespace mirror" in plan.problems[1].remedy


def test_a_deployment_that_cannot_be_compared_has_the_severity_data(tmp_path: Path) -> None:
    """It must not look unchanged."""

    def edit(objects: dict[str, Manifest]) -> None:
        del objects["connect"]["spec"]["bootstrapServers"]

    plan = planned(facts(declared(tmp_path), edit), ())
    assert "not-compared" in [each.code for each in plan.effects if each.severity is Impact.DATA]


def test_planning_does_not_change_the_live_objects(tmp_path: Path) -> None:
    seen = facts(declared(tmp_path), lambda each: by_hand(each["connect"], "spec", "replicas", value=1))
    before = copy.deepcopy(seen.live)
    planned(seen, ())
    assert seen.live == before


def test_the_json_document_holds_the_plan_and_no_credential(tmp_path: Path) -> None:
    def edit(objects: dict[str, Manifest]) -> None:
        objects["source-connector"]["spec"]["tasksMax"] = 7
        objects["source-connector"]["spec"]["config"]["ssl.keystore.password"] = "hunter2"

    plan = planned(facts(declared(tmp_path), edit), ("restart:none",))
    document = json.loads(json.dumps(document_of(plan)))
    assert (document["stack"], document["done"], document["carriedOut"], document["changes"]) == (
        "test",
        False,
        False,
        {},
    )
    assert len(document["objects"]) == len(plan.objects)
    (changed,) = [each for each in document["objects"] if each["fate"] == "changed"]
    assert {"path": "spec.tasksMax", "before": 7, "after": 3} in changed["fields"]
    assert changed["owners"][0]["manager"] == "kubectl-create"
    assert [(each["code"], each["agreement"]) for each in document["refusals"]] == [("not-agreed", "restart:orders")]
    assert document["unusedAgreements"] == ["restart:none"]
    assert "hunter2" not in json.dumps(document)


def test_a_taken_namespace_is_kept_only_by_a_change_before_the_adoption(tmp_path: Path) -> None:
    printed = StringIO()
    print_plan(planned(facts(declared(tmp_path)), ()), Console(file=printed, width=1000))
    before, _, after = printed.getvalue().partition("before you adopt. ")
    assert "set `namespace: {create: false}` (`createNamespaces: false` for a pair)" in before
    assert "After the adoption, that change would make `replicate up` delete the namespace." in after
