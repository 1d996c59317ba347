"""Holds what a new project is made from: its user's answers, the mistakes in them, and what nobody answered."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kafka_replication.components.contract.problems import Problem
from kafka_replication.components.kafka import connections
from kafka_replication.components.topology.clusters import is_label

#: Pulumi's own rule for the name of a project.
_PROJECT_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
#: A remote topic's name begins with the alias, up to the first `.`, and the flow's name in Kubernetes contains it.
_ALIAS = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?")
LOCAL = "local"


@dataclass(frozen=True)
class ClusterAnswers:
    """One Kafka cluster: its alias, its region and its bootstrap servers, `HOST:PORT` separated by commas."""

    alias: str
    region: str
    servers: str

    @property
    def kubernetes_name(self) -> str:
        """Return the alias as part of a name in Kubernetes."""
        return self.alias.lower().replace("_", "-")


@dataclass(frozen=True)
class Answers:
    """A first flow from one cluster to another. Each field is the option of `replicate init` with that name."""

    name: str
    environment: str
    source: ClusterAnswers
    target: ClusterAnswers
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    strimzi: str
    context: str | None
    package: str
    flow: str | None = None
    """None names it after its clusters."""

    @property
    def flow_name(self) -> str:
        return self.flow or f"{self.source.kubernetes_name}-to-{self.target.kubernetes_name}"

    @property
    def topology_file(self) -> str:
        """Return path of the topology, relative to the project."""
        return f"stacks/topologies/{self.environment}.yaml"

    @property
    def stack(self) -> str:
        """Return the stack that deploys the flow: Connect runs in the region of its target."""
        return f"{self.environment}-{self.target.region}"


def answer_problems(answers: Answers) -> Iterator[Problem]:
    """Yield mistakes in the answers, each at its option: in the project's files they would be hard to understand."""
    if not _PROJECT_NAME.fullmatch(answers.name):
        what = f"`{answers.name}` cannot be the name of a Pulumi project"
        why = "Pulumi takes 1 to 100 letters, digits, `.`, `_` and `-`."
        yield Problem("--name", "bad-project-name", what, why, "give another name with `--name`.")
    if answers.environment == LOCAL or not is_label(answers.environment):
        yield Problem(
            "--environment",
            "bad-environment",
            f"`{answers.environment}` cannot be the name of an environment",
            "It becomes part of names in Kubernetes, which take lower-case letters, digits and `-` (RFC 1123), and "
            f"`{LOCAL}` is the stack on your own machine.",
            "give another name with `--environment`, such as `prod`.",
        )
    if answers.flow is not None and not is_label(answers.flow):
        why = (
            "It becomes part of names in Kubernetes: at most 63 lower-case letters, digits and `-`, with a letter or "
            "digit at both ends (RFC 1123)."
        )
        remedy = "give another name with `--flow`, such as `orders`, or leave it out."
        yield Problem("--flow", "bad-flow-name", f"`{answers.flow}` cannot be the name of a flow", why, remedy)
    for role, cluster in (("source", answers.source), ("target", answers.target)):
        yield from _cluster_problems(role, cluster)
    if answers.source.alias == answers.target.alias:
        why = "Such a flow would only copy topics within one cluster."
        remedy = "name two different clusters with `--source` and `--target`."
        yield Problem("--target", "equal-aliases", f"source and target are both `{answers.source.alias}`", why, remedy)
    elif answers.source.kubernetes_name == answers.target.kubernetes_name:
        yield Problem(
            "--target",
            "aliases-share-secrets",
            f"`{answers.source.alias}` and `{answers.target.alias}` are both `{answers.target.kubernetes_name}` in the "
            "names of Secrets",
            "Kubernetes names have lower-case letters and no `_`, so both clusters would read the same certificate "
            "and password.",
            "give aliases with `--source` and `--target` that differ in more than case, `_` and `-`.",
        )


def _cluster_problems(role: str, cluster: ClusterAnswers) -> Iterator[Problem]:
    if not _ALIAS.fullmatch(cluster.alias):
        yield Problem(
            f"--{role}",
            "alias-breaks-topic-names",
            f"`{cluster.alias}` cannot be the alias of a cluster",
            "Remote topics are named `ALIAS.TOPIC`, so an alias has letters, digits, `_` and `-` and no `.`. It begins "
            "and ends with a letter or digit, because the flow's name in Kubernetes contains it.",
            f"give another alias with `--{role}`, such as `useast`.",
        )
    if not is_label(cluster.region):
        what = f"`{cluster.region}` cannot be the name of a region"
        why = "It becomes part of the name of a stack, which takes lower-case letters, digits and `-`."
        remedy = f"give another region with `--{role}-region`, such as `us-east-1`."
        yield Problem(f"--{role}-region", "bad-region", what, why, remedy)
    for server in cluster.servers.split(","):
        if connections.server(server.strip()) is None:
            what = f"`{server.strip()}` is not `HOST:PORT`"
            why = "A Kafka client connects to a host and a port; Kafka has no default port."
            remedy = f"give `--{role}-servers HOST:PORT`, or several separated by commas."
            yield Problem(f"--{role}-servers", "server-without-port", what, why, remedy)


def optional_facts(answers: Answers) -> Iterator[tuple[str, str, str]]:
    """Yield each option that becomes a key of the topology, with this key and its value."""
    flow = f"replications.{answers.flow_name}"
    yield "--strimzi", "strimzi", answers.strimzi
    for role, cluster in (("source", answers.source), ("target", answers.target)):
        yield f"--{role}", f"{flow}.{role}", cluster.alias
        yield f"--{role}-region", f"clusters.{cluster.alias}.region", cluster.region
        yield f"--{role}-servers", f"clusters.{cluster.alias}.bootstrapServers", cluster.servers
    yield "--topics", f"{flow}.topics", ", ".join(answers.topics)
    yield "--groups", f"{flow}.groups", ", ".join(answers.groups)


def assumed(answers: Answers, given: Collection[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the facts that no option in `given` says, such as `--topics`, and those that have no option: the file in
    the project, and key and value. A `*` in a key stands for every cluster."""
    topology, stack = answers.topology_file, f"stacks/Pulumi.{answers.stack}.yaml"
    flow = f"replications.{answers.flow_name}"
    yield from ((topology, (key, value)) for option, key, value in optional_facts(answers) if option not in given)
    names = (answers.source.kubernetes_name, answers.target.kubernetes_name)
    for key, login, secret, entry in (
        ("tls.trust", "", "ca", "ca.crt"),
        ("authentication", "SCRAM-SHA-512, user mirror, ", "mirror", "password"),
        ("validation.authentication", "SCRAM-SHA-512, user validator, ", "validator", "password"),
    ):
        secrets = " and ".join(f"{name}-{secret}" for name in names)
        yield topology, (f"clusters.*.{key}", f"{login}key {entry} of the Secrets {secrets}")
    yield topology, (f"{flow}.namespace", f"mirror-{answers.flow_name} exists and has these Secrets")
    if "--environment" not in given:
        yield stack, ("replication:topology", answers.environment)
    if not answers.context:
        yield stack, ("kubernetes:context", "not set, so the current context of your kubeconfig")
