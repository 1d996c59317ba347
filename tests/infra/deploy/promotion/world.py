"""A world without clusters and Pulumi: what the stacks run and have proven, and what a promotion did to them."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.flows.resolved import flow_digests, model_digest
from kafka_replication.infra.deploy.engine import deployment
from kafka_replication.infra.deploy.promotion.rule import evidence
from kafka_replication.infra.deploy.promotion.rule.evidence import Evidence
from kafka_replication.infra.deploy.promotion.rule.plan import required_plan
from kafka_replication.infra.deploy.promotion.rule.rules import CheckResult, FlowProof
from kafka_replication.infra.deploy.promotion.run import promotion as run
from kafka_replication.infra.kubernetes.managed_fields import FieldOwner
from kafka_replication.infra.stack.settings import StackSettings, read_settings
from kafka_replication.infra.validate.run import ValidationRun
from tests.builders import a_topology
from tests.infra.deploy.promotion.states import NOON


@dataclass
class Stack:
    """One stack: its outputs, whether a deployment would change it, its validation, evidence and latest change.

    `lacking` lists how its cluster differs from what GitOps should have applied.
    """

    outputs: dict[str, Any] = field(default_factory=dict)
    changed: bool = True
    validation: FlowProof | None = None
    evidence: Evidence | None = None
    change: FieldOwner | None = None
    lacking: tuple[Problem, ...] = ()


class World:
    """Stacks `one` and `two` of one topology; `log` lists what was done, `exit_code` is what validations end with."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.now = NOON
        self.stacks = {"one": Stack(), "two": Stack()}
        self.log: list[str] = []
        self.exit_code = 0
        self.printed = StringIO()
        (folder / "topologies").mkdir()
        self.write_topology("test", a_topology())
        for stack in self.stacks:
            self.configure(stack)
        self.plan()
        for name in ("preview", "up", "wait_ready", "outputs", "outputs_if_deployed"):
            monkeypatch.setattr(deployment, name, getattr(self, name))
        for module in (run, evidence):
            monkeypatch.setattr(module, "StackCluster", lambda settings: Cluster(self.stacks[settings.stack]))
        monkeypatch.setattr(run, "against_applied", lambda settings: self.stacks[settings.stack].lacking)
        monkeypatch.setattr(run, "run_validation", self._validate)
        monkeypatch.setattr(run, "datetime", self._clock())
        monkeypatch.setattr(evidence, "datetime", self._clock())

    def write_topology(self, name: str, topology: dict[str, Any]) -> None:
        (self.folder / "topologies" / f"{name}.yaml").write_text(yaml.safe_dump(topology))

    def configure(self, stack: str, topology: str = "test", **config: str) -> None:
        values = {"topology": topology, **config}
        text = yaml.safe_dump({"config": {f"replication:{key}": value for key, value in values.items()}})
        (self.folder / f"Pulumi.{stack}.yaml").write_text(text)

    def plan(self, soak_minutes: float = 0, may_skip: tuple[str, ...] = ()) -> None:
        waves = [{"stacks": ["one"], "soakMinutes": soak_minutes}, {"stacks": ["two"]}]
        plan = {"environments": [{"name": "all", "waves": waves, "maySkip": list(may_skip)}]}
        (self.folder / "promotion.yaml").write_text(yaml.safe_dump(plan))

    def promote(self, to: str | None = None, skip: str | None = None, who: str = "ann") -> int:
        """Run a promotion a minute later; returns its exit code."""
        self.now += timedelta(minutes=1)
        self.log.clear()
        request = run.PromotionRequest(self.folder, to, who, skip)
        console = Console(file=self.printed, width=200, highlight=False)
        return run.promote(run.Promotion(required_plan(self.folder), request, console, self._confirm))

    def edit_by_hand(self, stack: str) -> None:
        self.now += timedelta(minutes=1)
        self.stacks[stack].change = FieldOwner("kubectl-edit", self.now.isoformat())

    def publish(self, stack: str, verdict: str = "pass") -> None:
        """A validation a minute later."""
        self.now += timedelta(minutes=1)
        flows = self.stacks[stack].outputs["replications"]
        before, digest = self.stacks[stack].validation, flows["orders"]["digest"]
        begun = before.passing_since if before is not None and before.digest == digest else None
        since = (begun or self.now) if verdict == "pass" else None
        checks = {"parity": CheckResult(verdict, "3 of 3")}
        self.stacks[stack].validation = FlowProof(digest, verdict, self.now, since, checks)

    def preview(self, settings: StackSettings, say: Any) -> dict[str, int]:
        say(f"preview of {settings.stack}")
        changed = self.stacks[settings.stack].changed or self._other_model(settings)
        return {"update": 1} if changed else {"same": 1}

    def up(self, settings: StackSettings, say: Any) -> None:
        say(f"up of {settings.stack}")
        self.log.append(f"up {settings.stack}")
        self._deploy(settings, "pulumi-kubernetes")

    def apply(self, stack: str) -> None:
        """What the stack's files render, applied by Argo CD a minute later."""
        self.now += timedelta(minutes=1)
        self._deploy(read_settings(stack, self.folder), "argocd-controller")

    def _deploy(self, settings: StackSettings, by: str) -> None:
        stack = self.stacks[settings.stack]
        if stack.changed or self._other_model(settings):
            stack.change = FieldOwner(by, self.now.isoformat())
        digests = flow_digests(settings.topology)
        flows = {name: {"namespace": f"mirror-{name}", "digest": digest} for name, digest in digests.items()}
        stack.outputs = {"modelDigest": model_digest(settings.topology), "replications": flows, "validation": {}}
        stack.changed = False

    def wait_ready(self, settings: StackSettings, _seconds: float) -> None:
        self.log.append(f"wait {settings.stack}")

    def outputs(self, settings: StackSettings) -> dict[str, Any]:
        return self.stacks[settings.stack].outputs

    outputs_if_deployed = outputs

    def _other_model(self, settings: StackSettings) -> bool:
        return self.stacks[settings.stack].outputs.get("modelDigest") != model_digest(settings.topology)

    def _validate(self, job: ValidationRun, _: Console) -> int:
        assert job.publish, "the evidence is read from what the job publishes"
        assert job.declared is job.settings.by_gitops, "Pulumi has no outputs of what it did not deploy"
        self.log.append(f"validate {job.settings.stack}")
        self.publish(job.settings.stack, "fail" if self.exit_code else "pass")
        return self.exit_code

    def _confirm(self, stack: str) -> None:
        self.log.append(f"ask {stack}")

    def _clock(self) -> type:
        world = self

        class Clock(datetime):
            @classmethod
            def now(cls, _zone: Any = None) -> datetime:  # type: ignore[override]
                return world.now

        return Clock


class Cluster:
    """Stands in for `infra.deploy.promotion.rule.evidence.StackCluster`."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def validation(self, _flow: str, _namespace: str) -> FlowProof | None:
        return self._stack.validation

    def last_change(self, _namespace: str) -> FieldOwner | None:
        return self._stack.change

    def evidence(self, _namespace: str) -> Evidence | None:
        return self._stack.evidence

    def record(self, evidence: Evidence, _namespace: str) -> None:
        self._stack.evidence = replace(evidence)
