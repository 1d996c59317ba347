"""Whether remote topics have the configuration and the ACLs that the flow copies from the source's topics.

They matter to a consumer that moves: a topic may keep its records for a shorter time, or be closed to the consumer.
Records do not show that. The connector copies both every ten minutes by default.
"""

from collections.abc import Callable, Mapping, Sequence

from components.contract.parameters import TopicSyncParameters
from components.contract.report import SAMPLES, Finding, error
from components.contract.wording import agreeing, numbered
from components.kafka.acls import AclEntry, operation_title
from components.kafka.topic_sync import Difference, config_differences, missing_acls
from spark.flows import OpenFlow
from spark.kafka_errors import ClusterError

_NO_AUTHORIZER = "authorizer-off"


def topic_setting_findings(flow: OpenFlow) -> list[Finding]:
    """Findings for configuration and ACLs that differ although the flow copies them, or that could not be read."""
    sync = flow.parameters.topic_sync
    if sync is None:
        return []
    found = _readable("configuration", lambda: _configs(flow, sync.configs_exclude or ())) if _copies(sync) else []
    return [*found, *_readable("ACLs", lambda: _acls(flow))] if sync.acls else found


def _copies(sync: TopicSyncParameters) -> bool:
    return sync.configs_exclude is not None


def _readable(what: str, find: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return find()
    except ClusterError as raised:
        why = (
            f"the {what} of topics could not be read, so the job cannot know whether remote topics have the {what} "
            "that the flow copies"
        )
        return [error("topic-settings-not-visible", f"{why}: {raised.what}, at {raised.where}")]


def _configs(flow: OpenFlow, excluded: Sequence[str]) -> list[Finding]:
    remotes = _remotes(flow)
    here, there = flow.source.settings(remotes), flow.target.settings(remotes.values())
    differences = {topic: config_differences(here[topic], there[remote], excluded) for topic, remote in remotes.items()}
    return config_findings(differences, remotes, flow.parameters.target.alias)


def _acls(flow: OpenFlow) -> list[Finding]:
    remotes = _remotes(flow)
    try:
        here = flow.source.topic_acls()
    except ClusterError as raised:
        if raised.code != _NO_AUTHORIZER:
            raise
        # The connector then copies nothing. Source: MirrorSourceConnector.listTopicAclBindings.
        return []
    missing = missing_acls(here, flow.target.topic_acls(), remotes)
    return acl_findings(missing, flow.parameters.target.alias)


def _remotes(flow: OpenFlow) -> dict[str, str]:
    """The remote topics that exist, by source topic."""
    named = {topic: flow.policy.remote(topic) for topic in flow.partitions}
    return {topic: remote for topic, remote in named.items() if remote in flow.remote_partitions}


def config_findings(
    differences: Mapping[str, Sequence[Difference]], remotes: Mapping[str, str], target: str
) -> list[Finding]:
    """One error for all topics whose configuration differs; `differences` and `remotes` are by source topic."""
    differing = {topic: found for topic, found in sorted(differences.items()) if found}
    if not differing:
        return []
    said = "; ".join(
        f"{remotes[topic]}: {', '.join(map(_said, found))}" for topic, found in list(differing.items())[:SAMPLES]
    )
    what = numbered(len(differing), "remote topic[|s] on ") + target
    has = agreeing(len(differing), "[does|do] not have the configuration that the flow copies from the source")
    return [error("topic-config-differs", f"{what} {has}: {said}", len(differing))]


def _said(each: Difference) -> str:
    wanted = "the broker's default" if each.wanted is None else each.wanted
    return f"{each.name} is {each.found} instead of {wanted}"


def acl_findings(missing: Sequence[AclEntry], target: str) -> list[Finding]:
    """One error for all ACLs of remote topics that the flow should have copied."""
    if not missing:
        return []
    said = "; ".join(
        f"{each.name}: {each.permission.lower()} {operation_title(each.operation)} to {each.principal} from {each.host}"
        for each in missing[:SAMPLES]
    )
    count = numbered(len(missing), "ACL[|s] that the flow copies [is|are] missing on ")
    return [error("topic-acls-differ", f"{count}{target}: {said}", len(missing))]
