"""Runs what `inCluster` renders inside the image, on the local stack: Job, CronJob, executors and the exporter.

`make image`, then `make image-bench` as root, with buildah and `prometheus` on the PATH. The pods are those that the
stack deploys, and run as `tests.bench.image_pods` says: on the image's root, read-only, as the user 65532, with what
they mount. The verdicts are compared with one of Spark on `local[2]` on this machine: of the Job as deployed, and of a
Job with a driver and executors as pods, which is run once more with records on the target that the source never had. Of
that, only parity is compared: meanwhile the connectors translate offsets anew, past these records. A real Prometheus
scrapes the exporter, as the PodMonitor says.
"""

import copy
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import yaml
from rich.console import Console

from kafka_replication.components.contract.published_verdict import config_map_name, entries
from kafka_replication.components.contract.report import Depth
from kafka_replication.components.render.exporter import exporter_name
from kafka_replication.components.render.job_pods import COMPONENT, EXECUTOR
from kafka_replication.components.render.planned_objects import OURS, PART_OF
from kafka_replication.infra.commands.local import DEMOS, Shape, run_demo
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.kubernetes.api import KubernetesApi, Object, Reference
from kafka_replication.infra.local import paths, stack
from kafka_replication.infra.local.endpoints import load_endpoints
from kafka_replication.infra.local.parts.operator import OPERATOR
from kafka_replication.infra.local.parts.part import Launch, StackFacts
from kafka_replication.infra.local.traffic import produce
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.stack.settings import read_settings, stack_file
from kafka_replication.infra.validate import run
from tests.bench import image_pods
from tests.image import NAME
from tests.local.cluster_validation import FILTER
from tests.release import DIST
from tests.repository import ROOT, STACKS

STACK, FLOW, NAMESPACE, MONITORING = "local", "orders", "mirror-orders", "monitoring"
STRAY, SECONDS = 5, 900.0


def image_root() -> tuple[Path, dict[str, str]]:
    """The folder and the variables of a new container of the image."""
    container = _asked("buildah", "from", NAME)
    inspected = json.loads(_asked("buildah", "inspect", container))
    variables = dict(each.split("=", 1) for each in inspected["OCIv1"]["config"]["Env"])
    return Path(_asked("buildah", "mount", container)), variables


def _asked(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def run_pods_in(root: Path, variables: dict[str, str]) -> None:
    """Let the local stack start the operator whose pods run in the image."""
    prepare = OPERATOR.prepare

    def prepared(facts: StackFacts) -> Launch:
        launch = prepare(facts)
        command = tuple(image_pods.HERE if word == image_pods.OPERATOR else word for word in launch.command)
        image = json.dumps({"root": str(root), "variables": variables})
        return Launch(command, {**launch.env, "IMAGE": image, "PYTHONPATH": str(ROOT)})

    parts = tuple(replace(part, prepare=prepared) if part is OPERATOR else part for part in stack.PARTS)
    stack.PARTS = parts


def expect_a_closed_root(root: Path, variables: dict[str, str]) -> None:
    """A pod can write to its /tmp and nowhere else, and is not root."""
    with tempfile.TemporaryDirectory(dir=paths.data().parent) as name:
        folder = Path(name).resolve()
        (folder / "etc").mkdir()
        script = (
            f"id -u; for place in / /opt/replication /etc {folder}/etc /tmp; do touch $place/x && echo $place; done"
        )
        command = image_pods.inside(root, folder, ["sh", "-c", script], variables)
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.stdout.split() == [str(image_pods.USER), "/tmp"], answer


def write(stacks: Path, **asked: Any) -> None:
    """The local stack, with what runs in its cluster."""
    (stacks / "topologies").mkdir(parents=True, exist_ok=True)
    topology = yaml.safe_load((STACKS / "topologies" / f"{STACK}.yaml").read_text())
    topology["monitoring"] = {"namespace": MONITORING, "exporter": True}
    flow = topology["replications"][FLOW]
    flow["connect"]["metrics"] = {"type": "jmxPrometheusExporter"}
    # A run without a filter would need no Spark for so few records.
    flow["transforms"] = {"after": {"drop": FILTER}}
    (stacks / "topologies" / f"{STACK}.yaml").write_text(yaml.safe_dump(topology))
    settings = yaml.safe_load(stack_file(STACK, STACKS).read_text())
    image = {"image": f"{NAME}@{(DIST / 'image.txt').read_text().strip()}", "retries": 0, "catchUpSeconds": 300}
    exporter = {"everySeconds": 5}
    cluster = {**image, "schedule": "@yearly", "exporter": exporter, **asked}
    # Here all executors have one address, so each would look for the others' files where only its own are.
    spark = {"master": "local[2]", "conf": {"spark.shuffle.readHostLocalDisk": "false"}}
    settings["config"]["replication:validation"] = {"inCluster": cluster, "spark": spark}
    stack_file(STACK, stacks).write_text(yaml.safe_dump(settings))


def verdict(report: dict[str, Any], only: Sequence[str] = ()) -> Any:
    """What two reports of the same flow have in common: verdicts, findings and what was counted of records."""
    (flow,) = report.get("flows", [report])
    return {
        check["name"]: (
            check["verdict"],
            sorted((each["code"], each["count"]) for each in check["findings"] if each["severity"] != "note"),
            check["rows"] if check["name"] == "parity" else None,
        )
        for check in flow["checks"]
        if not only or check["name"] in only
    }


def here(stacks: Path, console: Console) -> tuple[dict[str, Any], float]:
    """The report of a validation on this machine, and the seconds that it took."""
    report, began = paths.validation().resolve() / STACK / "here" / "report.json", time.monotonic()
    report.parent.mkdir(parents=True, exist_ok=True)
    run.run_validation(run.ValidationRun(read_settings(STACK, stacks), report, depth=Depth.FULL), console)
    return dict(json.loads(report.read_text())), time.monotonic() - began


def deployed(api: KubernetesApi, kind: str) -> Object:
    """The newest Job or CronJob that the stack has deployed."""
    found = api.list_all("batch/v1", kind, namespace=NAMESPACE, label_selector=OURS)
    return max(found, key=lambda body: str(body["metadata"]["creationTimestamp"]))


def started(api: KubernetesApi, kind: str) -> str:
    """Start a Job like the deployed one or of the CronJob, as `kubectl create job --from` does; returns its name."""
    spec = copy.deepcopy(deployed(api, kind)["spec"])
    spec = spec["jobTemplate"]["spec"] if kind == "CronJob" else spec
    spec.pop("selector", None)
    # Those that the API server has added name the other Job.
    metadata = spec["template"]["metadata"]
    metadata["labels"] = {key: metadata["labels"][key] for key in (PART_OF, COMPONENT)}
    name = f"bench-{time.time_ns()}"
    body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
    api.create({"apiVersion": "batch/v1", "kind": "Job", **body})
    return name


def ended(api: KubernetesApi, name: str) -> tuple[dict[str, Any], float, list[str]]:
    """The report that a Job published, the seconds that its pod ran, and the executor pods that were seen meanwhile."""
    seen: dict[str, None] = {}

    def probe() -> Object:
        pods = api.list_all("v1", "Pod", namespace=NAMESPACE)
        for pod in pods:
            if pod["metadata"]["labels"].get(COMPONENT) == EXECUTOR and pod.get("status", {}).get("phase") == "Running":
                seen[pod["metadata"]["name"]] = None
        job = api.get(Reference("batch/v1", "Job", NAMESPACE, name))
        assert job is not None
        if not any(each["status"] == "True" for each in job.get("status", {}).get("conditions", ())):
            raise NotYetError(str(job.get("status")))
        return next(pod for pod in pods if pod["metadata"]["labels"].get("job-name") == name)

    pod = wait_for(f"Job {name}", probe, SECONDS, interval_seconds=0.5)
    state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    began, end = (datetime.fromisoformat(state[at]) for at in ("startedAt", "finishedAt"))
    published = api.get(Reference("v1", "ConfigMap", NAMESPACE, config_map_name(FLOW)))
    assert published is not None, (paths.operator() / "pods" / NAMESPACE / pod["metadata"]["name"] / "log").read_text()
    return dict(json.loads(entries(published)["report.json"])), (end - began).total_seconds(), list(seen)


def scraped(api: KubernetesApi) -> int:
    """The number of series that Prometheus has of the exporter's pod, once nothing is unknown to it."""
    (monitor,) = api.list_all(
        "monitoring.coreos.com/v1", "PodMonitor", label_selector=f"{PART_OF}={exporter_name(STACK)}"
    )
    series = f'{{job="{MONITORING}/{monitor["metadata"]["name"]}",__name__=~"mirror_.*"}}'

    def asked() -> int:
        url = f"{stack.prometheus_address()}/api/v1/query"
        answer = httpx.get(url, params={"query": series}, trust_env=False).json()
        found = [(each["metric"], float(each["value"][1])) for each in answer["data"]["result"]]
        unknown = [labels["what"] for labels, value in found if labels["__name__"] == "mirror_flow_unasked" and value]
        if unknown or not any(labels["__name__"] == "mirror_drift" for labels, _ in found):
            raise NotYetError(f"{len(found)} series; unknown: {unknown}")
        return len(found)

    return wait_for("Prometheus to have the exporter's series", asked, SECONDS, interval_seconds=2)


def judged(api: KubernetesApi, stacks: Path, quiet: Console) -> bool:
    """Print what the pods of the deployed stack do, and return whether any verdict differs."""
    differ = False
    print(f"exporter: Prometheus has {scraped(api)} series of its pod, and nothing is unknown", flush=True)
    job = ended(api, started(api, "Job"))
    expected, outside = here(stacks, quiet)
    print(f"Spark on local[2] here: {outside:.1f} s", flush=True)
    differ |= differs("Job", job, verdict(expected))
    outcomes = {name: outcome for name, (outcome, *_) in verdict(expected).items()}
    differ |= differs("CronJob, which compares what is new", ended(api, started(api, "CronJob")), outcomes)
    write(stacks, executors={"instances": 2, "cores": 1, "memory": "512m", "cpu": "100m"})
    deployment.up(read_settings(STACK, stacks), lambda _: None)
    job = ended(api, deployed(api, "Job")["metadata"]["name"])
    differ |= differs("Job with executors", job, verdict(expected)) or not job[-1]
    produce(load_endpoints().regions["uswest"], "useast.orders", STRAY, seed=1)
    job = ended(api, started(api, "Job"))
    expected, _ = here(stacks, quiet)
    what = f"Job with executors, {STRAY} records too many on the target"
    differ |= differs(what, job, verdict(expected, ("parity",)))
    return differ


def main() -> int:
    """Print what was seen, and return 1 if verdicts differ."""
    console, quiet, differ = Console(), Console(quiet=True), False
    root, variables = image_root()
    stacks = paths.data().resolve().parent / "stacks"
    print(f"{NAME}: {_asked('du', '-sm', str(root)).split()[0]} MB in files")
    try:
        write(stacks)
        run_pods_in(root, variables)
        endpoints = stack.up(console, monitoring=True)
        expect_a_closed_root(root, variables)
        if run_demo(DEMOS[Shape.FLOW], stacks, console):
            return 1
        with KubernetesApi(endpoints.kubeconfig, field_manager="bench") as api:
            differ = judged(api, stacks, quiet)
    finally:
        stack.down(quiet, purge=True)
    return int(differ)


def differs(what: str, job: tuple[dict[str, Any], float, list[str]], expected: Any) -> bool:
    """Print what a Job in the image found, and return whether it is not the expected verdict of these checks."""
    report, seconds, executors = job
    found = verdict(report, tuple(expected))
    if all(isinstance(outcome, str) for outcome in expected.values()):
        found = {name: outcome for name, (outcome, *_) in found.items()}
    same = f"DIFFERENT VERDICTS: {expected}, in the image {found}" if found != expected else "the same verdict"
    shown = ", ".join(f"{name} {outcome}" for name, (outcome, *_) in verdict(report, tuple(expected)).items())
    print(f"{what}: {same} in the image; {seconds:.1f} s, {len(executors)} executors; {shown}", flush=True)
    return bool(found != expected)


if __name__ == "__main__":
    sys.exit(main())
