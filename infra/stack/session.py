"""Finds the flow that a command's argument names."""

import base64
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeVar

from kafka_replication.components.clients.login import ClientConfig, Purpose, client_config
from kafka_replication.components.contract.parameters import ClusterParameters, CredentialReference, FlowParameters
from kafka_replication.components.contract.problems import CannotRunError, Problem, raise_errors
from kafka_replication.components.flows.resolved import ResolvedFlow, resolve_flows
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.render.flow_acls import flows_without_addresses
from kafka_replication.components.render.job_parameters import flow_parameters
from kafka_replication.infra.stack.environment import StackEnvironment, stack_environment
from kafka_replication.infra.stack.settings import StackSettings
from kafka_replication.infra.stack.stack_checks import (
    check_configuration,
    raise_by_gitops,
    raise_mistakes,
    raise_without_stack,
)

if TYPE_CHECKING:
    from kafka_replication.infra.kubernetes.api import KubernetesApi, Object


def flow_named(name: str, flows: Iterable[ResolvedFlow], stack: str) -> ResolvedFlow:
    """Return the flow with that name in a stack, or raise a CannotRunError that names the most similar one."""
    known = {flow.name: flow for flow in flows}
    if name not in known:
        similar = nearest(name, known)
        why = f"Its flows are: {', '.join(f'`{name}`' for name in known) or 'none'}."
        remedy = f"name `{similar}`." if similar else "name one of these."
        raise CannotRunError("unknown-flow", f"no flow `{name}`", f"stack `{stack}`", why, remedy)
    return known[name]


#: Seconds to connect to the Kubernetes API server, and for its answer, where a person waits for many answers.
QUICK = (3.0, 5.0)

Client = TypeVar("Client")


class OpenStack:
    """A stack's flows and its clusters, for any thread. Members raise ReplicationError and CannotRunError."""

    def __init__(self, settings: StackSettings, *, configured: StackSettings | None = None) -> None:
        """`configured` are the settings with every address, if Pulumi's engine has given them to the program."""
        self.settings = settings
        if configured is not None:
            self.configured = configured
        self._lock = threading.RLock()
        self._opened = ExitStack()
        self._parameters: dict[str, FlowParameters] = {}
        self._secrets: dict[tuple[str, str], Object | None] = {}
        self._clients: dict[tuple[object, ...], object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clients.clear()
        self._secrets.clear()
        self._opened.close()

    @property
    def name(self) -> str:
        return self.settings.stack

    @cached_property
    def environment(self) -> StackEnvironment:
        """Return where the stack runs."""
        return stack_environment(self.settings)

    @cached_property
    def configured(self) -> StackSettings:
        """Return the settings with every address that the stack is deployed with."""
        return self.environment.configured()

    def check(self) -> tuple[Problem, ...]:
        """Check the stack's files once. Raises ReplicationError for an error, and returns the warnings."""
        return self._warnings

    @cached_property
    def _warnings(self) -> tuple[Problem, ...]:
        return raise_mistakes(self.settings)

    @cached_property
    def flows(self) -> tuple[ResolvedFlow, ...]:
        """Return the flows with their addresses. Mistakes are raised first: to correct them, nothing has to run."""
        self.check()
        raise_without_stack(self.settings)
        configured = self.configured
        return resolve_flows(configured.topology, configured.region, configured.values)

    @cached_property
    def declared_flows(self) -> tuple[ResolvedFlow, ...]:
        """Return the same flows for what needs no address; a phrase stands for one that only the configuration has."""
        self.check()
        return flows_without_addresses(self.settings.topology, self.settings.region)

    def flow(self, name: str) -> ResolvedFlow:
        """Return the flow of this name, or raise a CannotRunError that names the most similar one."""
        return flow_named(name, self.flows, self.name)

    def declared_flow(self, name: str) -> ResolvedFlow:
        """Return the same flow for what needs no address."""
        return flow_named(name, self.declared_flows, self.name)

    def parameters(self, flow: ResolvedFlow) -> FlowParameters:
        """Return the parameters with which the validation job reads both clusters of a flow."""
        if flow.name not in self._parameters:
            self._parameters[flow.name] = flow_parameters(flow)
        return self._parameters[flow.name]

    def require_pulumi(self) -> None:
        """Raise an error unless Pulumi may deploy the stack, and its configuration has every address and credential."""
        raise_by_gitops(self.settings)
        self.require_credentials()

    def require_credentials(self) -> None:
        """Raise a ReplicationError if the configuration lacks an address or a credential that a flow needs."""
        self.check()
        raise_errors(check_configuration(self.configured))

    @cached_property
    def kubernetes(self) -> "KubernetesApi":
        """Return the only client of the stack's Kubernetes cluster; `asking_kubernetes` explains its errors."""
        # Loading the client takes longer than a check, which needs none.
        from kafka_replication.infra.kubernetes.access import api_client

        return self._opened.enter_context(api_client(self.settings, self.environment.kubernetes_access()))

    @contextmanager
    def asking_kubernetes(self, why: str, permission: str) -> "Iterator[KubernetesApi]":
        """Lend the client. An ApiError becomes a CannotRunError that says `why` we ask; `permission` is the remedy."""
        from kafka_replication.infra.kubernetes.access import asking_kubernetes

        with asking_kubernetes(f"stack {self.name}", why, permission):
            yield self.kubernetes

    def kafka(
        self, client: Callable[[str, ClientConfig], Client], cluster: ClusterParameters, purpose: Purpose
    ) -> Client:
        """Return the client of a Kafka cluster with this login, made once by `client`. Raises CannotRunError."""
        with self._lock:
            known = self._clients.get((client, cluster))
            if known is None:
                config = client_config(cluster, lambda wanted: self.credential(cluster.alias, wanted, purpose), purpose)
                # Flows that log in to a cluster in the same way share a client.
                login = (client, cluster.alias, *sorted(config.items()))
                known = self._clients.get(login) or client(cluster.alias, config)
                self._clients[login] = self._clients[client, cluster] = known
            return known  # type: ignore[return-value]  # a type checker cannot relate the key to the value

    def credential(self, alias: str, wanted: CredentialReference, purpose: Purpose) -> str:
        """Return a credential of the Kafka cluster `alias`. Raises CannotRunError if there is no such value."""
        assert wanted.secret is not None
        place, key = (wanted.secret.namespace, wanted.secret.name), wanted.secret.key
        with self._lock:
            if place not in self._secrets:
                self._secrets[place] = self._read_secret(*place, purpose)
            secret = self._secrets[place]
        data: Mapping[str, str] = (secret or {}).get("data") or {}
        if key not in data:
            what = f"there is no key `{key}`" if secret else "there is no such Secret"
            where, remedy = f"Secret {'/'.join(place)}", f"deploy the stack or create the Secret{purpose.instead}."
            raise CannotRunError("no-credential", f"{what} for `{alias}`", where, purpose.why, remedy)
        return base64.b64decode(data[key]).decode()

    def _read_secret(self, namespace: str, name: str, purpose: Purpose) -> "Object | None":
        from kafka_replication.infra.kubernetes.access import asking_kubernetes
        from kafka_replication.infra.kubernetes.api import Reference

        where = f"Secret {namespace}/{name}"
        with asking_kubernetes(where, purpose.why, f"let your user `get` the {where}{purpose.instead}."):
            return self.kubernetes.within(QUICK).get(Reference("v1", "Secret", namespace, name))
