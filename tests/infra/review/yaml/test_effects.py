"""The effects that the review of a folder reports. Without these tests a harmful pull request looks harmless."""

import re

import pytest

from tests.infra.onboard.importing.resources import FLOW, MIRROR, OLD_MIRROR, edited
from tests.infra.review.yaml.folders import FOLDER, changed, codes, edited_files, not_judged, reviewed

RESTART = ("restart", "connector-restarts")
ROLLS = ("restart", "connect-rolls")
OLD = {"old.yaml": OLD_MIRROR}
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        pytest.param(
            [("topics: orders,payments\n", "topics: orders\n")], {("data", "topics-stop"), RESTART}, id="topics"
        ),
        pytest.param(
            [("topicsPattern: stock", "topicsPattern: stock,new")], {("none", "topics-start"), RESTART}, id="new"
        ),
        pytest.param(
            [("groups: shop\n", "groups: other\n")],
            {("data", "groups-stop"), ("none", "groups-start"), RESTART},
            id="groups",
        ),
        pytest.param(
            [
                (
                    "# of the checkpoint connector\n",
                    f"# of it\n    replication.policy.class: {IDENTITY}\n",
                )
            ],
            {("data", "groups-stop"), RESTART},
            id="policy of the checkpoint connector alone",
        ),
        pytest.param([("groupId: workers\n", "groupId: others\n")], {("re-read", "worker-group-changes")}, id="group"),
        pytest.param(
            [("offsetStorageTopic: mm2-offsets", "offsetStorageTopic: new")],
            {("re-read", "worker-group-changes")},
            id="offsets",
        ),
        pytest.param([("configStorageTopic: mm2-configs", "configStorageTopic: new")], {ROLLS}, id="configs topic"),
        pytest.param(
            [("  statusStorageTopic: workers-status", "  statusStorageTopic: new")], {ROLLS}, id="status topic"
        ),
        pytest.param(
            [("metadata: {name: source, namespace", "metadata: {name: copies, namespace")],
            {("re-read", "connector-renamed")},
            id="renamed connector",
        ),
        pytest.param([("groupsPattern: shop", "groupsPattern: shop # the same")], set(), id="comment"),
        pytest.param([("tasksMax: 2\n  config", "tasksMax: 3\n  config")], {RESTART}, id="tasks"),
        pytest.param(
            [("sourceConnector: {tasksMax: 2}", "sourceConnector: {tasksMax: 2, state: stopped}")],
            {("data", "connector-stops")},
            id="stopped",
        ),
        pytest.param(
            [("sourceConnector: {tasksMax: 2}", "sourceConnector: {tasksMax: 2, autoRestart: {enabled: true}}")],
            {("none", "auto-restart-changes")},
            id="auto-restart",
        ),
        pytest.param(
            [("source: {alias: east", "source: {alias: east1")], {("data", "source-alias-changes")}, id="alias"
        ),
        pytest.param(
            [("metadata: {name: mm2, namespace: kafka}", "metadata: {name: mm2, namespace: kafka, labels: {a: b}}")],
            {ROLLS},
            id="label",
        ),
        pytest.param(
            [("version: 4.2.0\n  replicas: 1\n  target", "version: 4.1.0\n  replicas: 1\n  target")],
            {ROLLS},
            id="version",
        ),
    ],
)
def test_a_change_is_reported_with_its_effects(edits: list[tuple[str, str]], wanted: set[tuple[str, str]]) -> None:
    found = changed(*edits)
    assert codes(found) >= wanted
    assert bool(codes(found)) == bool(wanted)
    assert not_judged(found) == []


def test_setting_a_key_to_its_default_restarts_the_connector_and_names_the_key() -> None:
    found = changed(
        ("topics: orders,payments\n", "topics: orders,payments\n    refresh.topics.interval.seconds: 600\n")
    )
    (effect,) = found.effects
    assert (effect.code, effect.flow, effect.where) == ("connector-restarts", "workers", "flow.yaml")
    assert effect.what == "1 connector restarts: `source` (`refresh.topics.interval.seconds`)"


def test_moving_or_splitting_a_file_changes_nothing() -> None:
    first, *rest = FLOW.split("\n---\n")
    found = reviewed(FOLDER, {"a/workers.yml": first, "b.json": "\n---\n".join(rest), "z.yaml": FOLDER["mm2.yaml"]})
    assert found.objects == ()
    assert (codes(found), not_judged(found)) == (set(), [])


def test_renamed_workers_that_keep_their_group_only_restart() -> None:
    renamed = FLOW.replace("name: workers\n", "name: others\n").replace("cluster: workers}", "cluster: others}")
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": renamed})
    assert ("restart", "workers-renamed") in codes(found)
    assert not {severity for severity, _ in codes(found)} & {"re-read", "data"}


def test_resources_of_one_name_in_two_namespaces_are_compared_separately() -> None:
    other = (
        MIRROR.replace("namespace: kafka", "namespace: other")
        .replace("mm2-", "o-")
        .replace("groupId: mm2", "groupId: o")
    )
    other = other.replace("alias: east, bootstrapServers: 'east:9092'", "alias: south, bootstrapServers: 'south:9092'")
    found = reviewed({"a.yaml": MIRROR, "b.yaml": other}, {"b.yaml": other})
    assert codes(found) == {("data", "replication-removed")}


def test_a_mirror_that_becomes_a_flow_copies_everything_again() -> None:
    flow = FLOW.replace("topics: orders,payments", "topics: orders").replace("name: workers\n", "name: mm2\n")
    found = reviewed({"mm2.yaml": MIRROR}, {"mm2.yaml": flow.replace("cluster: workers}", "cluster: mm2}")})
    assert ("re-read", "kind-changes") in codes(found)


def test_both_checkpoint_connectors_of_one_connect_cluster_are_compared() -> None:
    """If both had the same role, one would hide the other."""
    second = FLOW.split("\n---\n")[2].replace("name: checkpoint", "name: second").replace("alias: east", "alias: south")
    both = {"flow.yaml": f"{FLOW}\n---\n{second}"}
    first, other, last = both["flow.yaml"].split("groups: shop\n")
    for after, name in (
        (f"{first}groups: x\n{other}groups: shop\n{last}", "`checkpoint`"),
        (f"{first}groups: shop\n{other}groups: x\n{last}", "`second`"),
    ):
        found = reviewed(both, {"flow.yaml": after})
        (restart,) = [effect.what for effect in found.effects if effect.code == "connector-restarts"]
        assert name in restart


def test_a_second_source_connector_does_not_hide_a_change_of_the_first() -> None:
    second = FLOW.split("\n---\n")[1].replace("name: source", "name: second").replace("orders,payments", "ledger")
    after = f"{edited(FLOW, ('tasksMax: 2', 'tasksMax: 5'))}\n---\n{second}"
    found = reviewed({"flow.yaml": FLOW}, {"flow.yaml": after})
    (restart,) = [effect.what for effect in found.effects if effect.code == "connector-restarts"]
    assert "`source`" in restart
    assert ("none", "topics-start") in codes(found)


def test_a_changed_value_of_a_config_map_that_a_connector_reads_has_an_effect() -> None:
    flow = edited(FLOW, ("topics: orders,payments\n", "topics: ${maps:kafka/selection:topics}\n"))
    provider = "config.providers.maps.class: io.strimzi.kafka.KubernetesConfigMapConfigProvider"
    flow = edited(flow, ("    key.converter", f"    config.providers: maps\n    {provider}\n    key.converter"))
    chosen = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: selection, namespace: kafka}\n"
        "data: {topics: 'orders,payments', x: y}\n"
    )
    before = {"flow.yaml": flow, "map.yaml": chosen}
    found = reviewed(before, {**before, "map.yaml": chosen.replace("'orders,payments'", "orders")})
    assert codes(found) == {("data", "topics-stop"), ("none", "config-map-read-later")}
    found = reviewed(before, {**before, "map.yaml": chosen.replace("x: y", "x: z")})
    assert (codes(found), len(found.unjudged)) == (set(), 1)


def test_a_change_of_a_stopped_connector_takes_effect_when_it_runs_again() -> None:
    stopped = edited(FLOW, ("tasksMax: 2\n", "tasksMax: 2\n  state: stopped\n"))
    found = reviewed({"flow.yaml": stopped}, {"flow.yaml": edited(stopped, ("tasksMax: 2\n", "tasksMax: 3\n"))})
    assert codes(found) == {("none", "takes-effect-later")}


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        ("strimzi.io/restart: 'true'", ("restart", "restart-requested")),
        ("strimzi.io/connector-offsets: reset", ("data", "offsets-requested")),
        ("strimzi.io/connector-offsets: list", ("none", "offsets-listed")),
    ],
)
def test_an_annotation_that_asks_the_operator_to_act_is_an_effect(annotation: str, wanted: tuple[str, str]) -> None:
    labels = "metadata: {name: source, namespace: kafka, "
    found = changed((labels, f"{labels}annotations: {{{annotation}}}, "))
    assert codes(found) == {wanted}


def test_removing_a_namespace_from_the_folder_is_an_effect_of_severity_data() -> None:
    namespace = {"ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: kafka}\n"}
    assert codes(reviewed({**FOLDER, **namespace}, FOLDER)) == {("data", "namespace-deleted")}


def test_a_change_of_a_v1beta2_resource_is_reported_with_its_effects() -> None:
    assert ("data", "groups-stop") in codes(changed(("groupsPattern: shop", "groupsPattern: x"), before=OLD))
    blacklist = changed(("groupsPattern: shop", "groupsPattern: shop\n      topicsBlacklistPattern: a.*"), before=OLD)
    assert codes(blacklist) == {RESTART}


@pytest.mark.parametrize(
    ("group", "wanted"),
    [("mirrormaker2-cluster", set()), ("mm2", {("re-read", "worker-group-changes"), ROLLS})],
    ids=["the operator's own group", "another group"],
)
def test_a_change_of_the_api_version_keeps_offsets_only_with_the_same_group(
    group: str, wanted: set[tuple[str, str]]
) -> None:
    """The old resource names no group, so the operator chooses a name, which the new resource has to repeat."""
    after = MIRROR.replace("mm2-", f"{group}-").replace("groupId: mm2", f"groupId: {group}").replace("4.2.0", "3.9.0")
    found = reviewed(OLD, {"old.yaml": after})
    assert codes(found) == wanted | {("none", "api-version-changes")}
    assert not_judged(found) == []


@pytest.mark.parametrize("field", ["topicsPattern", "groupsPattern", "topicsExcludePattern", "groupsExcludePattern"])
@pytest.mark.parametrize("mirror", [MIRROR, OLD_MIRROR], ids=["v1", "v1beta2"])
def test_a_changed_selection_restarts_every_connector_of_the_mirror(mirror: str, field: str) -> None:
    """The operator gives every selection to every connector, so a change of groups also interrupts records."""
    given = mirror.replace("      sourceConnector", "      topicsExcludePattern: x\n      sourceConnector")
    given = given.replace("      sourceConnector", "      groupsExcludePattern: x\n      sourceConnector")
    names = ["MirrorSourceConnector", "MirrorCheckpointConnector"]
    if mirror == OLD_MIRROR:
        given += "      heartbeatConnector: {}\n"
        names.append("MirrorHeartbeatConnector")
    after = re.sub(rf"({field}: \S+)", r"\1.*", given)
    found = reviewed({"mm2.yaml": given}, {"mm2.yaml": after})
    (restart,) = [effect.what for effect in found.effects if effect.code == "connector-restarts"]
    assert restart.startswith(f"{len(names)} connectors restart: ")
    assert all(f"east->west.{name}" in restart for name in names)
    assert restart.endswith(f"({_PROPERTIES[field]})")


_PROPERTIES = {
    "topicsPattern": "`topics`",
    "groupsPattern": "`groups`",
    "topicsExcludePattern": "`topics.exclude`",
    "groupsExcludePattern": "`groups.exclude`",
}


def test_only_the_removed_and_added_alternatives_of_a_pattern_are_reported() -> None:
    """Most examples of Strimzi write `a|b`. The alternatives that stay are not reported as changed."""
    before = {"mm2.yaml": MIRROR.replace("topicsPattern: orders", "topicsPattern: orders.*|payments|audit")}
    found = changed(("orders.*|payments|audit", "audit|orders.*|ledger"), before=before)
    effects = {effect.code: effect.what for effect in found.effects}
    assert effects["topics-stop"].startswith(
        "1 topic is no longer replicated: remote topic `east.payments` stays on west"
    )
    assert effects["topics-start"] == "1 topic starts replicating from earliest: `ledger`"


def test_scaling_to_zero_workers_stops_replication_and_scaling_up_continues_it() -> None:
    replicas = "version: 4.2.0\n  replicas: 1\n  target"
    without = replicas.replace("replicas: 1", "replicas: 0")
    found = changed((replicas, without))
    (effect,) = found.effects
    assert (effect.severity.value, effect.code) == ("data", "workers-stop")
    assert "nothing is replicated" in effect.what
    again = changed((without, replicas), before=edited_files((replicas, without)))
    (effect,) = again.effects
    assert effect.what == "KafkaMirrorMaker2 `mm2` goes from 0 to 1 workers: its connectors continue where they stopped"
    rolled = changed((without, without.replace("4.2.0", "4.1.0")), before=edited_files((replicas, without)))
    assert ROLLS not in codes(rolled)


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("app.kubernetes.io/version: '2'", {("none", "labels-kept-from-pods")}),
        ("kustomize.toolkit.fluxcd.io/name: a", {("none", "labels-kept-from-pods")}),
        ("app.kubernetes.io/part-of: a", {ROLLS}),
        ("helm.sh/chart: a-2", {ROLLS}),
    ],
)
def test_only_a_label_that_reaches_the_pods_restarts_them(label: str, wanted: set[tuple[str, str]]) -> None:
    found = changed(("{name: mm2, namespace: kafka}", f"{{name: mm2, namespace: kafka, labels: {{{label}}}}}"))
    assert codes(found) == wanted
    assert not_judged(found) == []


def test_a_secret_that_a_property_reads_is_required() -> None:
    groups = "    groups: shop\n"
    found = changed((groups, f"{groups}    source.cluster.sasl.jaas.config: ${{secrets:kafka/login:jaas}}\n"))
    assert found.required == ("Secrets in kafka: login",)
