"""How to reach the local stack. A password goes only into files with mode 0600 and into clients' configurations."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kafka_replication.components.contract.problems import CannotRunError
from kafka_replication.infra.local import paths
from kafka_replication.infra.local.certificates import Authority, KeyPair
from kafka_replication.infra.local.parts import processes
from kafka_replication.infra.local.state import State, load_state

REGIONS = ("useast", "uswest")

ADMIN = "admin"
MIRROR = "mirror"
VALIDATOR = "validator"
APP = "app"
#: In this order: super user and broker; Connect and its connectors; the validation job; the traffic's clients.
USERS = (ADMIN, MIRROR, VALIDATOR, APP)


def password_key(region: str, user: str) -> str:
    """Return the key of a user's password in the state."""
    return f"{region}/{user}"


def with_passwords(known: Mapping[str, str], wanted: tuple[str, ...]) -> dict[str, str]:
    """Return the known passwords, and new ones for other wanted keys, which no file format has to quote."""
    return {**{key: secrets.token_hex(16) for key in wanted}, **known}


@dataclass(frozen=True)
class User:
    """A Kafka user, who logs in with SASL PLAIN or SCRAM-SHA-512 by password, or with mutual TLS by certificate."""

    name: str
    password: str = field(repr=False)
    certificate: KeyPair


class Region:
    """A Kafka cluster. `bootstrap_servers` is the SASL_SSL listener, `tls_bootstrap_servers` the mutual TLS one."""

    def __init__(self, alias: str, ports: Mapping[str, int], passwords: Mapping[str, str]) -> None:
        """Issues the certificates that do not exist yet."""
        authority = Authority(alias)
        self.alias = alias
        self.bootstrap_servers = f"127.0.0.1:{ports[part_name(alias)]}"
        self.tls_bootstrap_servers = f"127.0.0.1:{ports[f'{part_name(alias)}-tls']}"
        self.ca_file = authority.certificate
        self.users = {name: User(name, passwords[password_key(alias, name)], authority.issue(name)) for name in USERS}

    def client_config(self, user: str) -> dict[str, str | int | float | bool]:
        """Return a librdkafka configuration for `user`. It contains the password, so never print it."""
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": self.users[user].name,
            "sasl.password": self.users[user].password,
            "ssl.ca.location": str(self.ca_file),
            # Critical: librdkafka would print its log to the terminal, and every failure is an exception anyway.
            "log_level": 2,
        }


class Endpoints:
    """The addresses in a state file, whether or not anything is running there: the administrator's kubeconfig, and the
    regions by alias.
    """

    def __init__(self, state: State) -> None:
        self.kubeconfig = paths.kubeconfig()
        self.regions = {alias: Region(alias, state.ports, state.passwords) for alias in REGIONS}


def load_endpoints(needed: Iterable[str] = ()) -> Endpoints:
    """Return the endpoints of the stack. Raises CannotRunError if its API server or a `needed` region is down, or a
    region has never run.
    """
    state = load_state()
    never_ran = [alias for alias in REGIONS if part_name(alias) not in state.ports]
    parts = ["kube-apiserver", *(part_name(alias) for alias in (*needed, *never_ran))]
    if dead := [part for part in parts if not _alive(state, part)]:
        what = f"the local stack is not running (down: {', '.join(dict.fromkeys(dead))})"
        why = "The command works on its clusters."
        remedy = "run `replicate local up`"
        raise CannotRunError("local-stack-down", what, str(paths.state_file()), why, remedy)
    return Endpoints(state)


def regions_down() -> tuple[str, ...]:
    """Return the regions whose broker does not run."""
    state = load_state()
    return tuple(alias for alias in REGIONS if not _alive(state, part_name(alias)))


def _alive(state: State, part: str) -> bool:
    return part in state.parts and processes.alive(state.parts[part])


def part_name(alias: str) -> str:
    """Return the name of a region's broker as a part of the stack, and of its SASL_SSL port."""
    return f"kafka-{alias}"
