"""The provider that Pulumi's engine asks for the schema and for components; it reports mistakes as sentences."""

import json
from collections.abc import Iterable
from importlib.metadata import version

import pulumi
from pulumi.errors import InputPropertiesError
from pulumi.provider import ConstructResult
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

from kafka_replication.components.contract.problems import ReplicationError
from kafka_replication.components.properties.definitions import nearest
from kafka_replication.components.provider.package_schema import with_types
from kafka_replication.components.provider.replications import PACKAGE, Replications


class Host(ComponentProvider):
    """Pulumi's component provider for `Replications`. Raises InputPropertiesError, which Pulumi shows without a trace.
    Source: pulumi.provider.experimental.component_provider_host, which shows a trace for every exception and ignores
    unknown arguments.
    """

    def __init__(self) -> None:
        super().__init__([Replications], PACKAGE, version=version(PACKAGE))
        self.schema = json.dumps(with_types(json.loads(self.schema or "")))

    def construct(
        self, name: str, resource_type: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        known = sorted(self._component_defs[Replications.__name__].inputs)
        if unknown := sorted(set(inputs) - set(known)):
            raise _refused(name, [_unknown(key, known) for key in unknown])
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            if not isinstance(error.inner, ReplicationError):
                raise
            raise _refused(name, map(str, error.inner.problems)) from error


def _refused(name: str, sentences: Iterable[str]) -> InputPropertiesError:
    """Return all sentences as one message: with the path of an argument, the engine would print its value, even a
    secret.

    Source: pulumi, pkg/resource/deploy/source_eval.go, errorToMessage.
    """
    return InputPropertiesError("\n  - ".join([f"nothing of `{name}` was deployed:", *sentences]), [])


def _unknown(key: str, known: list[str]) -> str:
    near = nearest(key, known)
    remedy = f"did you mean `{near}`?" if near else f"remove it; the arguments are {', '.join(known)}."
    return f"`{key}` is not an argument. It would have no effect. Remedy: {remedy}"
