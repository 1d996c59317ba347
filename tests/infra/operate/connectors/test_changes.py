"""What pausing, stopping, resuming and restarting change, and what is refused. Needs no cluster."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kafka_replication.components.contract.problems import RefusedError
from kafka_replication.components.contract.temporary_states import (
    ANNOTATION,
    TemporaryState,
    annotation_value,
    temporary_states,
)
from kafka_replication.components.flows.resolved import resolve_flows
from kafka_replication.components.topology.parsing import parse_topology
from kafka_replication.infra.kubernetes.api import Object, Reference
from kafka_replication.infra.operate.connectors.changes import (
    ConnectorChange,
    ConnectorPlace,
    ConnectorRestart,
    StateRequest,
    concerned,
    connector_places,
    disowned,
    planned,
    planned_restarts,
)
from kafka_replication.infra.operate.status.kubernetes_facts import connector_facts
from tests.builders import a_cluster, a_resolved_flow, a_topology

NOW = datetime(2026, 1, 31, 2, 10, tzinfo=UTC)
UNTIL = NOW + timedelta(hours=1)
PLACES = connector_places(a_resolved_flow())
SOURCE = PLACES[0]
Edit = Callable[[Object], object]


def a_request(state: str = "paused", **given: Any) -> StateRequest:
    return StateRequest(**{"stack": "prod", "flow": "orders", "state": state, "by": "ann", "now": NOW, **given})


def a_connector(place: ConnectorPlace, edit: Edit = lambda _: None) -> Object:
    """A KafkaConnector as the API server has it, edited in place."""
    body: Object = {
        "kind": "KafkaConnector",
        "metadata": {"name": place.name, "resourceVersion": "7", "generation": 1, "annotations": {"kept": "yes"}},
        "spec": {"state": "running"},
        "status": {
            "observedGeneration": 1,
            "connectorStatus": {
                "name": place.name,
                "connector": {"state": "RUNNING"},
                "tasks": [{"id": 0, "state": "RUNNING"}, {"id": 1, "state": "RUNNING"}],
            },
        },
    }
    edit(body)
    return body


def live(edit: Edit = lambda _: None) -> dict[Reference, Object]:
    """Every connector of the flow; `edit` changes the source connector."""
    return {place.resource: a_connector(place, edit if place is SOURCE else lambda _: None) for place in PLACES}


def announce(body: Object, by: str = "ann", state: str = "paused", before: str = "running") -> None:
    body["spec"]["state"] = state
    said = TemporaryState("orders", state, by, NOW - timedelta(minutes=5), None, before=before)
    body["metadata"]["annotations"][ANNOTATION] = annotation_value({body["metadata"]["name"]: said})


def applied(change: ConnectorChange, body: Object) -> Object:
    """The object after a JSON patch, as far as these patches go."""
    result = json.loads(json.dumps(body))
    for operation in change.patch:
        *path, last = (step.replace("~1", "/") for step in operation["path"].split("/")[1:])
        place = result
        for step in path:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[last] = operation["value"]
    return dict(result)


def test_an_announcement_ends_when_somebody_restores_the_state() -> None:
    """`up --refresh` restores the state and leaves the annotation."""
    flow, objects = a_resolved_flow(), live(announce)
    shown = connector_facts(flow, objects)
    objects[SOURCE.resource]["spec"]["state"] = "running"
    restored = connector_facts(flow, objects)
    assert [each[0].temporary is None for each in (shown, restored) if isinstance(each, tuple)] == [False, True]


def test_a_pause_sets_the_state_and_announces_who_paused_until_when() -> None:
    before = live()[SOURCE.resource]
    (change,) = planned(a_request(until=UNTIL), [SOURCE], live())
    after = applied(change, before)
    assert after["spec"]["state"] == "paused"
    assert after["metadata"]["annotations"]["kept"] == "yes"
    assert temporary_states(after) == {
        SOURCE.name: TemporaryState("orders", "paused", "ann", NOW, UNTIL, before="running")
    }
    assert change.states == {SOURCE: "paused"}


def test_a_patch_applies_only_to_the_resource_version_that_was_read() -> None:
    (change,) = planned(a_request(), [SOURCE], live())
    assert change.patch[0] == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}


def test_resuming_restores_the_previous_state_and_removes_the_announcement() -> None:
    found = live(lambda body: announce(body, before="stopped"))
    (change,) = planned(a_request("running"), [SOURCE], found)
    after = applied(change, found[SOURCE.resource])
    assert (after["spec"]["state"], temporary_states(after)) == ("stopped", {})
    assert ANNOTATION not in after["metadata"]["annotations"]


def test_stopping_a_paused_connector_remembers_the_state_before_the_pause() -> None:
    found = live(announce)
    (change,) = planned(a_request("stopped"), [SOURCE], found)
    assert temporary_states(applied(change, found[SOURCE.resource]))[SOURCE.name].before == "running"


def test_the_end_of_ones_own_pause_can_be_moved() -> None:
    found = live(announce)
    (change,) = planned(a_request(until=UNTIL), [SOURCE], found)
    assert temporary_states(applied(change, found[SOURCE.resource]))[SOURCE.name].until == UNTIL


def by_kubectl(body: Object) -> None:
    body["spec"]["state"] = "paused"
    fields: Object = {"f:spec": {"f:state": {}}}
    body["metadata"]["managedFields"] = [{"manager": "kubectl-edit", "time": "t", "fieldsV1": fields}]


def by_the_topology(body: Object) -> None:
    by_kubectl(body)
    body["metadata"]["managedFields"][0]["manager"] = "pulumi-kubernetes"


def annotated(**annotations: str) -> Edit:
    names = {"pause": "strimzi.io/pause-reconciliation", "offsets": "strimzi.io/connector-offsets"}
    return lambda body: body["metadata"]["annotations"].update({names[key]: each for key, each in annotations.items()})


@pytest.mark.parametrize(
    ("state", "edit", "code", "said"),
    [
        ("paused", announce, "already-in-state", "orders-source is paused: paused by ann at 02:05Z on 2026-01-31"),
        ("running", lambda _: None, "already-in-state", "orders-source is running"),
        ("running", lambda body: announce(body, "bob"), "state-of-another", "ask bob, or add `--take-over`"),
        ("stopped", lambda body: announce(body, "bob"), "state-of-another", "paused by bob"),
        ("running", by_kubectl, "state-not-announced", "It was set by kubectl-edit and not announced"),
        ("running", by_the_topology, "state-not-announced", "The topology declares this state"),
        ("paused", annotated(pause="true"), "reconciliation-paused", "the operator does not act on orders-source"),
        ("stopped", annotated(offsets="reset"), "offsets-armed", "The operator changes the offsets as soon as"),
    ],
    ids=[
        "already paused", "already running", "resume another's pause", "stop another's pause",
        "set by hand", "declared in the topology", "reconciliation paused", "offsets armed",
    ],
)  # fmt: skip
def test_a_change_that_does_not_fit_the_connectors_state_is_refused(
    state: str, edit: Edit, code: str, said: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        planned(a_request(state), PLACES[:1], live(edit))
    assert caught.value.code == code
    assert said in str(caught.value)


def test_nothing_is_planned_if_one_of_several_connectors_is_refused() -> None:
    with pytest.raises(RefusedError, match="already-in-state"):
        planned(a_request(), PLACES, live(announce))


@pytest.mark.parametrize("edit", [lambda body: announce(body, "bob"), by_kubectl], ids=["another's", "by hand"])
def test_a_state_that_somebody_else_set_can_be_taken_over(edit: Edit) -> None:
    (change,) = planned(a_request("running", take_over=True), [SOURCE], live(edit))
    assert change.states == {SOURCE: "running"}


def test_the_offsets_annotation_list_does_not_prevent_a_stop() -> None:
    assert planned(a_request("stopped"), [SOURCE], live(annotated(offsets="list")))


def test_without_names_a_pause_selects_what_runs_and_a_resume_what_was_announced() -> None:
    assert concerned(a_request(), PLACES, live(announce)) == PLACES[1:]
    assert concerned(a_request("running"), PLACES, live(announce)) == (SOURCE,)
    assert concerned(a_request("running"), PLACES, live()) == PLACES


def _source(strimzi: str, alias: str) -> Object:
    return {"sourceCluster": alias} if strimzi == "0.45" else {"source": {"alias": alias}}


@pytest.mark.parametrize("strimzi", ["1.2", "0.45"])
def test_connectors_of_one_kafka_mirror_maker2_change_in_one_patch(strimzi: str) -> None:
    clusters = {"useast": a_cluster(), "eu": a_cluster("eu-west-1"), "uswest": a_cluster("us-west-2")}
    sources = {"eu": {"topics": ["a"], "groups": ["g"]}, "useast": {"topics": ["b"], "groups": ["g"]}}
    mirror = {"kind": "mirrorMaker2", "target": "uswest", "sources": sources}
    topology = parse_topology(a_topology(mirror, "all", clusters, strimzi=strimzi))
    flow = next(each for each in resolve_flows(topology, None, {}) if each.settings.source == "useast")
    places = [place for place in connector_places(flow) if place.resource.kind == "KafkaMirrorMaker2"][:2]
    mirrors: list[Object] = [
        {**_source(strimzi, name), "sourceConnector": {"state": "running"}, "checkpointConnector": {}}
        for name in sources
    ]
    body: Object = {
        "kind": "KafkaMirrorMaker2",
        "metadata": {"name": "all", "resourceVersion": "7"},
        "spec": {"mirrors": mirrors},
    }
    (change,) = planned(a_request("stopped"), places, {places[0].resource: body})
    after = applied(change, body)
    assert after["spec"]["mirrors"][0] == mirrors[0]
    assert [after["spec"]["mirrors"][1][f"{place.role}Connector"]["state"] for place in places] == ["stopped"] * 2
    assert set(temporary_states(after)) == {place.name for place in places}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"a": {}}',
        '{"a": {"state": "paused", "by": "b", "at": "c"}}',
        # To resume it would start a connector whose earlier state is not known.
        '{"a": {"flow": "orders", "state": "paused", "by": "b", "at": "2026-01-31T02:10:00+00:00"}}',
    ],
)
def test_an_annotation_that_cannot_be_read_announces_nothing(text: str) -> None:
    assert temporary_states({"metadata": {"annotations": {ANNOTATION: text}}}) == {}


def fail(body: Object) -> None:
    body["status"]["connectorStatus"]["tasks"][1] = {"id": 1, "state": "FAILED", "trace": "a.B: broken"}


def titles(edit: Edit, **given: Any) -> list[str]:
    return [each.title for each in planned_restarts([SOURCE], live(edit), **{"named": False, **given})]


def test_without_a_connector_name_only_failed_tasks_are_restarted() -> None:
    assert titles(fail) == ["orders-source task 1"]


def test_a_named_connector_restarts_with_its_tasks() -> None:
    """The annotation for a connector leaves its tasks as they are."""
    assert titles(fail, named=True) == ["orders-source", "orders-source task 0", "orders-source task 1"]
    assert titles(fail, named=True, task=0) == ["orders-source task 0"]


@pytest.mark.parametrize(
    ("edit", "given", "code", "said"),
    [
        (lambda _: None, {}, "nothing-failed", "add `--connector NAME`; the connectors are orders-source."),
        (fail, {"task": 7, "named": True}, "unknown-task", "The tasks that the operator reports are: 0, 1."),
        (announce, {"named": True}, "not-running", "orders-source is paused"),
        (
            lambda body: body["metadata"]["annotations"].update({"strimzi.io/restart": "true"}),
            {"named": True},
            "restart-pending",
            "was already requested",
        ),
    ],
    ids=["nothing failed", "no such task", "paused", "already requested"],
)
def test_a_restart_that_makes_no_sense_is_refused(edit: Edit, given: dict[str, Any], code: str, said: str) -> None:
    with pytest.raises(RefusedError) as caught:
        titles(edit, **given)
    assert caught.value.code == code
    assert said in str(caught.value)


def test_restarts_use_the_annotations_of_strimzi() -> None:
    mirror = ConnectorPlace("a->b.MirrorSourceConnector", "source", Reference("v", "KafkaMirrorMaker2", "ns", "m"))
    restarts = [
        ConnectorRestart(mirror),
        ConnectorRestart(mirror, 0),
        ConnectorRestart(SOURCE),
        ConnectorRestart(SOURCE, 0),
    ]
    assert [each.annotation for each in restarts] == [
        ("strimzi.io/restart-connector", mirror.name),
        ("strimzi.io/restart-connector-task", f"{mirror.name}:0"),
        ("strimzi.io/restart", "true"),
        ("strimzi.io/restart-task", "0"),
    ]


def test_the_command_gives_up_the_fields_that_it_managed() -> None:
    body = a_connector(SOURCE)
    ours = {"manager": "kafka-replication", "operation": "Update"}
    body["metadata"]["managedFields"] = [ours, {**ours, "subresource": "status"}, {"manager": "pulumi-kubernetes"}]
    kept = disowned(body, "kafka-replication")[-1]["value"]
    assert kept == [{**ours, "subresource": "status"}, {"manager": "pulumi-kubernetes"}]
