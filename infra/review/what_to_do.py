"""What a reviewer does about each effect that loses, repeats or leaves something behind. Pure. It also merges effects
that several flows share.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from components.changes.effect import Effect

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

_UNUSED = (
    "tell the consumers of the remote topics; delete those topics on the target once nobody reads or writes them there"
)

#: By code, for every effect of severity `data` or `re-read`.
WHAT_TO_DO: Mapping[str, str] = {
    "checkpoints-stop": "make sure that no consumer relies on translated offsets; if one does, keep a flow with a "
    "checkpoint connector, which a pair cannot have",
    "connector-pauses": "pause for less time than the source keeps records, and resume with `state: running`",
    "connector-renamed": _REPEATED,
    "connector-stops": "stop for less time than the source keeps records, and start again with `state: running`",
    "exactly-once-ends": _REPEATED,
    "exactly-once-in-one-step": "deploy `exactlyOnce: preparing` first, and `enabled` when every worker has rolled",
    "exclusions-added": _UNUSED,
    "group-offsets-stop": _GROUPS,
    "groups-not-refreshed": "restart the checkpoint connector after new groups appear, or leave the refresh on",
    "groups-stop": "tell the owners of the groups that they can no longer fail over, or keep them in `groups`",
    "isolation-changes": "expect records of aborted transactions on the target, or keep `read_committed`",
    "kind-changes": _REPEATED,
    "loop-guard-added": "deploy both directions of the pair together, and run `replicate validate`",
    "loop-guard-removed": "stop one direction before you deploy: without the guard, records loop forever",
    "namespace-deleted": "create the namespace outside this stack first, or keep `namespace.create` "
    "(`createNamespaces` of a pair)",
    "offset-syncs-move": _VALIDATE,
    "offset-syncs-stop": "make sure that no consumer relies on translated offsets; if one does, keep a flow with "
    "offset syncs, which a pair cannot have",
    "offsets-requested": "request it once by hand while the connector is stopped: if the annotation stays in a file, "
    "the operator carries it out again at the next stop",
    "policy-changes": _FRESH,
    "replication-removed": _UNUSED,
    "separator-changes": _FRESH,
    "source-alias-changes": "keep the alias, which is only a name. Otherwise, if the remote topics get new names, "
    f"{_FRESH}. If they keep their names, {_REPEATED}",
    "source-cluster-changes": "if it is the same cluster at a new address, go ahead; another cluster needs an alias "
    "and a replication of its own",
    "stack-removed": "run `replicate destroy` for the stack before you merge, while its file is there",
    "target-alias-changes": "stop both directions, let each target catch up, and deploy both together",
    "target-cluster-changes": "fill the new target before you move consumers: deploy a second replication to it, and "
    "remove this one when `replicate validate` passes there",
    "topics-move": _REPEATED,
    "topics-not-refreshed": "restart the source connector after new topics appear, or leave the refresh on",
    "topics-stop": _UNUSED,
    "transforms-change": (
        "records already on the target stay as they are: tell its consumers when the changed records start to arrive"
    ),
    "user-removed": "make sure that nothing else logs in as this user",
    "worker-group-changes": _REPEATED,
    "workers-stop": "leave it without workers for less time than the source keeps records",
}


def told_once(effects: Iterable[Effect]) -> list[Effect]:
    """The effects in their order; equal effects on several flows become one that names all of them."""
    found: dict[tuple[str, str, str], list[Effect]] = {}
    for effect in effects:
        found.setdefault((effect.severity, effect.code, effect.what), []).append(effect)
    return [
        replace(members[0], flow=_joined(each.flow for each in members), where=_joined(each.where for each in members))
        for members in found.values()
    ]


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))
