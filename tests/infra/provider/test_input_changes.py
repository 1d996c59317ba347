"""What a change of inputs means: a wrong answer here deletes an object that a flow still reads."""

from typing import Any

import pytest

from kafka_replication.infra.local.provider.manifests import UNKNOWN, Edit, InputChange, InputChanges, compare


def an_object(kind: str = "KafkaConnect", api_version: str = "kafka.strimzi.io/v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": "orders", "namespace": "mirror", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def a_config_map(**fields: Any) -> dict[str, Any]:
    return an_object("ConfigMap", "v1", **fields)


def test_equal_inputs_are_no_change() -> None:
    assert compare(an_object(spec={"replicas": 1}), an_object(spec={"replicas": 1})) == InputChanges((), False)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"replicas": 1}, {"replicas": 2}, InputChange("spec.replicas", Edit.UPDATE, False), id="changed"),
        pytest.param({}, {"version": "4.2.0"}, InputChange("spec.version", Edit.ADD, False), id="added"),
        pytest.param({"version": "4.2.0"}, {}, InputChange("spec.version", Edit.DELETE, False), id="removed"),
        pytest.param(
            {"config": {"offset.lag.max": 1}},
            {"config": {"offset.lag.max": 2}},
            InputChange('spec.config["offset.lag.max"]', Edit.UPDATE, False),
            id="key-with-dots-is-quoted",
        ),
        pytest.param({"a": ["x"]}, {"a": ["x", "y"]}, InputChange("spec.a[1]", Edit.ADD, False), id="longer-list"),
        pytest.param({"a": ["x", "y"]}, {"a": ["x"]}, InputChange("spec.a[1]", Edit.DELETE, False), id="shorter-list"),
        pytest.param(
            {"a": UNKNOWN},
            {"a": UNKNOWN},
            InputChange("spec.a", Edit.UPDATE, False),
            id="unknown-is-changed",
        ),
    ],
)
def test_a_changed_property_is_named_by_its_path(old: Any, new: Any, expected: InputChange) -> None:
    assert compare(an_object(spec=old), an_object(spec=new)) == InputChanges((expected,), False)


@pytest.mark.parametrize(
    ("old", "new", "path", "deleted_first"),
    [
        pytest.param(an_object(), an_object(metadata={"name": "ledger"}), "metadata.name", False, id="renamed"),
        pytest.param(
            an_object(), an_object(metadata={"namespace": "other"}), "metadata.namespace", False, id="other-namespace"
        ),
        pytest.param(an_object(), an_object("KafkaBridge"), "kind", False, id="other-kind"),
        pytest.param(an_object(), an_object(api_version="example.com/v1"), "apiVersion", False, id="other-group"),
        pytest.param(
            a_config_map(data={"a": "1"}), a_config_map(data={"a": "2"}), "data.a", True, id="config-map-data"
        ),
        pytest.param(a_config_map(immutable=True), a_config_map(), "immutable", True, id="no-longer-immutable"),
        pytest.param(
            an_object("Secret", "v1", type="Opaque"),
            an_object("Secret", "v1", type="other"),
            "type",
            True,
            id="secret-type",
        ),
        pytest.param(
            an_object("RoleBinding", "rbac.authorization.k8s.io/v1", roleRef={"name": "a"}),
            an_object("RoleBinding", "rbac.authorization.k8s.io/v1", roleRef={"name": "b"}),
            "roleRef.name",
            True,
            id="role-of-a-binding",
        ),
    ],
)
def test_a_change_that_the_api_server_would_refuse_replaces_the_object(
    old: dict[str, Any], new: dict[str, Any], path: str, deleted_first: bool
) -> None:
    found = compare(old, new)
    assert [change.path for change in found.changes if change.replaces] == [path]
    assert found.delete_before_replace is deleted_first


def test_another_version_of_the_same_group_is_the_same_object() -> None:
    found = compare(an_object(api_version="kafka.strimzi.io/v1beta2"), an_object())
    assert found == InputChanges((InputChange("apiVersion", Edit.UPDATE, False),), False)


def test_metadata_that_is_not_known_yet_replaces_the_object() -> None:
    """The name may change. Otherwise the engine would keep the objects of a namespace that it replaces."""
    assert any(change.replaces for change in compare(an_object(), {**an_object(), "metadata": UNKNOWN}).changes)


def test_a_label_alone_replaces_nothing() -> None:
    compared = compare(a_config_map(), a_config_map(metadata={"labels": {"a": "b"}}))
    assert not any(change.replaces for change in compared.changes)
