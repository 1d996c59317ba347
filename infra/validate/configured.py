"""Values that a topology takes from a stack's configuration and that are missing without a stack."""

from pathlib import Path

from components.contract.problems import Problem, ReplicationError
from components.flows.resolved import config_secrets, validation_config_secrets
from components.topology.clusters import Cluster, ConfigValue
from components.topology.model import Topology
from infra.stack.files.positions import placed


def raise_configured(topology: Topology, file: Path) -> None:
    """Raise a ReplicationError that names each address and credential that only a stack's configuration has."""
    problems = [
        Problem(
            f"clusters.{alias}",
            "config-without-stack",
            f"{what} of `{alias}` is the configuration key `{key}`",
            "Only a stack has a configuration.",
            remedy,
        )
        for alias, cluster in topology.clusters.items()
        for what, key, remedy in _configured(cluster)
    ]
    if problems:
        raise ReplicationError(placed(problems, file))


def _configured(cluster: Cluster) -> list[tuple[str, str, str]]:
    found = []
    if isinstance(cluster.bootstrap_servers, ConfigValue):
        found.append(("the address", cluster.bootstrap_servers.config, "write the address there."))
    own = cluster.validation is not None and cluster.validation.authentication is not None
    used = validation_config_secrets(cluster) if own else config_secrets(cluster) | validation_config_secrets(cluster)
    remedy = "name the Secret in the flow's namespace that has it, as `{secret: NAME, key: KEY}`."
    found += [("a credential", each.config, remedy) for each in used.values()]
    return found
