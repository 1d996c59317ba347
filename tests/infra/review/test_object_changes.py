"""Changes between two objects: list entries are matched as Kubernetes matches them, and no credential is shown."""

from typing import Any

from kafka_replication.components.render.deployments import flow_objects
from kafka_replication.infra.review.object_changes import ChangeKind, FieldChange, field_changes, object_changes
from kafka_replication.infra.review.snapshots import Objects
from tests.builders import a_resolved_flow


def objects_of_a_flow(**overrides: Any) -> Objects:
    return {planned.key: planned.manifest for planned in flow_objects(a_resolved_flow(**overrides))}


def spec_changes(before: Any, after: Any) -> list[FieldChange]:
    return list(field_changes({"spec": before}, {"spec": after}))


def test_entries_of_a_list_are_matched_by_name() -> None:
    before = {"env": [{"name": "a", "key": 1}, {"name": "b", "key": 2}]}
    after = {"env": [{"name": "b", "key": 3}, {"name": "c", "key": 4}]}
    assert spec_changes(before, after) == [
        FieldChange("spec.env[a]", {"name": "a", "key": 1}, None),
        FieldChange("spec.env[b].key", 2, 3),
        FieldChange("spec.env[c]", None, {"name": "c", "key": 4}),
    ]


def test_mirrors_of_both_api_versions_are_matched_by_their_source() -> None:
    for end in ({"source": {"alias": "useast"}}, {"sourceCluster": "useast"}):
        first, second = ({"mirrors": [{**end, "topicsPattern": topics}]} for topics in ("a", "b"))
        assert spec_changes(first, second) == [FieldChange("spec.mirrors[useast].topicsPattern", "a", "b")]


def test_entries_without_a_name_are_added_and_removed() -> None:
    assert spec_changes({"verbs": ["get", "list"]}, {"verbs": ["get", "watch"]}) == [
        FieldChange("spec.verbs[]", "list", None),
        FieldChange("spec.verbs[]", None, "watch"),
    ]


def test_list_entries_in_another_order_are_a_change() -> None:
    assert spec_changes({"a": [1, 2]}, {"a": [2, 1]}) == [FieldChange("spec.a[]", [1, 2], [2, 1])]
    assert spec_changes({"a": [{"name": "x"}, {"name": "y"}]}, {"a": [{"name": "y"}, {"name": "x"}]}) == [
        FieldChange("spec.a[]", "x, y", "y, x")
    ]


def test_a_credential_in_plain_text_is_not_shown() -> None:
    config = {"config": {"producer.override.sasl.jaas.config": "password=hunter2", "linger.ms": 5}}
    (change,) = spec_changes(config, {"config": {"linger.ms": 5}})
    assert (change.before, change.after) == ("(not shown)", None)
    env = {"template": {"connectContainer": {"env": [{"name": "KEY", "value": "hunter2"}]}}}
    (change,) = spec_changes({}, env)
    assert "hunter2" not in str(change)
    (change,) = spec_changes({"build": {"pushSecret": "push", "url": "https://me:hunter2@example.com/a.jar"}}, {})
    assert change.before == {"pushSecret": "push", "url": "(not shown)"}


def test_a_reference_to_a_credential_is_shown() -> None:
    before, after = ({"config": {"sasl.jaas.config": f"${{secret:a/b:{key}}}"}} for key in ("x", "y"))
    assert spec_changes(before, after) == [
        FieldChange("spec.config.sasl.jaas.config", "${secret:a/b:x}", "${secret:a/b:y}")
    ]


def test_a_config_map_with_other_content_is_replaced_and_keeps_its_role() -> None:
    changes = list(object_changes("orders", objects_of_a_flow(), objects_of_a_flow(topics=["orders"])))
    (replaced,) = [change for change in changes if change.change is ChangeKind.REPLACED]
    assert replaced.key == "replication-config"
    assert [field.path for field in replaced.fields] == ["metadata.name", "data.topics"]


def test_an_object_in_another_namespace_is_replaced() -> None:
    changes = object_changes("orders", objects_of_a_flow(), objects_of_a_flow(namespace={"name": "replication"}))
    assert {change.change for change in changes} == {ChangeKind.REPLACED}


def test_another_api_version_changes_the_object_in_place() -> None:
    before, after = objects_of_a_flow(strimzi="0.50"), objects_of_a_flow(strimzi="0.48")
    kinds = {change.key: change.change for change in object_changes("orders", before, after)}
    assert kinds["connect"] is ChangeKind.CHANGED


def test_equal_objects_do_not_change() -> None:
    assert list(object_changes("orders", objects_of_a_flow(), objects_of_a_flow())) == []
