"""How the API server is launched: it listens on loopback only, and a token may do only what RBAC grants."""

import json
from pathlib import Path

import pytest

from kafka_replication.infra.local import paths
from kafka_replication.infra.local.artifacts import Artifacts
from kafka_replication.infra.local.parts import control_plane
from kafka_replication.infra.local.parts.part import Launch, StackFacts
from kafka_replication.infra.machine.jdk import Jdk

TOKEN = "a-token-that-nobody-may-see"
PORTS = {"etcd": 20001, "etcd-peer": 20002, "kube-apiserver": 20003, "kube-controller-manager": 20004}


def a_site() -> StackFacts:
    """A site with programs by name."""
    artifacts = Artifacts(
        jdk=Jdk(Path("jdk"), 21),
        etcd=Path("etcd"),
        kube_apiserver=Path("kube-apiserver"),
        kube_controller_manager=Path("kube-controller-manager"),
        pulumi=Path("pulumi"),
        connect_lib=Path("connect"),
        config_provider_lib=Path("config-provider"),
        metrics_lib=Path("metrics"),
        spark_lib=Path("spark"),
        crds=(),
    )
    return StackFacts(artifacts=artifacts, ports=PORTS, cluster_ids={}, passwords={control_plane.ADMIN: TOKEN})


def flags(launch: Launch) -> dict[str, str]:
    """The flags of a command line by name."""
    pairs = (str(word).removeprefix("--").partition("=") for word in launch.command[1:])
    return {name: value for name, _, value in pairs}


def launches() -> list[Launch]:
    """The commands of all three servers, in the order of their start."""
    return [
        control_plane.etcd_launch(a_site()),
        control_plane.apiserver_launch(a_site()),
        control_plane.controller_manager_launch(a_site()),
    ]


def test_every_server_listens_on_loopback_only() -> None:
    etcd, apiserver, controller_manager = map(flags, launches())
    assert apiserver["bind-address"] == controller_manager["bind-address"] == "127.0.0.1"
    assert etcd["listen-client-urls"] == "https://127.0.0.1:20001"
    assert etcd["listen-peer-urls"] == "https://127.0.0.1:20002"


def test_etcd_takes_only_clients_with_a_certificate_of_the_stack() -> None:
    etcd = flags(control_plane.etcd_launch(a_site()))
    assert etcd["client-cert-auth"] == etcd["peer-client-cert-auth"] == "true"
    assert etcd["trusted-ca-file"] == etcd["peer-trusted-ca-file"] == str(control_plane.AUTHORITY.certificate)


def test_the_api_server_authorizes_with_rbac() -> None:
    assert flags(control_plane.apiserver_launch(a_site()))["authorization-mode"] == "RBAC"


def test_no_command_line_and_no_environment_holds_the_admins_token() -> None:
    for launch in launches():
        assert TOKEN not in " ".join(map(str, launch.command))
        assert TOKEN not in json.dumps(dict(launch.env))
        assert TOKEN not in repr(launch)
    assert TOKEN not in repr(a_site())


def test_the_files_with_the_admins_token_are_private() -> None:
    control_plane.apiserver_launch(a_site())
    for file in (paths.kubeconfig(), paths.control_plane() / "tokens.csv"):
        assert TOKEN in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_callers_kubeconfig_and_java_options_do_not_reach_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/somebody/elses/cluster")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx64g")
    for launch in launches():
        assert not {"KUBECONFIG", "JAVA_TOOL_OPTIONS"} & set(launch.env)
