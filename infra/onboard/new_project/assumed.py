"""What a new project says that nobody gave: each fact with its file and key, for `init` to list. Pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from infra.onboard.new_project.answers import Answers


@dataclass(frozen=True)
class Assumed:
    """One fact. `file` is relative to the project; a `*` in `key` stands for every cluster."""

    file: str
    key: str
    value: str


def assumed(answers: Answers, given: Collection[str]) -> Iterator[Assumed]:
    """The facts that no option in `given` says, such as `--topics`, and those that have no option."""
    topology, stack = answers.topology_file, f"stacks/Pulumi.{answers.stack}.yaml"
    flow = f"replications.{answers.flow_name}"
    facts = [("--strimzi", topology, "strimzi", answers.strimzi)]
    for role, cluster in (("source", answers.source), ("target", answers.target)):
        facts += [
            (f"--{role}", topology, f"{flow}.{role}", cluster.alias),
            (f"--{role}-region", topology, f"clusters.{cluster.alias}.region", cluster.region),
            (f"--{role}-servers", topology, f"clusters.{cluster.alias}.bootstrapServers", cluster.servers),
        ]
    facts += [
        ("--topics", topology, f"{flow}.topics", ", ".join(answers.topics)),
        ("--groups", topology, f"{flow}.groups", ", ".join(answers.groups)),
    ]
    yield from (Assumed(file, key, value) for option, file, key, value in facts if option not in given)
    names = (answers.source.kubernetes_name, answers.target.kubernetes_name)
    for key, login, secret, entry in (
        ("tls.trust", "", "ca", "ca.crt"),
        ("authentication", "SCRAM-SHA-512, user mirror, ", "mirror", "password"),
        ("validation.authentication", "SCRAM-SHA-512, user validator, ", "validator", "password"),
    ):
        secrets = " and ".join(f"{each}-{secret}" for each in names)
        yield Assumed(topology, f"clusters.*.{key}", f"{login}key {entry} of the Secrets {secrets}")
    yield Assumed(topology, f"{flow}.namespace", f"mirror-{answers.flow_name} exists and has these Secrets")
    if "--environment" not in given:
        yield Assumed(stack, "replication:topology", answers.environment)
    if not answers.context:
        yield Assumed(stack, "kubernetes:context", "not set, so the current context of your kubeconfig")
