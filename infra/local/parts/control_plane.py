"""The control plane of the local stack: etcd, kube-apiserver with RBAC, and a few controllers."""

import base64
import json
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.certificates import Authority
from kafka_replication.infra.local.parts.part import Launch, StackFacts, StackServer, expect_ok, plain_environment
from kafka_replication.infra.local.state import write_private
from kafka_replication.infra.machine.waiting import NotYetError, wait_for

AUTHORITY = Authority("kubernetes")
#: The key of the administrator's token in the state's passwords.
ADMIN = "kubernetes/admin"
#: Without them a deleted namespace stays forever, owned objects are not deleted, quotas are not counted, and no Job or
#: Deployment has a Pod.
CONTROLLERS = (
    *("namespace-controller", "garbage-collector-controller", "serviceaccount-controller"),
    *("resourcequota-controller", "job-controller", "cronjob-controller"),
    *("deployment-controller", "replicaset-controller"),
)


def etcd_launch(site: StackFacts) -> Launch:
    """Launch one member on disk. It holds every Secret, so only clients with a certificate of the stack may connect."""
    server = AUTHORITY.issue("etcd")
    client = f"https://127.0.0.1:{site.ports['etcd']}"
    peer = f"https://127.0.0.1:{site.ports['etcd-peer']}"
    flags = {
        "name": "local",
        "data-dir": paths.data() / "etcd",
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"local={peer}",
        "client-cert-auth": "true",
        "peer-client-cert-auth": "true",
        # Without fsync, files survive a kill -9 of the process; only a crash of the machine could lose them.
        "unsafe-no-fsync": "true",
        "log-level": "warn",
        # Without --cert-file etcd would serve unencrypted and not warn.
        **{f"{side}cert-file": server.certificate for side in ("", "peer-")},
        **{f"{side}key-file": server.key for side in ("", "peer-")},
        **{f"{side}trusted-ca-file": AUTHORITY.certificate for side in ("", "peer-")},
    }
    return Launch((site.artifacts.etcd, *_flags(flags)), plain_environment())


def apiserver_launch(site: StackFacts) -> Launch:
    """Launch the API server on loopback, with RBAC; it signs service account tokens itself."""
    server, etcd_client = AUTHORITY.issue("kube-apiserver"), AUTHORITY.issue("kube-apiserver-etcd-client")
    signing = AUTHORITY.issue("service-accounts")
    tokens = paths.control_plane() / "tokens.csv"
    write_private(tokens, f'{site.passwords[ADMIN]},admin,admin,"system:masters"\n')
    write_private(paths.kubeconfig(), admin_kubeconfig(site.ports["kube-apiserver"], site.passwords[ADMIN]))
    flags = {
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": site.ports["kube-apiserver"],
        "tls-cert-file": server.certificate,
        "tls-private-key-file": server.key,
        "etcd-servers": f"https://127.0.0.1:{site.ports['etcd']}",
        "etcd-cafile": AUTHORITY.certificate,
        "etcd-certfile": etcd_client.certificate,
        "etcd-keyfile": etcd_client.key,
        "service-cluster-ip-range": "10.0.0.0/24",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": signing.certificate,
        "service-account-signing-key-file": signing.key,
        "token-auth-file": tokens,
        "authorization-mode": "RBAC",
        "endpoint-reconciler-type": "none",
        "profiling": "false",
    }
    return Launch((site.artifacts.kube_apiserver, *_flags(flags)), plain_environment())


def controller_manager_launch(site: StackFacts) -> Launch:
    """Launch the controllers that the stack needs, and no others."""
    server = AUTHORITY.issue("kube-controller-manager")
    flags = {
        "kubeconfig": paths.kubeconfig(),
        "bind-address": "127.0.0.1",
        "secure-port": site.ports["kube-controller-manager"],
        "tls-cert-file": server.certificate,
        "tls-private-key-file": server.key,
        "controllers": ",".join(CONTROLLERS),
        "leader-elect": "false",
        "profiling": "false",
    }
    return Launch((site.artifacts.kube_controller_manager, *_flags(flags)), plain_environment())


def admin_kubeconfig(port: int, token: str) -> str:
    """Return the administrator's kubeconfig, with the certificate and the token in it."""
    authority = base64.b64encode(AUTHORITY.certificate.read_bytes()).decode("ascii")
    return kubeconfig({"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority}, "admin", token)


def kubeconfig(cluster: Mapping[str, Any], user: str, token: str, **context: str) -> str:
    """Return a kubeconfig (JSON is YAML) for one user of one cluster."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "local",
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": user, **context}}],
            "clusters": [{"name": "local", "cluster": dict(cluster)}],
            "users": [{"name": user, "user": {"token": token}}],
        },
        indent=2,
    )


def apply_definitions(site: StackFacts, files: Iterable[Path]) -> None:
    """Apply these CustomResourceDefinitions, and wait until the API server serves them."""
    # By plain HTTP: importing a Kubernetes client takes longer than a second `up` of a running stack.
    with api_client(site) as client:
        for file in files:
            _apply_crd(client, file.read_text(encoding="utf-8"))


def _apply_crd(client: httpx.Client, text: str) -> None:
    name = yaml.load(text, Loader=yaml.CSafeLoader)["metadata"]["name"]
    url = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    response = client.patch(
        url,
        params={"fieldManager": "replicate-local", "force": "true"},
        headers={"Content-Type": "application/apply-patch+yaml"},
        content=text.encode("utf-8"),
    )
    if response.is_error:
        what = f"the API server refused the definition {name} (HTTP {response.status_code})"
        why = "A stack deploys objects of this kind."
        remedy = "run `replicate local down --purge` and `replicate local up` again"
        raise CannotRunError("definition-refused", what, "kube-apiserver", why, remedy, response.text[:1000])

    def expect_established() -> None:
        conditions = client.get(url).json().get("status", {}).get("conditions") or []
        if not any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions):
            raise NotYetError(f"conditions {conditions}")

    # The server accepts a definition before it serves it, and answers 404 for its objects until then.
    wait_for(f"the definition {name} to be served", expect_established, 120.0)


def api_client(site: StackFacts) -> httpx.Client:
    """Return a client of the API server as administrator, with a timeout."""
    return httpx.Client(
        base_url=f"https://127.0.0.1:{site.ports['kube-apiserver']}",
        headers={"Authorization": f"Bearer {site.passwords[ADMIN]}"},
        verify=_trust(),
        timeout=60.0,
        trust_env=False,
    )


def _etcd_probe(site: StackFacts) -> None:
    context = _trust()
    client = AUTHORITY.issue("kube-apiserver-etcd-client")
    context.load_cert_chain(client.certificate, client.key)
    with httpx.Client(verify=context, timeout=2.0, trust_env=False) as http:
        expect_ok(http, f"https://127.0.0.1:{site.ports['etcd']}/health")


def _apiserver_probe(site: StackFacts) -> None:
    with api_client(site) as client:
        expect_ok(client, "/readyz")


def _controller_manager_probe(site: StackFacts) -> None:
    with httpx.Client(verify=_trust(), timeout=2.0, trust_env=False) as client:
        expect_ok(client, f"https://127.0.0.1:{site.ports['kube-controller-manager']}/healthz")


def _trust() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=AUTHORITY.certificate)


def _flags(flags: dict[str, object]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]


ETCD = StackServer("etcd", etcd_launch, _etcd_probe, ports=("etcd", "etcd-peer"))
KUBE_APISERVER = StackServer(
    "kube-apiserver",
    apiserver_launch,
    _apiserver_probe,
    configure=lambda site: apply_definitions(site, site.artifacts.crds),
    ports=("kube-apiserver",),
)
KUBE_CONTROLLER_MANAGER = StackServer(
    "kube-controller-manager", controller_manager_launch, _controller_manager_probe, ports=("kube-controller-manager",)
)
