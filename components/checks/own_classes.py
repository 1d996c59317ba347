"""The user's own policies and filters: what can no longer be derived with them."""

from collections.abc import Iterator

from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow
from components.kafka.replication_policy import POLICY_CLASSES, Policy

#: Key of a flow -> Kafka's own class, the lists that it reads, and the checks that rely on them.
_FILTERS = {
    "topicFilterClass": (
        "DefaultTopicFilter",
        "`topics` and `topicsExclude`",
        "Checks of loops and double replication",
    ),
    "groupFilterClass": ("DefaultGroupFilter", "`groups` and `groupsExclude`", "Checks of mixed group offsets"),
}


def check_own_classes(flow: ExpandedFlow) -> Iterator[Problem]:
    """Report the user's own classes: only the rules of Kafka's classes are known here."""
    settings = flow.settings
    if settings.policy_class is not None:
        yield from _check_policy(flow, settings.policy_class)
    chosen = {"topicFilterClass": settings.topic_filter_class, "groupFilterClass": settings.group_filter_class}
    for key, name in chosen.items():
        if name is not None:
            yield _filter(flow, key, name)


def _check_policy(flow: ExpandedFlow, name: str) -> Iterator[Problem]:
    for policy, of_kafka in POLICY_CLASSES.items():
        if name == of_kafka:
            yield Problem(
                flow.where("policyClass"),
                "policy-of-kafka",
                f"`policyClass` is Kafka's own `{name}`",
                "Names, ACLs and checks derive from `policy`, which could then contradict it.",
                f"remove `policyClass`, and set `policy: {policy.value}`.",
            )
            return
    policy = flow.settings.policy
    # A deployed connector names only the class, so a diff cannot know what `policy` says.
    diffs = " Diffs treat it as the default policy." if policy is Policy.IDENTITY else ""
    yield Problem(
        flow.where("policyClass"),
        "policy-not-known",
        f"the checks do not know how `{name}` names topics",
        "Names of remote topics, ACLs, checks of loops and double replication, and the validation job's parameters "
        f"are derived as for `policy: {policy.value}`.{diffs}",
        "set `policy` to the policy that names topics as your class does. If neither policy does, do not rely on these "
        "results for this replication.",
        Severity.WARNING,
    )


def _filter(flow: ExpandedFlow, key: str, name: str) -> Problem:
    of_kafka, lists, checks = _FILTERS[key]
    return Problem(
        flow.where(key),
        "filter-not-known",
        f"the checks do not know what `{name}` selects",
        f"{checks}, ACLs, diffs and the validation job's parameters assume that the class reads {lists} as Kafka's "
        f"{of_kafka} does.",
        f"make {lists} select what the class selects; otherwise do not rely on these results for this replication.",
        Severity.WARNING,
    )
