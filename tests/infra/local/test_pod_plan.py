"""What a Pod asks for: its files, its command and its environment, as a kubelet gives them to a container."""

import base64
from pathlib import Path
from typing import Any

import pytest

from kafka_replication.infra.kubernetes.api import Object, Reference
from kafka_replication.infra.local.kubelet import NotRunError, pod_plan
from tests.components.render.test_validation_jobs import job_of

FOLDER = Path("/state/pods/mirror-orders/a")
SERVER = "https://127.0.0.1:6443"


def a_pod(executors: Any = None, **spec: Any) -> Object:
    """A Pod of the Job of a flow, as the Job controller and the API server make it."""
    template = job_of(executors=executors)["spec"]["template"]["spec"] | spec
    (container,) = template["containers"]
    token = {"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    template["containers"] = [container | {"volumeMounts": [*container["volumeMounts"], token]}]
    template["volumes"] = [
        *template["volumes"],
        {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
    ]
    return {"metadata": {"namespace": "mirror-orders", "name": "a", "uid": "u"}, "spec": template}


def objects_of(pod: Object) -> dict[Reference, Object]:
    """The objects that the Pod mounts, each value named after its object and key."""
    found: dict[Reference, Object] = {}
    for each in pod_plan(pod).needed:
        keys = ("parameters.json",) if each.kind == "ConfigMap" else ("ca.crt", "password")
        texts = {key: f"{each.name}/{key}" for key in keys}
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        found[each] = {"data": texts if each.kind == "ConfigMap" else encoded}
    return found


def test_the_mounted_files_are_the_named_keys_and_no_others() -> None:
    pod = a_pod()
    plan, objects = pod_plan(pod), objects_of(pod)
    (parameters,) = [each.name for each in objects if each.kind == "ConfigMap"]
    assert dict(plan.files(objects, FOLDER)) == {
        "/etc/replication/parameters/parameters.json": f"{parameters}/parameters.json".encode(),
        "/etc/replication/secrets/mirror-orders/ca/ca.crt": b"ca/ca.crt",
        "/etc/replication/secrets/mirror-orders/mirror/password": b"mirror/password",
    }
    assert {each.name for each in plan.needed if each.kind == "Secret"} == {"ca", "mirror"}
    assert plan.account == "orders-validation"


def test_paths_below_a_mount_point_to_the_pods_local_folder() -> None:
    plan = pod_plan(a_pod())
    command = plan.command("python3", FOLDER, SERVER)
    assert command[:5] == [
        *("python3", "-m", "kafka_replication.spark.validate"),
        *("--parameters", f"{FOLDER}/etc/replication/parameters/parameters.json"),
    ]
    assert command[command.index("--secrets") + 1] == f"{FOLDER}/etc/replication/secrets"
    assert plan.environment(FOLDER) == {"HOME": f"{FOLDER}/tmp", "SPARK_LOCAL_DIRS": f"{FOLDER}/tmp"}
    assert plan.here("--report=/tmp/report.json", FOLDER) == f"--report={FOLDER}/tmp/report.json"
    assert plan.here("/tmpfs/tmp", FOLDER) == "/tmpfs/tmp"


def test_a_driver_gets_the_name_and_address_of_its_pod_and_of_the_api_server() -> None:
    plan = pod_plan(a_pod(executors={}))
    variables, command = plan.environment(FOLDER), plan.command("python3", FOLDER, SERVER)
    assert (variables["POD_NAME"], variables["POD_IP"]) == ("a", "127.0.0.1")
    assert {f"--master=k8s://{SERVER}", "--spark-conf=spark.kubernetes.driver.pod.name=a"} <= set(command)
    assert "--spark-conf=spark.driver.host=127.0.0.1" in command
    template = f"{FOLDER}/etc/replication/parameters/executor.json"
    assert f"--spark-conf=spark.kubernetes.executor.podTemplateFile={template}" in command


def test_an_unknown_variable_in_an_argument_is_left_as_it_is() -> None:
    """A kubelet does the same."""
    (container,) = a_pod(executors={})["spec"]["containers"]
    plan = pod_plan(a_pod(containers=[container | {"args": ["$(POD_NAME) $(OTHER)"]}]))
    assert plan.command("python3", FOLDER, SERVER)[-1] == "a $(OTHER)"


def test_paths_in_a_properties_file_point_to_the_pods_local_folder() -> None:
    """Spark's submission passes its settings in such a file, not in arguments."""
    (container,) = a_pod()["spec"]["containers"]
    mounts = [{"name": "conf", "mountPath": "/opt/spark/conf"}, {"name": "tmp", "mountPath": "/tmp"}]
    volumes = [{"name": "conf", "configMap": {"name": "conf"}}, {"name": "tmp", "emptyDir": {}}]
    plan = pod_plan(a_pod(containers=[container | {"volumeMounts": mounts}], volumes=volumes))
    text = "a=/tmp/b\nc=/tmpfs\nd=e /tmp\n"
    found = dict(plan.files({plan.needed[0]: {"data": {"a.properties": text, "a.json": text}}}, FOLDER))
    assert found["/opt/spark/conf/a.properties"].decode() == f"a={FOLDER}/tmp/b\nc=/tmpfs\nd=e /tmp\n"
    assert found["/opt/spark/conf/a.json"].decode() == text


@pytest.mark.parametrize(("mounted", "account"), [(True, "orders-validation"), (False, None)])
def test_a_pod_gets_a_token_unless_it_opts_out(mounted: bool, account: str | None) -> None:
    assert pod_plan(a_pod(automountServiceAccountToken=mounted)).account == account


@pytest.mark.parametrize("missing", ["ConfigMap", "Secret"])
def test_a_pod_waits_for_what_it_mounts(missing: str) -> None:
    pod = a_pod()
    there = {each: found for each, found in objects_of(pod).items() if each.kind != missing}
    with pytest.raises(NotRunError, match=f"{missing} .* not found") as waiting:
        dict(pod_plan(pod).files(there, FOLDER))
    assert waiting.value.reason == "ContainerCreating"


def test_a_pod_waits_for_the_key_of_a_secret() -> None:
    pod = a_pod()
    objects = {each: {"data": {}} if each.kind == "Secret" else found for each, found in objects_of(pod).items()}
    with pytest.raises(NotRunError, match=r"Secret mirror-orders/ca has no key ca\.crt"):
        dict(pod_plan(pod).files(objects, FOLDER))


def test_only_the_validation_its_executors_and_the_exporter_are_run() -> None:
    pod_plan(a_pod()).refuse_others()
    (container,) = a_pod()["spec"]["containers"]
    other = pod_plan(a_pod(containers=[container | {"command": ["sh", "-c", "true"]}]))
    with pytest.raises(NotRunError) as refused:
        other.refuse_others()
    assert str(refused.value) == (
        "this stand-in for a kubelet runs only `python -m kafka_replication.spark.validate` and "
        "`python -m kafka_replication.spark.driver` and `python -m kafka_replication.spark.executor` and "
        "`python -m kafka_replication.infra.commands.app`"
    )
