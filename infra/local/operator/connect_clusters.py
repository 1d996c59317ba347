"""Makes the workers of one resource match it, and writes the status of a KafkaConnect."""

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_urlsafe

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, Object, Reference
from kafka_replication.infra.local.operator import conditions, worker_files, worker_objects, worker_processes
from kafka_replication.infra.local.operator.conditions import Condition, ConfigMaps, WorkerReport, not_ready
from kafka_replication.infra.local.operator.connect_rest import ConnectRest
from kafka_replication.infra.local.operator.connector_reconciler import connector_on_one_machine
from kafka_replication.infra.local.operator.ledger import Component, WorkerRecord
from kafka_replication.infra.local.operator.resources import ConnectorResource, ConnectResource
from kafka_replication.infra.local.operator.worker_files import WorkerFiles
from kafka_replication.infra.local.operator.worker_objects import TOKEN_LIFETIME_SECONDS, is_there, token_in
from kafka_replication.infra.local.operator.worker_processes import WorkerProcesses, WorkerSpec, WorkerState
from kafka_replication.infra.local.operator.worker_properties import jvm_arguments, port_of
from kafka_replication.infra.local.parts.control_plane import kubeconfig
from kafka_replication.infra.local.state import write_private

log = logging.getLogger(__name__)

#: How often the operator applies its own objects again, in case somebody changed them.
REAPPLY_SECONDS = 60.0
#: How many health checks in a row a serving worker may miss: a busy machine is not a failure.
MISSES_ALLOWED = 5


@dataclass(frozen=True)
class WorkersOutcome:
    """What a round found about the workers of one resource; `rest` belongs to a worker that serves."""

    condition: Condition
    warnings: list[Condition]
    reports: list[WorkerReport]
    rest: ConnectRest | None


@dataclass
class ConnectClusters:
    """Runs Connect workers, one resource at a time. What it remembers between rounds may be lost without harm."""

    api: KubernetesApi
    kubeconfig: Path
    workers: WorkerProcesses
    jars: worker_processes.KafkaJars
    _applied: dict[Component, tuple[str, float]] = field(default_factory=dict)
    _written: dict[Component, str] = field(default_factory=dict)
    _rests: dict[int, ConnectRest] = field(default_factory=dict)
    _misses: dict[int, int] = field(default_factory=dict)

    def reconcile(self, connect: ConnectResource) -> ConnectRest | None:
        """Do one round for a KafkaConnect. Return the REST interface of a serving worker, or None. Raises ApiError."""
        outcome = self.run(connect)
        now = datetime.now(UTC)
        body = conditions.status_body(connect, outcome.condition, outcome.warnings, outcome.reports, now)
        conditions.write_status(self.api, connect.reference, connect.status, body)
        return outcome.rest

    def run(self, connect: ConnectResource) -> WorkersOutcome:
        """Do one round and leave writing the status to the caller. Raises ApiError."""
        key = connect.key
        config_maps = self._data(connect, "ConfigMap", sorted({wanted.name for wanted in connect.config_maps}))
        refusals = (conditions.refused_config_map(wanted, config_maps) for wanted in connect.config_maps)
        condition = (
            conditions.unsupported(connect)
            or conditions.refused_version(connect)
            or conditions.missing_version(connect)
            or next(filter(None, refusals), None)
        )
        arguments, notes = jvm_arguments(connect.jvm_options)
        reports = [self._report(record) for record in self.workers.of(key)]
        pods = worker_objects.worker_pods(self.api, connect)
        states = {report.index: report.state for report in reports}
        worker_objects.tidy(self.api, connect.replicas if condition is None else 0, pods, states)
        if condition is not None:
            self.stop(key)
        else:
            try:
                wanted = self._prepare(connect, arguments, config_maps)
            except worker_files.InvalidSecretError as error:
                # Running workers continue, as pods would; new ones would not start.
                condition = not_ready("InvalidConfigurationException", str(error))
            except CannotRunError as error:
                condition = not_ready("KafkaNotFetched", f"{error.what}: {error.remedy}")
            else:
                refused = self._run_workers(connect, wanted, states, pods)
                current = {record.index for record in self.workers.of(key) if record.digest == wanted.digest}
                judged = [replace(report, outdated=report.index not in current) for report in reports]
                condition = conditions.readiness(connect, judged, refused)
        staying = {record.index for record in self.workers.of(key) if record.kill_at is None}
        serving = [report.port for report in reports if report.state is WorkerState.READY and report.index in staying]
        warnings, rest = conditions.warnings(connect, notes), self._rest(serving[0]) if serving else None
        return WorkersOutcome(condition, warnings, reports, rest)

    def _data(self, connect: ConnectResource, kind: str, names: Iterable[str]) -> dict[str, Mapping[str, str]]:
        """Return the data of those of these ConfigMaps or Secrets that exist, by name."""
        items = {name: self.api.get(Reference("v1", kind, connect.namespace, name)) for name in names}
        return {name: item.get("data") or {} for name, item in items.items() if item is not None}

    def stop(self, key: Component) -> None:
        """Stop all workers of a resource, and forget it when they have ended."""
        for record in self.workers.of(key):
            self.workers.stop(record)
        self.workers.forget(key)
        self._applied.pop(key, None)
        self._written.pop(key, None)

    def placed(self, connect: ConnectResource, connectors: Sequence[ConnectorResource]) -> list[ConnectorResource]:
        """Return the connectors as Connect gets them here, with the paths of their files on this machine."""
        folder = self.workers.files_folder(connect.key)
        names = worker_files.secret_names(connect)
        return [connector_on_one_machine(connector, folder, names) for connector in connectors]

    def _prepare(self, connect: ConnectResource, jvm: list[str], config_maps: ConfigMaps) -> WorkerSpec:
        """Apply and write what the workers need. Raises InvalidSecretError, and CannotRunError without their Kafka."""
        jars = self.jars.folder(connect.version)
        of_metrics = (wanted for wanted in connect.config_maps if wanted.field == "metricsConfig")
        rules = next((str(config_maps[wanted.name][wanted.key]) for wanted in of_metrics), None)
        secrets = self._data(connect, "Secret", worker_files.secret_names(connect))
        certificates = worker_files.trusted_certificates(connect, secrets)
        worker_files.check_credentials(connect, secrets)
        self._apply(connect, worker_objects.owned_objects(connect, certificates))
        cluster = worker_objects.cluster_entry(self.kubeconfig)
        self._write_kubeconfig(connect, cluster)
        files = WorkerFiles(connect, secrets, self._store_password(connect.key))
        properties = files.properties()
        settings = [properties, [*jvm, rules or ""], dict(connect.resources), dict(connect.pod_annotations), jars.name]
        # The workers' token is valid only for this KafkaConnect and this API server.
        digest = _digest([*settings, worker_files.contents_digest(secrets), connect.uid, cluster])
        if self._written.get(connect.key) != digest:
            self.workers.keep(connect.key, files.files())
            self._written[connect.key] = digest
        return WorkerSpec(digest, jars, properties, jvm, rules)

    def _store_password(self, key: Component) -> str:
        """Return the password of a component's key stores. It never changes: running workers use these stores."""
        file = self.workers.folder(key) / "store-password"
        if not file.exists():
            write_private(file, token_urlsafe(24))
        return file.read_text(encoding="utf-8")

    def _apply(self, connect: ConnectResource, items: list[Object]) -> None:
        key = connect.key
        digest, (known, when) = _digest(items), self._applied.get(key, ("", 0.0))
        if digest != known or time.monotonic() - when > REAPPLY_SECONDS:
            for item in items:
                self.api.apply(item)
            self._applied[key] = (digest, time.monotonic())

    def _write_kubeconfig(self, connect: ConnectResource, cluster: Object) -> None:
        name = connect.component_name
        account = self.api.get(Reference("v1", "ServiceAccount", connect.namespace, name))
        if account is None:
            self._applied.pop(connect.key, None)
            message = f"ServiceAccount {connect.namespace}/{name} was deleted and will be created again"
            raise ApiError(404, "NotFound", message)
        file = self.workers.folder(connect.key) / "kubeconfig"
        token = token_in(file.read_text(encoding="utf-8")) if file.exists() else None
        if token is None or not worker_objects.is_usable(token, account["metadata"]["uid"], time.time()):
            token = self.api.service_account_token(connect.namespace, name, TOKEN_LIFETIME_SECONDS)
        content = kubeconfig(cluster, "worker", token, namespace=connect.namespace)
        if not file.exists() or file.read_text(encoding="utf-8") != content:
            write_private(file, content)

    def _run_workers(
        self,
        connect: ConnectResource,
        wanted: WorkerSpec,
        states: Mapping[int, WorkerState],
        pods: Mapping[int, Object],
    ) -> dict[int, str]:
        """Take the next steps. Return why workers were not started, by index; the next round tries them again."""
        key, now = connect.key, time.time()
        records = {record.index: record for record in self.workers.of(key)}
        seen = [
            worker_processes.Worker(
                index, record.digest, states[index], record.may_start_again(now), is_there(pods.get(index))
            )
            for index, record in records.items()
        ]
        start, stop = worker_processes.next_steps(connect.replicas, wanted.digest, seen)
        for index in stop:
            self.workers.stop(records[index])
        refused: dict[int, str] = {}
        for index in start:
            admitted = worker_objects.admit(self.api, connect, index, wanted.digest, pods.get(index))
            if isinstance(admitted, str):
                refused[index] = admitted
            else:
                self.workers.start(key, index, wanted, port_of(admitted))
        return refused

    def _state(self, record: WorkerRecord) -> WorkerState:
        if record.kill_at is not None:
            return WorkerState.STOPPING
        if record.ended is not None:
            return WorkerState.ENDED
        pid = record.pid
        if self._rest(record.port).healthy():
            self._misses[pid] = 0
            self.workers.mark_served(record)
            return WorkerState.READY
        self._misses[pid] = self._misses.get(pid, 0) + 1
        forgiven = record.served and self._misses[pid] < MISSES_ALLOWED
        return WorkerState.READY if forgiven else WorkerState.STARTING

    def _report(self, record: WorkerRecord) -> WorkerReport:
        state = self._state(record)
        problem = None
        if state in {WorkerState.STARTING, WorkerState.ENDED}:
            # A restarted worker logs nothing for a while; the log from before the restart says more.
            stems = ("", ".previous") if record.failures else ("",)
            texts = (self.workers.log_text(record, stem) for stem in stems)
            problem = next(filter(None, map(conditions.first_problem, texts)), None)
        return WorkerReport(record.index, state, record.port, problem)

    def _rest(self, port: int) -> ConnectRest:
        # Not setdefault(): making a client loads the machine's certificate authorities, which takes 80 ms.
        if port not in self._rests:
            self._rests[port] = ConnectRest(port)
        return self._rests[port]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
