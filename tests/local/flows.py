"""Deployed flows under test: their settings, what Kubernetes says of them, and the validation of one of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import psutil
import yaml
from kubernetes import client, config

from kafka_replication.components.contract.parameters import Parameters
from kafka_replication.components.contract.report import CheckOutcome, FlowOutcome
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.flow_acls import Acl, flow_acls
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.state import load_state
from kafka_replication.infra.machine.waiting import NotYetError, wait_for
from kafka_replication.infra.review.live_comparison import compare_with_cluster
from kafka_replication.infra.stack.session import OpenStack
from kafka_replication.infra.stack.settings import StackSettings, stack_file
from kafka_replication.spark.checks.heartbeats import Observer, check_heartbeats
from kafka_replication.spark.command_line import chosen_flows
from kafka_replication.spark.job import Options, run
from kafka_replication.spark.read.credentials import resolver
from kafka_replication.spark.read.flows import open_flow
from kafka_replication.spark.read.sessions import SessionOptions, spark_jvm
from tests.local.observed import Watch
from tests.repository import STACKS

READY_SECONDS = 900.0
ARRIVAL_SECONDS = 600.0
_CALL_SECONDS = 60
_KILL_SECONDS = 60.0
_STRIMZI = ("kafka.strimzi.io", "v1")


def kill(records: Iterable[processes.ProcessRecord]) -> None:
    """Kill those of the processes that run, and wait for their end. The operator also lists workers that have ended."""
    running = [record for record in records if processes.alive(record)]
    for record in running:
        if process := processes.find(record):
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def expect_ended() -> None:
        # A process that its parent has not reaped yet has ended too; psutil's wait would wait for the parent.
        if left := [record.name for record in running if processes.alive(record)]:
            raise NotYetError(f"{', '.join(left)} still there")

    wait_for("killed processes to end", expect_ended, _KILL_SECONDS)


@contextmanager
def suspended(part: str) -> Iterator[None]:
    """A part that takes connections and answers nothing while the body runs, as behind a broken network."""
    process = psutil.Process(load_state().parts[part].pid)

    def expect_stopped() -> None:
        # The signal reaches one thread after the other, and one that still runs may answer.
        states = [
            stat.read_text().rpartition(")")[2].split()[0] for stat in Path("/proc").glob(f"{process.pid}/task/*/stat")
        ]
        if set(states) - {"T"}:
            raise NotYetError(f"{len(states) - states.count('T')} threads run")

    process.suspend()
    try:
        wait_for(f"{part} to stop", expect_stopped, _KILL_SECONDS)
        yield
    finally:
        process.resume()


@dataclass(frozen=True)
class Deployed:
    """A stack that runs on the tests' local stack."""

    settings: StackSettings
    endpoints: Endpoints

    @property
    def api(self) -> client.ApiClient:
        found: client.ApiClient = config.new_client_from_config(str(self.endpoints.kubeconfig))  # type: ignore[no-untyped-call]
        return found

    def up(self) -> None:
        """Deploy the stack, and wait until the operator calls everything Ready."""
        vars(self).pop("document", None)
        deployment.up(self.settings, lambda _: None)
        deployment.wait_ready(self.settings, READY_SECONDS)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Deployed while the body runs."""
        try:
            self.up()
            yield self
        finally:
            deployment.destroy(self.settings, lambda _: None)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The parameter document of the validation job; Pulumi is asked once per deployment, as that takes seconds."""
        return dict(deployment.outputs(self.settings)["validation"])

    def flow(self, name: str = "orders") -> ResolvedFlow:
        return next(flow for flow in OpenStack(self.settings).flows if flow.name == name)

    def expect_no_drift(self) -> None:
        """Raise NotYetError until the cluster is as the stack deployed it, and every task runs."""
        left = compare_with_cluster(OpenStack(self.settings))
        if left.drift or left.objects:
            raise NotYetError(str((left.drift, left.objects)))

    def connector(self, name: str) -> dict[str, Any]:
        """The KafkaConnector of this name, in the namespace of its flow."""
        custom = client.CustomObjectsApi(self.api)
        namespace = _namespace(name)
        found: Any = custom.get_namespaced_custom_object(
            *_STRIMZI, namespace, "kafkaconnectors", name, _request_timeout=_CALL_SECONDS
        )
        return dict(found)

    def edit_connector(self, name: str, spec: Mapping[str, Any]) -> None:
        """Edit a connector's spec by hand, and wait until the operator and the tasks have applied the change."""
        custom = client.CustomObjectsApi(self.api)
        namespace = _namespace(name)
        watch = Watch(namespace.removeprefix("mirror-"))
        # A heartbeat task copies nothing and does not log that it ends.
        copies = "Heartbeat" not in self.connector(name)["spec"]["class"]
        tasks = watch.tasks(name) if copies and spec.get("state") == "stopped" else frozenset()
        custom.patch_namespaced_custom_object(
            *_STRIMZI, namespace, "kafkaconnectors", name, {"spec": dict(spec)}, _request_timeout=_CALL_SECONDS
        )
        wanted = spec.get("state", "running").upper()
        wait_for(f"{name} to be {wanted}", lambda: self._expect_state(name, wanted), ARRIVAL_SECONDS)
        wait_for(f"the tasks of {name} to end", lambda: watch.expect_stopped(tasks), ARRIVAL_SECONDS)
        if "config" in spec:
            wait_for(f"{name} to be made anew", lambda: watch.expect_made(frozenset({name})), ARRIVAL_SECONDS)

    def _disown(self, name: str) -> None:
        """Make the program the only owner of the spec, so that a deployment may change what was edited."""
        custom, place = client.CustomObjectsApi(self.api), (*_STRIMZI, _namespace(name), "kafkaconnectors", name)
        owners = [
            each
            for each in self.connector(name)["metadata"]["managedFields"]
            if each["operation"] == "Apply" or each.get("subresource")
        ]
        custom.patch_namespaced_custom_object(
            *place, {"metadata": {"managedFields": owners}}, _request_timeout=_CALL_SECONDS
        )

    def _expect_state(self, name: str, wanted: str) -> None:
        found = self.connector(name)
        status = found.get("status") or {}
        state = ((status.get("connectorStatus") or {}).get("connector") or {}).get("state")
        if status.get("observedGeneration") != found["metadata"]["generation"] or state != wanted:
            raise NotYetError(f"state {state}, generation {status.get('observedGeneration')}")

    @contextmanager
    def edited(self, name: str, broken: Mapping[str, Any], mended: Mapping[str, Any]) -> Iterator[None]:
        """Edit a connector by hand while the body runs."""
        self.edit_connector(name, broken)
        try:
            yield
        finally:
            self.edit_connector(name, mended)
            self._disown(name)

    def validate(self, flow: str = "orders", catch_up_seconds: float = 45) -> FlowOutcome:
        """Outcome of the validation job for one flow, run in this process."""
        return validate(self.document, flow, self.endpoints.kubeconfig, catch_up_seconds)

    def heartbeats(self, flow: str = "orders", catch_up_seconds: float = 0) -> CheckOutcome:
        """The outcome of the heartbeat check alone, which takes a tenth of the time of a validation."""
        (parameters,) = chosen_flows(Parameters.model_validate(self.document), flow)
        with (
            spark_jvm(SessionOptions()) as spark,
            open_flow(parameters, spark, resolver(self.endpoints.kubeconfig), lambda _: None) as opened,
            Observer(opened.target, parameters.heartbeats, catch_up_seconds) as observer,
        ):
            return check_heartbeats(opened, observer)


def validate(document: dict[str, Any], flow: str, kubeconfig: Path, catch_up_seconds: float = 45) -> FlowOutcome:
    """Outcome of the validation job for one flow of a parameter document."""
    parameters = Parameters.model_validate(document)
    report = run(
        parameters, chosen_flows(parameters, flow), Options(catch_up_seconds=catch_up_seconds, kubeconfig=kubeconfig)
    )
    assert report.error is None, report.error
    (outcome,) = report.flows
    return outcome


def _namespace(connector: str) -> str:
    """Namespace of a connector that is named `<flow>-<role>` or `<flow>-source-<part>`."""
    flow = connector.split("-source-")[0] if "-source-" in connector else connector.rsplit("-", 1)[0]
    return f"mirror-{flow}"


def write_edited(folder: Path, stack: str, edit: Callable[[dict[str, Any]], object]) -> Path:
    """Write a stack of this repository to `folder` with its parsed topology edited in place; returns the folder.

    Every interval is a second: the validation waits for the next refresh, checkpoint and sync.
    """
    topology = yaml.safe_load((STACKS / "topologies" / f"{stack}.yaml").read_text())
    edit(topology)
    for replication in topology["replications"].values():
        replication["intervals"] = dict.fromkeys(replication.get("intervals", ()), 1)
    (folder / "topologies").mkdir()
    (folder / "topologies" / f"{stack}.yaml").write_text(yaml.safe_dump(topology, sort_keys=False))
    stack_file(stack, folder).write_text(stack_file(stack, STACKS).read_text())
    return folder


def check_named(outcome: FlowOutcome, name: str) -> CheckOutcome:
    return next(check for check in outcome.checks if check.name == name)


def outcome_text(outcome: FlowOutcome) -> str:
    """Every summary and finding of a validation, to search in and for messages of failed assertions."""
    findings = [outcome.error] if outcome.error else []
    findings += [finding for check in outcome.checks for finding in check.findings]
    summaries = [f"{check.name} {check.verdict}: {check.summary}" for check in outcome.checks]
    return "\n".join([*summaries, *(f"{finding.code}: {finding.message}" for finding in findings)])


def grant_mirror(endpoints: Endpoints, flow: ResolvedFlow, alias: str) -> None:
    """Grant the ACLs for a source whose alias in the topology differs from the local stack's."""
    apply_acls(endpoints.regions[alias], source_acls(flow, alias))


def source_acls(flow: ResolvedFlow, alias: str) -> list[Acl]:
    """The ACLs that a flow needs on its source, for the region with this alias."""
    return [replace(acl, cluster=alias) for acl in flow_acls(flow) if acl.cluster == flow.settings.source]
