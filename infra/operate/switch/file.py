"""The file of `replicate failover --switch`: the applications that move, and the settings that lead them. Pure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from kafka_replication.components.contract.problems import Problem, ReplicationError, raise_errors
from kafka_replication.components.topology.clusters import Model
from kafka_replication.components.topology.parsing import parse_model
from kafka_replication.infra.stack.yaml_files import load_yaml, placed


class Setting(Model):
    """A value that an application reads, and its values for both sides."""

    kind: Literal["ConfigMap", "Secret", "Container"] = Field(
        description="What holds it; `Container` stands for an environment variable of the workload itself."
    )
    name: str = Field(min_length=1, description="Name of the ConfigMap, the Secret or the container.")
    key: str = Field(min_length=1, description="Key in the ConfigMap or Secret, or name of the variable.")
    source: str | None = Field(default=None, description="Value on the source; by default, the cluster's address.")
    target: str | None = Field(default=None, description="Value on the target; by default, the cluster's address.")


class Application(Model):
    """What moves, and the groups in which it consumes."""

    role: Literal["consumer", "producer", "both"] = Field(
        default="consumer", description="`both` is stopped and started with the consumers."
    )
    groups: tuple[str, ...] = Field(default=(), description="Its consumer groups.")


class SwitchedWorkload(Application):
    """A Deployment or StatefulSet."""

    kind: Literal["Deployment", "StatefulSet"] = "Deployment"
    namespace: str = Field(min_length=1)
    name: str = Field(min_length=1)
    context: str | None = Field(default=None, description="Context of the kubeconfig; by default, the stack's.")
    replicas: int | None = Field(default=None, ge=1, description="How many to start; by default, as many as before.")
    settings: tuple[Setting, ...] = Field(description="What to change in its configuration.")


class Command(Application):
    """A program that stops and starts an application which does not run in Kubernetes."""

    name: str = Field(min_length=1)
    command: tuple[str, ...] = Field(description="Program and arguments; it runs in the folder of the file.")
    reports: bool = Field(default=False, description="Whether it is also asked if the application runs on the target.")


class SwitchFile(Model):
    """The applications that move with a failover."""

    workloads: tuple[SwitchedWorkload, ...]
    commands: tuple[Command, ...] = ()


def read_switch(path: Path) -> SwitchFile:
    """Return the file. Raises ReplicationError with every mistake in it, CannotRunError and OSError."""
    try:
        file = parse_model(SwitchFile, load_yaml(path))
        raise_errors(_mistakes(file))
    except ReplicationError as error:
        raise ReplicationError(placed(error.problems, path)) from None
    return file


def _mistakes(file: SwitchFile) -> Iterator[Problem]:
    empty = [(f"workloads.{place}", "settings", bool(each.settings)) for place, each in enumerate(file.workloads)]
    empty += [(f"commands.{place}", "command", bool(each.command)) for place, each in enumerate(file.commands)]
    for where, key, filled in [("workloads", "workloads", bool(empty)), *empty]:
        if not filled:
            why = "The switch stops applications, changes what leads them to a cluster, and starts them."
            yield Problem(where, "nothing-to-switch", f"`{key}` is empty", why, f"add an entry to `{key}`.")
    values: dict[tuple[str, ...], tuple[str, Setting]] = {}
    for key, applications in (("workloads", file.workloads), ("commands", file.commands)):
        for place, application in enumerate(applications):
            where = f"{key}.{place}"
            if application.role != "producer" and not application.groups:
                why = "Its groups show whether it runs on the target and goes on there."
                remedy = "add `groups: [GROUP]`, or `role: producer`."
                yield Problem(where, "consumer-without-groups", "a consumer has no group", why, remedy)
    for place, workload in enumerate(file.workloads):
        for number, setting in enumerate(workload.settings):
            where = f"workloads.{place}.settings.{number}"
            owner = workload.name if setting.kind == "Container" else ""
            same = (str(workload.context), workload.namespace, setting.kind, owner, setting.name, setting.key)
            first, earlier = values.setdefault(same, (where, setting))
            if earlier != setting:
                what = f"`{setting.key}` has other values than in {first}"
                why = f"Both applications read the same {setting.kind}, which holds one value."
                yield Problem(where, "setting-twice", what, why, "give it the same `source` and `target` twice.")
