"""Which topics are on both clusters now. This decides whether earlier proofs about them still count."""

from spark.checks.evidence import TopicNow
from spark.flows import OpenFlow
from spark.kafka_errors import ClusterError

#: The id of a topic that brokers older than Kafka 2.8 created.
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def topics_now(flow: OpenFlow) -> dict[str, TopicNow]:
    """The replicated topics by their names on the source, without topics that have no id. None if the user may not see
    their configuration.
    """
    remote = {name: flow.policy.remote(name) for name in flow.partitions}
    here = flow.source.describe(list(remote))
    there = flow.target.describe([name for name in remote.values() if name in flow.remote_partitions])
    ids = {
        name: (here[name].id, there[on_target].id)
        for name, on_target in remote.items()
        if name in here and on_target in there
    }
    try:
        policies = flow.source.cleanup_policies(ids)
    except ClusterError as error:
        if error.code != "not-authorized":
            raise
        # Other checks report that. Here, nothing counts as proven.
        return {}
    return {
        name: TopicNow(*both, "compact" in policies.get(name, "")) for name, both in ids.items() if _NO_ID not in both
    }
