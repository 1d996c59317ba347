"""A stand-in for the Spark operator: submits SparkApplications with Spark's own spark-submit, and says how they end.

It knows only the fields that this project renders, and refuses any other.
Source: Spark operator 2.5, internal/controller/sparkapplication.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

import yaml

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.render.validation_jobs import API_VERSION
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.kubernetes.preconditions import require_spark_operator
from kafka_replication.infra.machine.jdk import find_jdk
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from tests.definitions import definition

SUBMISSION_SECONDS, SERVED_SECONDS = 600, 120
#: The phase of the driver's pod -> the state of the application.
_STATES = {"Pending": "SUBMITTED", "Running": "RUNNING", "Succeeded": "COMPLETED", "Failed": "FAILED"}
_LABEL = "sparkoperator.k8s.io/app-name"
_KNOWN = {
    *("type", "mode", "sparkVersion", "image", "mainApplicationFile", "arguments", "sparkConf", "memoryOverheadFactor"),
    *("restartPolicy", "driver", "executor"),
}
#: Field of the driver or an executor -> setting of Spark.
_DRIVER = {
    "coreRequest": "spark.kubernetes.driver.request.cores",
    "memory": "spark.driver.memory",
    "memoryOverhead": "spark.driver.memoryOverhead",
    "serviceAccount": "spark.kubernetes.authenticate.driver.serviceAccountName",
}
_EXECUTOR = {
    "instances": "spark.executor.instances",
    "cores": "spark.executor.cores",
    "coreRequest": "spark.kubernetes.executor.request.cores",
    "memory": "spark.executor.memory",
    "serviceAccount": "spark.kubernetes.authenticate.executor.serviceAccountName",
}


@dataclass(frozen=True)
class SparkOperator:
    """The stand-in for one namespace; `folder` is for the templates of pods.

    `executors` are all executor pods that it has seen, by name.
    """

    api: KubernetesApi
    kubeconfig: Path
    namespace: str
    folder: Path
    executors: dict[str, Object] = field(default_factory=dict)

    def install(self) -> None:
        """Define the operator's kinds, and wait until the API server serves them."""
        for kind in ("SparkApplication", "ScheduledSparkApplication"):
            self.api.apply(definition(API_VERSION, kind))
        wait_for("the kinds", self._served, SERVED_SECONDS)

    def _served(self) -> None:
        try:
            require_spark_operator(self.api)
        except CannotRunError as error:
            raise NotYetError(error.what) from error

    @contextmanager
    def running(self) -> Iterator[None]:
        """Work in rounds until the end of the block."""
        stop = Event()

        def rounds() -> None:
            while not stop.wait(0.5):
                self.round()

        thread = Thread(target=rounds, name="spark-operator")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def round(self) -> None:
        """Submit new applications, and write the current state of the others."""
        found = self.api.list_all("v1", "Pod", namespace=self.namespace, label_selector=f"{_LABEL},spark-role=executor")
        self.executors.update({each["metadata"]["name"]: each for each in found})
        for each in self.api.list_all(API_VERSION, "SparkApplication", namespace=self.namespace):
            state = each.get("status", {}).get("applicationState", {}).get("state", "")
            if not state:
                self._submit(each)
            elif state in ("SUBMITTED", "RUNNING"):
                pod = self.api.get(Reference("v1", "Pod", self.namespace, f"{each['metadata']['name']}-driver"))
                phase = "Failed" if pod is None else pod.get("status", {}).get("phase", "Pending")
                if _STATES[phase] != state:
                    self._write(each, _STATES[phase])

    def _submit(self, application: Object) -> None:
        master = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        arguments = submit_arguments(application, f"k8s://{master}", self.folder)
        done = subprocess.run(
            arguments,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig), "JAVA_HOME": str(find_jdk().home)},
            capture_output=True,
            text=True,
            timeout=SUBMISSION_SECONDS,
            check=False,
        )
        failed = done.returncode != 0
        self._write(application, "FAILED" if failed else "SUBMITTED", done.stderr[-2000:] if failed else "")

    def _write(self, application: Object, state: str, said: str = "") -> None:
        metadata = application["metadata"]
        status = application.get("status") or {"lastSubmissionAttemptTime": metadata["creationTimestamp"]}
        status = {**status, "applicationState": {"state": state, "errorMessage": said}}
        self.api.apply_status(Reference(API_VERSION, "SparkApplication", self.namespace, metadata["name"]), status)


def submit_arguments(application: Object, master: str, folder: Path) -> list[str]:
    """The command of a submission; writes the templates of pods to `folder`."""
    spec, metadata = application["spec"], application["metadata"]
    assert set(spec) <= _KNOWN, set(spec) - _KNOWN
    assert spec["restartPolicy"] == {"type": "Never"}, "it retries nothing"
    labels = {_LABEL: metadata["name"], "sparkoperator.k8s.io/launched-by-spark-operator": "true", **metadata["labels"]}
    conf = {
        "spark.kubernetes.namespace": metadata["namespace"],
        "spark.kubernetes.container.image": spec["image"],
        "spark.kubernetes.memoryOverheadFactor": spec["memoryOverheadFactor"],
        "spark.kubernetes.submission.waitAppCompletion": "false",
        **spec["sparkConf"],
        "spark.kubernetes.driver.pod.name": f"{metadata['name']}-driver",
    }
    owner = {key: metadata[key] for key in ("name", "uid")} | {key: application[key] for key in ("apiVersion", "kind")}
    for role, settings in (("driver", _DRIVER), ("executor", _EXECUTOR)):
        given: dict[str, Any] = spec[role]
        assert set(given) <= {*settings, "template"}, given
        conf |= {settings[key]: str(each) for key, each in given.items() if key != "template"}
        conf |= {f"spark.kubernetes.{role}.label.{key}": each for key, each in labels.items()}
        controls = {"controller": True} if role == "driver" else {}
        template = given["template"]
        owned = {**template, "metadata": {**template["metadata"], "ownerReferences": [{**owner, **controls}]}}
        file = folder / f"{metadata['name']}-{role}.yaml"
        file.write_text(yaml.safe_dump(owned))
        conf[f"spark.kubernetes.{role}.podTemplateFile"] = str(file)
        conf[f"spark.kubernetes.{role}.podTemplateContainerName"] = f"spark-kubernetes-{role}"
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return [
        str(Path(found.origin).parent / "bin" / "spark-submit"),
        *("--master", master),
        *("--deploy-mode", spec["mode"]),
        *("--name", metadata["name"]),
        *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
        spec["mainApplicationFile"],
        *spec["arguments"],
    ]
