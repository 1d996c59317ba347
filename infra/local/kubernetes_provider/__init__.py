"""Stand-in for pulumi-resource-kubernetes on a machine where the real plugin cannot be had.

Serves Pulumi's provider protocol for plain Kubernetes objects by server-side apply, from threads of the calling
process. The engine uses it when PULUMI_DEBUG_PROVIDERS is `kubernetes:<port>`. Whatever kubeconfig or context a program
names, every object goes to the one cluster that serve() was given.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from infra.local.kubernetes_api import KubernetesApi
from infra.local.kubernetes_provider.cluster import FIELD_MANAGER, Cluster
from infra.local.kubernetes_provider.servicer import KubernetesProvider

__all__ = ["serve"]

THREADS = 32
"""The engine runs 16 operations at a time by default on a large machine; one that waits must not block another."""

LONGEST_MESSAGE_BYTES = 400 * 1024 * 1024
"""The limit that Pulumi's own plugins set."""

GRACE_SECONDS = 2.0


@contextmanager
def serve(kubeconfig: Path) -> Iterator[int]:
    """Serve the provider on a free loopback port for the length of the context, and give that port."""
    with KubernetesApi(kubeconfig, field_manager=FIELD_MANAGER) as api:
        cluster = Cluster(api)
        size = [("grpc.max_receive_message_length", LONGEST_MESSAGE_BYTES)]
        server = grpc.server(ThreadPoolExecutor(THREADS, "kubernetes-provider"), options=size)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(KubernetesProvider(cluster), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield port
        finally:
            cluster.cancel()
            server.stop(GRACE_SECONDS).wait()
