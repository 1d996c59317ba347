"""The topics and groups that a stack's source clusters have now, read with the login of the validation job. The
credentials are in Secrets of the stack's Kubernetes cluster. Nothing is written.
"""

from components.checks.listed_names import ClusterNames
from components.clients.login import ClientConfig, Purpose
from components.contract.problems import CannotRunError
from infra.stack.session import OpenStack

_SECONDS = 15.0
_WHY = "`--topics cluster` reads the names of topics and groups with the login of the validation job."
_PURPOSE = Purpose(_WHY, ", or give `--topics` a file")


def names_in_clusters(stack: OpenStack) -> dict[str, ClusterNames]:
    """Ask every source cluster of a stack's flows. Raises CannotRunError if one cannot be asked."""
    clusters = {flow.settings.source: stack.parameters(flow).source for flow in stack.flows}
    return {alias: stack.kafka(_ask, cluster, _PURPOSE) for alias, cluster in clusters.items()}


def _ask(alias: str, config: ClientConfig) -> ClusterNames:
    # A check without this option must not wait for the client to load.
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        admin = AdminClient(dict(config))
        topics = admin.list_topics(timeout=_SECONDS).topics
        groups = admin.list_consumer_groups(request_timeout=_SECONDS).result().valid
    except KafkaException as error:
        what = f"`{alias}` does not answer: {error.args[0].str()}"
        remedy = "correct the address or login, run it where the cluster can be reached, or give `--topics` a file."
        raise CannotRunError("kafka-unreachable", what, str(config["bootstrap.servers"]), _WHY, remedy) from error
    return ClusterNames(tuple(sorted(topics)), tuple(sorted(group.group_id for group in groups)))
