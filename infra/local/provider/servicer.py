"""Serves Pulumi's provider protocol: decodes a request, calls Operations, encodes the result or a one-line error."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, TypeVar

import grpc
from google.protobuf import any_pb2, empty_pb2
from grpc import ServicerContext as Context
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc, status_pb2
from pulumi.runtime.proto import provider_pb2 as pb

from kafka_replication.infra.kubernetes.api import ApiError, KubernetesApi, reference
from kafka_replication.infra.local.provider import manifests
from kafka_replication.infra.local.provider.manifests import InputChanges, Properties, compare, decode, encode
from kafka_replication.infra.local.provider.operations import (
    DEFAULT_DEADLINE_SECONDS,
    FIELD_MANAGER,
    NotReadyError,
    OperationError,
    Operations,
)

# Names and arguments of the methods are the protocol's.
# ruff: noqa: N802, ARG002


T = TypeVar("T")

#: Options that an explicit provider may have; they have no effect, because serve() decides where to connect.
HONOURED_OPTIONS = frozenset({"kubeconfig", "context", "cluster", "enableServerSideApply", "version"})


class KubernetesProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves every `kubernetes:<group>/<version>:<Kind>` that is a plain object. Method names are the protocol's."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def Handshake(self, request: pb.ProviderHandshakeRequest, context: Context) -> pb.ProviderHandshakeResponse:
        return pb.ProviderHandshakeResponse()

    def Attach(self, request: plugin_pb2.PluginAttach, context: Context) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: Context) -> plugin_pb2.PluginInfo:
        # The engine warns if a plugin is older than the package that the program uses.
        return plugin_pb2.PluginInfo(version=f"{metadata.version('pulumi-kubernetes')}+local")

    def CheckConfig(self, request: pb.CheckRequest, context: Context) -> pb.CheckResponse:
        failures = [
            pb.CheckFailure(property=name, reason="the local Kubernetes provider does not have this option")
            for name in sorted(set(request.news.fields) - HONOURED_OPTIONS)
        ]
        return pb.CheckResponse(inputs=request.news, failures=failures)

    def DiffConfig(self, request: pb.DiffRequest, context: Context) -> pb.DiffResponse:
        # No option affects the objects, so none may replace the provider, which would replace every object.
        return _changes_response(compare(decode(request.old_inputs), decode(request.news)), may_replace=False)

    def Configure(self, request: pb.ConfigureRequest, context: Context) -> pb.ConfigureResponse:
        # With acceptSecrets False, the engine sends plain values. It marks a value that comes back under the same
        # property as secret again, so this code cannot forget to.
        self._operations.resume()
        return pb.ConfigureResponse(supportsPreview=True)

    def Check(self, request: pb.CheckRequest, context: Context) -> pb.CheckResponse:
        inputs = decode(request.news)
        failures = [pb.CheckFailure(property=name, reason=why) for name, why in problems(inputs, request.urn)]
        if not failures:
            inputs = _answer(context, lambda: self._operations.with_namespace(inputs))
        return pb.CheckResponse(inputs=encode(inputs), failures=failures)

    def Diff(self, request: pb.DiffRequest, context: Context) -> pb.DiffResponse:
        return _changes_response(compare(decode(request.old_inputs), decode(request.news)))

    def Create(self, request: pb.CreateRequest, context: Context) -> pb.CreateResponse:
        inputs = decode(request.properties)
        if request.preview:
            planned = _answer(context, lambda: self._operations.preview_create(inputs))
            return pb.CreateResponse(properties=encode(planned))
        created = _answer(context, lambda: self._operations.create(inputs))
        return pb.CreateResponse(id=reference(inputs).identifier, properties=encode(created))

    def Read(self, request: pb.ReadRequest, context: Context) -> pb.ReadResponse:
        inputs = decode(request.inputs) or kind_of_urn(request.urn)
        answer = _answer(context, lambda: self._operations.read(request.id, inputs))
        if answer is None:
            return pb.ReadResponse(id="")
        live_inputs, outputs = answer
        return pb.ReadResponse(id=request.id, inputs=encode(live_inputs), properties=encode(outputs))

    def Update(self, request: pb.UpdateRequest, context: Context) -> pb.UpdateResponse:
        inputs = decode(request.news)
        if request.preview:
            planned = _answer(context, lambda: self._operations.preview_update(inputs))
            return pb.UpdateResponse(properties=encode(planned))
        updated = _answer(context, lambda: self._operations.update(inputs), request.id, inputs)
        return pb.UpdateResponse(properties=encode(updated))

    def Delete(self, request: pb.DeleteRequest, context: Context) -> empty_pb2.Empty:
        _answer(
            context,
            lambda: self._operations.delete(decode(request.properties), request.timeout or DEFAULT_DEADLINE_SECONDS),
        )
        return empty_pb2.Empty()

    def Invoke(self, request: pb.InvokeRequest, context: Context) -> pb.InvokeResponse:
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED,
            f"the local Kubernetes provider does not support functions, such as {request.tok}",
        )

    def Cancel(self, request: empty_pb2.Empty, context: Context) -> empty_pb2.Empty:
        self._operations.cancel()
        return empty_pb2.Empty()


def problems(inputs: Properties, urn: str) -> list[tuple[str, str]]:
    """Return (property, why) for everything that the local provider cannot deploy."""
    if not inputs.get("apiVersion") or not inputs.get("kind") or urn.partition("::")[0].endswith("Patch"):
        return [
            ("", "the local Kubernetes provider deploys plain objects only: no charts, patches, lists or YAML files")
        ]
    given = inputs.get("metadata") or {}
    if isinstance(given, dict) and not given.get("name"):
        return [("metadata.name", "the local Kubernetes provider does not generate names: set one")]
    annotations = given.get("annotations") if isinstance(given, dict) else None
    if isinstance(annotations, dict) and manifests.WAIT_FOR in annotations:
        where = f'metadata.annotations["{manifests.WAIT_FOR}"]'
        return [(where, "the local Kubernetes provider does not wait for conditions; `replicate up` does")]
    return []


def kind_of_urn(urn: str) -> Properties:
    """Return the apiVersion and kind from the type token in a URN, `kubernetes:<group>/<version>:<Kind>`."""
    token = urn.split("::")[2].rpartition("$")[2]
    _, api_version, kind = token.split(":")
    return {"apiVersion": api_version.removeprefix("core/"), "kind": kind}


def _answer(context: Context, call: Callable[[], T], identifier: str = "", inputs: Properties | None = None) -> T:
    try:
        return call()
    except NotReadyError as error:
        _abort_keeping(context, error, identifier, inputs or {})
    except (ApiError, OperationError) as error:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))


def _abort_keeping(context: Context, error: NotReadyError, identifier: str, inputs: Properties) -> NoReturn:
    """Fail, and tell the engine that the object exists; otherwise the next run would refuse the object as foreign."""
    detail = any_pb2.Any()
    detail.Pack(
        pb.ErrorResourceInitFailed(
            id=identifier, properties=encode(error.outputs), inputs=encode(inputs), reasons=[str(error)]
        )
    )
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(error), details=[detail])
    trailer = (("grpc-status-details-bin", status.SerializeToString()),)
    # gRPC's own class for this is abstract.
    rich: Any = SimpleNamespace(code=grpc.StatusCode.UNKNOWN, details=str(error), trailing_metadata=trailer)
    context.abort_with_status(rich)
    raise AssertionError("abort_with_status raises")


def _changes_response(changes: InputChanges, *, may_replace: bool = True) -> pb.DiffResponse:
    replacing = [change.path for change in changes.changes if change.replaces and may_replace]
    kinds = {
        change.path: f"{change.kind.name}_REPLACE" if change.path in replacing else change.kind.name
        for change in changes.changes
    }
    some, none = pb.DiffResponse.DIFF_SOME, pb.DiffResponse.DIFF_NONE
    return pb.DiffResponse(
        changes=some if changes.changes else none,
        replaces=replacing,
        diffs=list(kinds),
        deleteBeforeReplace=changes.delete_before_replace and may_replace,
        hasDetailedDiff=True,
        detailedDiff={
            path: pb.PropertyDiff(kind=pb.PropertyDiff.Kind.Value(kind), inputDiff=True) for path, kind in kinds.items()
        },
    )


#: More than the engine runs at once (16 by default on a large machine): one that waits must not block another.
THREADS = 32
#: The limit that Pulumi's own plugins set.
LONGEST_MESSAGE_BYTES = 400 * 1024 * 1024
#: How long started operations may take at shutdown: an existing object must get into Pulumi's state.
GRACE_SECONDS = 30.0


@contextmanager
def serve(kubeconfig: Path, *, patch_force: bool = False) -> Iterator[int]:
    """Serve the provider on a free loopback port, and yield the port. `patch_force` is its option enablePatchForce."""
    with KubernetesApi(kubeconfig, field_manager=FIELD_MANAGER) as api:
        operations = Operations(api, patch_force=patch_force)
        size = [("grpc.max_receive_message_length", LONGEST_MESSAGE_BYTES)]
        server = grpc.server(ThreadPoolExecutor(THREADS, "kubernetes-provider"), options=size)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(KubernetesProvider(operations), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield port
        finally:
            operations.cancel()
            server.stop(GRACE_SECONDS).wait()
