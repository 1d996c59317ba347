"""What to do about the effects of a change, and who does it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from kafka_replication.components.changes.effect import Impact


class Who(StrEnum):
    """Who has to do something, and when."""

    AUTHOR = "Before the merge, the author"
    KAFKA = "Before the deployment, administrators of Kafka"
    KUBERNETES = "Before the deployment, owners of the namespaces"
    CONSUMERS = "Before the deployment, the author and the owners of the consumers"
    DEPLOYER = "Whoever deploys"

    @property
    def phase(self) -> int:
        """Return the place in the order: the merge, then what comes before the deployment, then the deployment."""
        return (self is not Who.AUTHOR) + (self is Who.DEPLOYER)


class Advice(NamedTuple):
    """What to do, and who does it."""

    who: Who
    what: str


_FRESH = (
    "create the replication under a new name, let it fill its topics, move the consumers, then remove this one; or go "
    "ahead if consumers of the target can start over"
)
_GROUPS = (
    "save the groups' committed offsets on the target before you deploy (`kafka-consumer-groups --describe`), and do "
    "not plan a failover until `replicate validate` passes again"
)
_VALIDATE = "do not plan a failover between the deployment and the next `replicate validate` that passes"
_REPEATED = (
    "make sure that consumers of the target tolerate duplicate records; otherwise stop them, deploy, and start them "
    "again once `replicate validate` passes"
)
_RENAMED = (
    "keep the old names, also under a new name of the part or replication (`connect.groupId`, `connect.storageTopics`, "
    f"the connectors' `name`). Otherwise everything is copied again: {_REPEATED}"
)
_UNUSED = (
    "tell the consumers of the remote topics; delete those topics on the target once nobody reads or writes them there"
)
_PROOF = "merge it only if a model that nobody has proven long enough may reach these stacks; the old plan prevented it"

#: By who follows it, the advice for every code of an effect of severity `data` or `re-read`.
_BY_WHO: Mapping[Who, Mapping[str, str]] = {
    Who.AUTHOR: {
        "exactly-once-in-one-step": "deploy `exactlyOnce: preparing` first, and `enabled` when every worker has rolled",
        "groups-stop": "tell the owners of the groups that they can no longer fail over, or keep them in `groups`",
        "keeper-removed": "keep `exporter: {keep: true}`, or run `replicate keep` elsewhere all the time",
        "may-skip-added": "make sure that these people may decide alone: the name that `--skip` records is not "
        "verified",
        "loss-handling-changes": "keep `onLoss: stop`, or set alerts on what the source deletes too early",
        "namespace-deleted": "create the namespace outside this stack first, or keep `namespace.create` "
        "(`createNamespaces` of a pair). If its part or replication is gone, so is that key: move what others keep "
        "there to another namespace",
        "offsets-requested": "request it once by hand while the connector is stopped: if the annotation stays in a "
        "file, the operator carries it out again at the next stop",
        "policy-changes": _FRESH,
        "promotion-order-changes": _PROOF,
        "promotion-plan-removed": _PROOF,
        "separator-changes": _FRESH,
        "soak-time-shorter": _PROOF,
        "source-alias-changes": "keep the alias, which is only a name. Otherwise, if the remote topics get new names, "
        f"{_FRESH}. If they keep their names, {_REPEATED}",
        "source-cluster-changes": "if it is the same cluster at a new address, go ahead; another cluster needs an "
        "alias and a replication of its own",
        "start-from-changes": "create a topic, wait until the connector has found it "
        "(`intervals.refreshTopicsSeconds`), and produce to it only then; or keep `startFrom: earliest`",
        "stack-leaves-promotion": "deploy it with `replicate up` from now on, or remove the stack with `replicate "
        "destroy`",
        "stack-removed": "run `replicate destroy` for the stack before you merge, while its file is there",
        "target-cluster-changes": "fill the new target before you move consumers: deploy a second replication to it, "
        "and remove this one when `replicate validate` passes there",
        "user-removed": "make sure that nothing else logs in as this user",
    },
    Who.CONSUMERS: {
        "checkpoints-stop": "make sure that no consumer relies on translated offsets; if one does, keep a flow with a "
        "checkpoint connector, which a pair cannot have",
        "connector-renamed": _RENAMED,
        "exactly-once-ends": _REPEATED,
        "exclusions-added": _UNUSED,
        "isolation-changes": "expect records of aborted transactions on the target, or keep `read_committed`",
        "kind-changes": _REPEATED,
        "offset-syncs-stop": "make sure that no consumer relies on translated offsets; if one does, keep a flow with "
        "offset syncs, which a pair cannot have",
        "replication-removed": _UNUSED,
        "topics-move": _REPEATED,
        "topics-stop": _UNUSED,
        "transforms-change": "records already on the target stay as they are: tell its consumers when the changed "
        "records start to arrive",
        "worker-group-changes": _RENAMED,
    },
    Who.DEPLOYER: {
        "connector-pauses": "pause for less time than the source keeps records, and resume with `state: running`",
        "connector-stops": "stop for less time than the source keeps records, and start again with `state: running`",
        "group-offsets-stop": _GROUPS,
        "groups-not-refreshed": "restart the checkpoint connector after new groups appear, or leave the refresh on",
        "loop-guard-added": "deploy both directions of the pair together, and run `replicate validate`",
        "loop-guard-removed": "stop one direction before you deploy: without the guard, records loop forever",
        "offset-syncs-move": _VALIDATE,
        "target-alias-changes": "stop both directions, let each target catch up, and deploy both together",
        "topics-not-refreshed": "restart the source connector after new topics appear, or leave the refresh on",
        "workers-stop": "leave it without workers for less time than the source keeps records",
    },
}
ADVICE = {code: Advice(who, what) for who, texts in _BY_WHO.items() for code, what in texts.items()}
_UNKNOWN = Advice(Who.DEPLOYER, "make sure that this is wanted")
_SKIPPED = (
    "keep the old names, or stop producing until the connector runs again: it starts at the end. To skip nothing, set "
    "its offsets with `replicate offsets` while it is stopped"
)


def advice(severity: Impact, code: str) -> Advice:
    """Return the advice for an effect of severity `data` or `re-read`."""
    known = ADVICE.get(code, _UNKNOWN)
    # Where records would be replicated again, `data` means that they are skipped.
    return known._replace(what=_SKIPPED) if severity is Impact.DATA and known.what in (_REPEATED, _RENAMED) else known
