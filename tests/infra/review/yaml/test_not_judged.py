"""Changes that the review of a folder cannot judge. None of them may look like a change without an effect."""

import pytest

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.review.yaml.folder import Files
from kafka_replication.infra.review.yaml.report import comment_of, document_of, verdict_of
from kafka_replication.infra.review.yaml.review import review_files
from tests.infra.onboard.importing.resources import FLOW, MIRROR, edited
from tests.infra.review.yaml.folders import FOLDER, changed, codes, files, not_judged, reviewed

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: kafka}\nstringData: {password: hunter2}\n"
MM2 = "metadata: {name: mm2, namespace: kafka}"
SOURCE = "metadata: {name: source, namespace: kafka, labels: {strimzi.io/cluster: "
TOPICS, TWO = "topics: orders,payments\n", "replicas: 1\n  bootstrap"
APP = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {replicas: 1}\n"
CHART = "{{- if .Values.mirror }}\n" + MIRROR + "{{- end }}\n"


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        pytest.param(
            [("groupsPattern: shop", "groupPattern: shop2\n      groupsPattern: shop")],
            "mm2.yaml: KafkaMirrorMaker2 kafka/mm2: spec.mirrors[east].groupPattern: This command has no rule for this "
            "field.",
            id="misspelt field",
        ),
        pytest.param(
            [(MM2, f"{MM2[:-1]}, annotations: {{a: b}}}}")],
            "metadata.annotations.a: This command does not know",
            id="annotation",
        ),
        pytest.param(
            [(MM2, f"{MM2[:-1]}, annotations: {{strimzi.io/pause-reconciliation: 'true'}}}}")],
            "keeps the operator from acting",
            id="paused reconciliation",
        ),
        pytest.param(
            [('  annotations: {strimzi.io/use-connector-resources: "true"}\n', "")],
            "the operator ignores its KafkaConnectors",
            id="not managed",
        ),
        pytest.param(
            [("topicsPattern: stock", "topicsPattern: '{{ .Values.topics }}'")],
            "It is a template.",
            id="template that is YAML",
        ),
        pytest.param(
            [("topicsPattern: stock", "topicsPattern: ${TOPICS}")], "Another tool fills in `${TOPICS}`", id="variable"
        ),
        pytest.param(
            [("topicsPattern: stock", "topicsPattern: ${TOPICS:=x}")],
            "Another tool fills in `${TOPICS:=x}`",
            id="variable of Flux",
        ),
        pytest.param(
            [("kafka.strimzi.io/v1\nkind: KafkaMirrorMaker2", "kafka.strimzi.io/v1alpha1\nkind: KafkaMirrorMaker2")],
            "Operators since Strimzi 0.45",
            id="unsupported API version",
        ),
        pytest.param([("    alias: west\n", "    aliass: west\n")], "Strimzi requires this field", id="required field"),
        pytest.param(
            [("replicas: 1\n  target", "replicas: many\n  target")],
            "`spec.replicas`: It is not a whole number",
            id="wrong type",
        ),
        pytest.param(
            [(f"{SOURCE}workers}}", f"{SOURCE}other}}")], "`other` is not in the folder", id="workers elsewhere"
        ),
        pytest.param(
            [("MirrorSourceConnector", "OtherConnector")],
            ("It is not one of MirrorMaker's connectors."),
            id="other class",
        ),
    ],
)
def test_a_change_that_cannot_be_judged_is_reported_with_the_reason(edits: list[tuple[str, str]], reason: str) -> None:
    found = changed(*edits)
    assert any(reason in line for line in not_judged(found)), not_judged(found)
    assert "not judged" in verdict_of(found)
    assert "**Changed, and not judged: 1**" in comment_of(found)
    assert document_of(found)["judged"] is False


def test_an_object_that_cannot_be_judged_is_neither_added_nor_removed() -> None:
    assert not {code for _, code in codes(changed(("topicsPattern: stock", "topicsPattern: ${TOPICS}")))}


@pytest.mark.parametrize("text", [CHART, "a: [", "a: b: c\n"], ids=["a chart", "a list", "a colon"])
def test_an_unreadable_file_fails_the_review_and_the_fate_of_its_objects_is_unknown(text: str) -> None:
    found = reviewed(FOLDER, {**FOLDER, "mm2.yaml": text})
    assert found.has_errors
    assert not codes(found)
    lines = not_judged(found)
    assert any(line.startswith("mm2.yaml: : : It cannot be read") for line in lines)
    assert any("It is not known whether it is removed: `mm2.yaml` cannot be read" in line for line in lines)


def test_a_change_that_repairs_an_unreadable_file_passes_with_an_unknown_effect() -> None:
    found = reviewed({**FOLDER, "mm2.yaml": "a: ["}, FOLDER)
    assert not found.has_errors
    assert not codes(found)
    assert any("It could not be read before" in line for line in not_judged(found))
    assert verdict_of(found).startswith("It changes 1 object in `kafka`. Its effect is unknown")


def test_a_file_that_was_already_unreadable_is_named_and_does_not_fail_the_review() -> None:
    broken = {**FOLDER, "chart.yaml": CHART}
    found = reviewed(broken, {**broken, "mm2.yaml": FOLDER["mm2.yaml"].replace("stock", "stock,new")})
    assert not found.has_errors
    assert ("none", "topics-start") in codes(found)
    assert "chart.yaml" in comment_of(found)


def test_an_object_with_different_content_in_two_files_is_not_judged() -> None:
    overlay = MIRROR.replace("replicas: 1", "replicas: 2")
    both = {"base.yaml": MIRROR, "overlay.yaml": overlay}
    found = reviewed(both, {**both, "overlay.yaml": overlay.replace("topicsPattern: orders", "topicsPattern: none")})
    assert not codes(found)
    (line,) = not_judged(found)
    assert line.startswith("overlay.yaml: KafkaMirrorMaker2 kafka/mm2: spec.mirrors[east].topicsPattern")
    assert "`base.yaml`, `overlay.yaml` hold it with different content" in line


def test_two_equal_copies_of_an_object_count_as_one() -> None:
    both = {"a.yaml": MIRROR, "b.yaml": MIRROR}
    new = MIRROR.replace("topicsPattern: orders", "topicsPattern: none")
    found = reviewed(both, {"a.yaml": new, "b.yaml": new})
    assert ("data", "topics-stop") in codes(found)


def test_a_namespace_added_to_an_object_is_not_judged_unless_the_user_gives_it() -> None:
    without = MIRROR.replace(", namespace: kafka", "")
    explicit = MIRROR.replace("namespace: kafka", "namespace: default")
    assert "metadata.namespace" in not_judged(reviewed({"a.yaml": without}, {"a.yaml": explicit}))[0]
    same = reviewed({"a.yaml": without}, {"a.yaml": MIRROR}, "kafka")
    assert (codes(same), not_judged(same)) == (set(), [])


def test_a_changed_secret_is_named_and_its_values_are_never_shown() -> None:
    old = {**FOLDER, "secret.yaml": SECRET}
    found = reviewed(old, {**old, "secret.yaml": SECRET.replace("hunter2", "hunter3")})
    assert not_judged(found) == [
        "secret.yaml: Secret kafka/login: stringData.password: Connectors and workers may log in with it. "
        "Its values are not read."
    ]
    assert "hunter" not in f"{comment_of(found)}{document_of(found)}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TOPICS, f'{TOPICS}    source.cluster.sasl.jaas.config: x password="hunter2";\n'),
        (TOPICS, f"{TOPICS}    source.cluster.ssl.keystore.pasword: hunter2\n"),
        (TWO, f"jvmOptions: {{javaSystemProperties: [{{name: a, value: hunter2}}]}}\n  {TWO}"),
        (TWO, f"template: {{connectContainer: {{env: [{{name: A, value: hunter2}}]}}}}\n  {TWO}"),
        (MM2, f"{MM2[:-1]}, annotations: {{password: hunter2}}}}"),
    ],
    ids=["login", "misspelt", "system property", "variable", "annotation"],
)
def test_a_credential_in_an_object_is_never_shown(old: str, new: str) -> None:
    found = changed((old, new))
    assert found.objects
    assert "hunter2" not in f"{comment_of(found)}{document_of(found)}"


def test_a_copy_of_an_object_in_an_annotation_is_not_compared() -> None:
    """`kubectl` keeps the whole object there, including the values of a Secret."""
    marked = SECRET.replace(
        "name: login,", "name: login, annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2},"
    )
    found = reviewed({**FOLDER, "s.yaml": SECRET}, {**FOLDER, "s.yaml": marked})
    assert found.objects == ()


def test_fields_that_the_api_server_writes_are_not_a_change() -> None:
    exported = edited(MIRROR, ("namespace: kafka}", "namespace: kafka, uid: a, resourceVersion: '3', generation: 7}"))
    found = reviewed({"a.yaml": MIRROR}, {"a.yaml": f"{exported}status: {{observedGeneration: 7}}\n"})
    assert found.objects == ()


def test_objects_that_replication_does_not_depend_on_are_only_counted() -> None:
    old = {**FOLDER, "app.yaml": APP}
    found = reviewed(old, {**old, "app.yaml": APP.replace("replicas: 1", "replicas: 2")})
    assert (codes(found), not_judged(found), found.objects) == (set(), [], ())
    assert dict(found.beside) == dict(found.ignored) == {"Deployment": 1}
    assert "replication does not depend on them: 1 Deployment changed" in comment_of(found)


@pytest.mark.parametrize("kind", ["KafkaUser", "KafkaTopic", "ExternalSecret", "Kustomization", "RoleBinding"])
def test_a_change_of_a_kind_that_is_not_judged_is_reported(kind: str) -> None:
    text = f"apiVersion: kafka.strimzi.io/v1\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{a: b}}\n"
    found = reviewed({**FOLDER, "x.yaml": text}, {**FOLDER, "x.yaml": text.replace("a: b", "a: c")})
    (line,) = not_judged(found)
    assert line.startswith(f"x.yaml: {kind} x: spec.a: ")


def test_an_unchanged_kustomization_that_does_more_than_list_resources_is_named() -> None:
    text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [mm2.yaml]\n"
    assert reviewed({**FOLDER, "k.yaml": text}, {**FOLDER, "k.yaml": text}).unjudged_before == ()
    patched = {**FOLDER, "k.yaml": f"{text}namePrefix: a-\n"}
    (standing,) = reviewed(patched, patched).unjudged_before
    assert standing.file == "k.yaml"


def test_a_changed_link_or_template_is_reported_as_not_judged() -> None:
    before, after = files(FOLDER), files(FOLDER)
    found = review_files("kafka", "main", before, Files(after.read, {"_helpers.tpl": b"x"}), None)
    assert not_judged(found)[0].startswith("_helpers.tpl: (the file)")


def test_in_a_folder_that_did_not_exist_everything_is_added() -> None:
    found = reviewed({}, FOLDER)
    assert codes(found) == {("none", "replication-added")}
    assert "The folder did not exist at the base" in comment_of(found)


def test_removing_the_folder_removes_its_replication() -> None:
    found = reviewed(FOLDER, {})
    assert codes(found) == {("data", "replication-removed")}
    assert "`kubectl apply` leaves them running" in comment_of(found)


@pytest.mark.parametrize("texts", [{}, {"app.yaml": APP}, {"values.yaml": "a: b\n"}], ids=["empty", "app", "values"])
def test_a_folder_without_replication_cannot_be_reviewed(texts: dict[str, str]) -> None:
    with pytest.raises(CannotRunError, match="nothing-to-review"):
        reviewed(texts, texts)


def test_a_folder_with_another_operators_objects_names_them() -> None:
    """Otherwise the owner of a vendor's KafkaMirrorMaker2 reads that there is none."""
    vendors = {"mm2.yaml": MIRROR.replace("kafka.strimzi.io", "eventstreams.ibm.com")}
    with pytest.raises(CannotRunError, match=r"Its API group is `eventstreams\.ibm\.com`"):
        reviewed(vendors, vendors)


def test_a_folder_with_a_dedicated_mirrormaker_says_how_to_read_it() -> None:
    with pytest.raises(CannotRunError, match=r"`replicate import kafka/mm2\.config --out DIR` shows"):
        review_files("kafka", "main", files({}), files({}), None, ["kafka/mm2.config"])


def test_workers_with_only_a_heartbeat_connector_are_not_judged() -> None:
    beat = FLOW.split("\n---\n")[2].replace("Checkpoint", "Heartbeat").replace("name: checkpoint", "name: beat")
    connect = FLOW.split("\n---\n")[0].replace("workers", "beats")
    added = f"{connect}\n---\n{beat.replace('cluster: workers', 'cluster: beats')}"
    found = reviewed(FOLDER, {**FOLDER, "beat.yaml": added})
    assert len(not_judged(found)) == 2


def test_the_comment_on_a_huge_change_stays_within_the_limit_of_github() -> None:
    many = {f"{n}.yaml": MIRROR.replace("mm2", f"mm2-{n}").replace("orders", f"orders{n}") for n in range(150)}
    other = {name: text.replace("groupsPattern", "groupPattern") for name, text in many.items()}
    found = reviewed(many, other)
    assert len(found.unjudged) == 150
    assert len(comment_of(found)) < 65_536


def test_changed_values_of_a_chart_are_reported_as_not_judged() -> None:
    """They change the objects of a template, although the template cannot be read and did not change."""
    old = {**FOLDER, "chart/templates/mm2.yaml": CHART, "chart/values.yaml": "topics: orders\n"}
    found = reviewed(old, {**old, "chart/values.yaml": "topics: none\n"})
    (line,) = not_judged(found)
    assert line.startswith("chart/values.yaml: (the file): : It holds something that is not an object")
    assert verdict_of(found) == "It changes 0 objects in `kafka`. Its effect is unknown: **1 change is not judged.**"


def test_a_changed_git_lfs_pointer_is_reported_as_not_judged() -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n"
    found = reviewed({**FOLDER, "big.yaml": pointer}, {**FOLDER, "big.yaml": pointer.replace("aa", "bb")})
    assert len(not_judged(found)) == 1


@pytest.mark.parametrize(
    ("given", "changed_to"),
    [
        ("      heartbeatConnector: {tasksMax: 1}\n", "      heartbeatConnector: {tasksMax: 2}\n"),
        ("      topicsBlacklistPattern: a\n", "      topicsBlacklistPattern: b\n"),
    ],
)
def test_a_field_that_its_api_version_lacks_is_reported(given: str, changed_to: str) -> None:
    (reason,) = not_judged(reviewed({"mm2.yaml": MIRROR + given}, {"mm2.yaml": MIRROR + changed_to}))
    assert reason.endswith("The API `v1` has no such field: the API server refuses it or removes it.")
