"""Where a stack runs: a real Kubernetes cluster, or the local stack. Only this module decides which it is. Everything
that differs between the two is a member of both types, which all other modules call.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.components.flows.resolved import ResolvedFlow
from kafka_replication.components.render.kafka_users import kafka_user_objects
from kafka_replication.components.render.planned_objects import PlannedObject
from kafka_replication.infra.stack.project import Workspace, find_project, local_folder, provider_variables
from kafka_replication.infra.stack.settings import KubernetesAccess, StackSettings, stack_file
from kafka_replication.infra.stack.yaml_files import shown

if TYPE_CHECKING:
    from kafka_replication.infra.local.environment import LocalStackEnvironment

StackEnvironment: TypeAlias = "ClusterEnvironment | LocalStackEnvironment"


def stack_environment(settings: StackSettings) -> StackEnvironment:
    """Return where a stack runs, as `replication:local` in its file says."""
    if settings.local:
        # Commands for a real cluster do not load the local stack.
        from kafka_replication.infra.local.environment import LocalStackEnvironment

        return LocalStackEnvironment(settings)
    return ClusterEnvironment(settings)


@dataclass(frozen=True)
class ClusterEnvironment:
    """A real Kubernetes cluster; its stack file and the user's own Pulumi and kubeconfig determine everything."""

    settings: StackSettings
    #: Whether only this machine has the stack: nobody else can deploy it, and it may be stopped.
    on_this_machine = False
    #: A phrase that names the Kubernetes provider with which the stack is deployed.
    provider = "Pulumi's Kubernetes provider plugin"
    #: How often the operator looks at each of its resources again.
    #: Source: Strimzi ClusterOperatorConfig, STRIMZI_FULL_RECONCILIATION_INTERVAL_MS.
    reconciliation_seconds = 120.0

    @property
    def validation_folder(self) -> Path:
        """Return where the validation job's files go."""
        return local_folder() / "validation" / self.settings.stack

    def configured(self) -> StackSettings:
        """Return the settings with every address, and the name of every secret, that the stack is deployed with."""
        return self.settings

    def kubernetes_access(self) -> KubernetesAccess:
        """Return how to reach the stack's Kubernetes cluster. Raises CannotRunError if only Pulumi's engine can."""
        settings = self.settings
        inline = ("kubernetes:kubeconfig",) if "\n" in (settings.kubeconfig or "") else ()
        if unusable := (*settings.encrypted_access, *inline):
            raise CannotRunError(
                "kubeconfig-unreadable",
                f"`{unusable[0]}` is {'encrypted' if settings.encrypted_access else 'a whole file, not its path'}",
                shown(stack_file(settings.stack, settings.stacks)),
                "Only Pulumi's engine can read it in that form, and this command asks the cluster without the engine.",
                "keep the kubeconfig in a file, and name it by KUBECONFIG or by its path in `kubernetes:kubeconfig`.",
            )
        return KubernetesAccess(settings.kubeconfig, settings.context)

    @contextmanager
    def workspace(self, *, overwrite: bool = False, deploys: bool = True) -> Iterator[Workspace]:  # noqa: ARG002
        """Yield where Pulumi's engine works on the stack. With `overwrite`, the provider takes back fields of other
        owners; unless it `deploys`, the engine only reads the state."""
        project = find_project(self.settings.stacks)
        if project.stacks != self.settings.stacks.resolve():
            what = f"stack `{self.settings.stack}` is not one of this project"
            why = f"Pulumi reads the stack files of this project in {shown(project.stacks)}."
            remedy = "leave out `--stacks`, or set `stackConfigDir` in Pulumi.yaml to that folder."
            raise CannotRunError("stack-outside-project", what, shown(self.settings.stacks), why, remedy)
        yield Workspace(project.folder, project.name, provider_variables(overwrite=overwrite))

    def before_deploy(self, flows: Sequence[ResolvedFlow]) -> Sequence[str]:  # noqa: ARG002
        """Do what these flows need beyond the deployment itself. Returns sentences about what was not done."""
        # The owners of the Kafka clusters grant the ACLs.
        return ()

    def awaited_users(self) -> Sequence[PlannedObject]:
        """Return the KafkaUsers that have to become Ready."""
        return kafka_user_objects(self.settings.topology, self.settings.region)
