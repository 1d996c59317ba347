"""How to reach the running local stack: addresses, trust and users. What the rest of the project reads of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.local import paths, processes
from infra.local.certificates import Authority, KeyPair
from infra.local.errors import LocalStackError
from infra.local.state import State, load_state
from infra.local.users import REGIONS, USERS, password_key


@dataclass(frozen=True)
class User:
    """A Kafka user: the same name and password for SASL PLAIN and SCRAM-SHA-512, and a certificate for mutual TLS."""

    name: str
    password: str = field(repr=False)
    certificate: KeyPair


@dataclass(frozen=True)
class Region:
    """A Kafka cluster. `bootstrap_servers` is the SASL_SSL listener, `tls_bootstrap_servers` the mutual TLS one."""

    alias: str
    bootstrap_servers: str
    tls_bootstrap_servers: str
    ca_file: Path
    users: Mapping[str, User]

    def client_config(self, user: str) -> dict[str, str | int | float | bool]:
        """A librdkafka configuration for `user`; it holds the password, so it is never printed."""
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": self.users[user].name,
            "sasl.password": self.users[user].password,
            "ssl.ca.location": str(self.ca_file),
        }


@dataclass(frozen=True)
class Endpoints:
    """The whole stack from outside: the admin's kubeconfig, and the regions by alias."""

    kubeconfig: Path
    regions: Mapping[str, Region]


def load_endpoints() -> Endpoints:
    """The endpoints of the running stack. Raises LocalStackError if its API server or one of its regions is down."""
    state = load_state()
    needed = ("kube-apiserver", *(part_name(alias) for alias in REGIONS))
    dead = [name for name in needed if name not in state.parts or not processes.alive(state.parts[name])]
    if dead:
        raise LocalStackError(f"the local stack is not running (down: {', '.join(dead)})", "run `replicate local up`")
    return endpoints_of(state)


def endpoints_of(state: State) -> Endpoints:
    """The endpoints that the state describes, whether anything runs there or not."""
    regions = {alias: region_of(alias, state.ports, state.passwords) for alias in REGIONS}
    return Endpoints(kubeconfig=paths.KUBECONFIG, regions=regions)


def region_of(alias: str, ports: Mapping[str, int], passwords: Mapping[str, str]) -> Region:
    """The region with the stack's ports and passwords; certificates are issued if they are not there yet."""
    authority = Authority(alias)
    users = {name: User(name, passwords[password_key(alias, name)], authority.issue(name)) for name in USERS}
    return Region(
        alias=alias,
        bootstrap_servers=f"127.0.0.1:{ports[part_name(alias)]}",
        tls_bootstrap_servers=f"127.0.0.1:{ports[f'{part_name(alias)}-tls']}",
        ca_file=authority.certificate,
        users=users,
    )


def part_name(alias: str) -> str:
    """The name of the part that is a region's broker, and of its SASL_SSL port."""
    return f"kafka-{alias}"
