"""Serves Pulumi's provider protocol for plain Kubernetes objects with server-side apply, in threads of this process.

Every object goes to the one cluster that serve() was given, whatever kubeconfig or context a program names.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from infra.kubernetes.api import KubernetesApi
from infra.local.provider.field_managers import FIELD_MANAGER
from infra.local.provider.operations import Operations
from infra.local.provider.servicer import KubernetesProvider

THREADS = 32
"""More than the engine runs at once (16 by default on a large machine): one that waits must not block another."""

LONGEST_MESSAGE_BYTES = 400 * 1024 * 1024
"""The limit that Pulumi's own plugins set."""

GRACE_SECONDS = 30.0
"""How long started operations may take at shutdown: an existing object must get into Pulumi's state."""


@contextmanager
def serve(kubeconfig: Path, *, patch_force: bool = False) -> Iterator[int]:
    """Serve the provider on a free loopback port while the context lasts, and yield the port.

    With `patch_force` it takes over fields from other owners, as the real one does with enablePatchForce.
    """
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
