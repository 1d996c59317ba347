"""The flows of the drills: one of each shape, in one topology that is deployed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_replication.components.render.flow_acls import Acl
from kafka_replication.infra.local.acls import apply_acls
from kafka_replication.infra.local.endpoints import Endpoints
from kafka_replication.infra.local.traffic import create_topics
from kafka_replication.infra.stack.settings import read_settings
from tests.local.flows import Deployed, write_edited

PARTITIONS = 3
STACK = "local-split"
"""A stack of the example files; its replications are replaced."""

_SMALL: Mapping[str, Any] = {
    "intervals": dict.fromkeys(
        ("refreshTopicsSeconds", "refreshGroupsSeconds", "emitCheckpointsSeconds", "syncGroupOffsetsSeconds"), 1
    ),
    "connect": {"replicas": 1, "jvmOptions": {"-Xmx": "256m"}},
}
_ENDS: Mapping[str, Any] = {"source": "useast", "target": "uswest", **_SMALL}
_PAIR = {"kind": "prefixlessPair", "between": ["useast", "uswest"], "topics": ["both-.*"]}


@dataclass(frozen=True)
class Shape:
    """A shape to drill: `flow` as the commands name it, and the topics that the drill's groups consume.

    `others` are the other flows for the same groups, one after the other: the parts of a split.
    `resent` kills a worker while records cross, `transactions` writes records in transactions and aborts some.
    `kills` ends each command with SIGKILL at every step that it prints, before it runs to its end.
    `back` is the flow whose failover moves the groups back, if `replicate failback` is not for this shape. `turned` is
    the flow in the other direction, which replaces `flow`. `fenced` also drills `--fence`.
    """

    name: str
    flow: str
    topics: tuple[str, ...]
    default_policy: bool = True
    resent: bool = False
    transactions: bool = False
    kills: bool = False
    back: str | None = None
    turned: str | None = None
    fenced: bool = False
    others: tuple[str, ...] = ()

    @property
    def flows(self) -> tuple[str, ...]:
        return (self.flow, *self.others)

    @property
    def replication(self) -> str:
        """Name of its replication; the names of its topics begin with it."""
        return self.topics[0].partition("-")[0]

    @property
    def prefix(self) -> str:
        """Beginning of the names of its groups."""
        return f"{self.topics[0]}-"

    def remote(self, topic: str) -> str:
        return f"useast.{topic}" if self.default_policy else topic


SHAPES = (
    Shape("default policy", "plain", ("plain-orders",), fenced=True),
    Shape("default policy, a worker killed", "plain", ("plain-resent",), resent=True),
    Shape("default policy, transactions", "plain", ("plain-paid",), transactions=True),
    Shape("default policy, commands killed", "plain", ("plain-killed",), kills=True, fenced=True),
    Shape("exactly once, transactions", "once", ("once-paid",), transactions=True),
    Shape("identity policy", "same", ("same-orders",), default_policy=False, fenced=True, turned="turned"),
    Shape(
        "identity policy, commands killed",
        "dark",
        ("dark-orders",),
        default_policy=False,
        kills=True,
        turned="light",
    ),
    Shape("pair", "both-to-uswest", ("both-orders",), default_policy=False, back="both-to-useast"),
    Shape(
        "pair, a worker killed",
        "both-to-uswest",
        ("both-resent",),
        default_policy=False,
        resent=True,
        back="both-to-useast",
    ),
    Shape(
        "pair, commands killed",
        "both-to-uswest",
        ("both-killed",),
        default_policy=False,
        kills=True,
        back="both-to-useast",
    ),
    Shape("part of a split", "parts-sales", ("parts-sales-orders",)),
    Shape("whole split", "parts-sales", ("parts-sales-carts", "parts-clicks-pages"), others=("parts-clicks",)),
    Shape("several sources", "several", ("several-carts", "several-views")),
    Shape("KafkaMirrorMaker2", "mirror", ("mirror-orders",), fenced=True),
)


def replications() -> dict[str, Any]:
    """The replications of the topology."""
    return {
        "plain": {"kind": "flow", **_ENDS, "topics": ["plain-.*"], "groups": ["plain-.*"]},
        "once": {"kind": "flow", **_ENDS, "topics": ["once-.*"], "groups": ["once-.*"], "exactlyOnce": "enabled"},
        "same": {"kind": "flow", **_ENDS, "topics": ["same-.*"], "groups": ["same-.*"], "policy": "identity"},
        "dark": {"kind": "flow", **_ENDS, "topics": ["dark-.*"], "groups": ["dark-.*"], "policy": "identity"},
        # The keeper places a pair's groups by the syncs of the other half.
        "both": {**_PAIR, "offsetSyncs": {"enabled": True}, **{**_SMALL, "intervals": {"refreshTopicsSeconds": 1}}},
        "parts": {
            "kind": "split",
            **{key: value for key, value in _ENDS.items() if key != "connect"},
            "groups": ["parts-.*"],
            "parts": {
                name: {"topics": [f"parts-{name}-.*"], "connect": _SMALL["connect"]} for name in ("sales", "clicks")
            },
        },
        "several": {
            "kind": "flow",
            **_ENDS,
            "groups": ["several-.*"],
            "connectors": {"sources": {"carts": {"topics": ["several-carts"]}, "views": {"topics": ["several-views"]}}},
        },
        "mirror": {"kind": "mirrorMaker2", **_ENDS, "topics": ["mirror-.*"], "groups": ["mirror-.*"]},
    }


def turned_flow(shape: Shape, connectors: Mapping[str, Any]) -> dict[str, Any]:
    """The replication from the target back to the source, for a shape with the policy `identity`."""
    pattern = [f"{shape.replication}-.*"]
    ends = {"source": _ENDS["target"], "target": _ENDS["source"]}
    return {
        "kind": "flow",
        **_SMALL,
        **ends,
        "policy": "identity",
        "topics": pattern,
        "groups": pattern,
        **({"connectors": dict(connectors)} if connectors else {}),
    }


def prepared(endpoints: Endpoints, folder: Path, shapes: Sequence[Shape] = SHAPES) -> Deployed:
    """The stack of these shapes, not deployed yet, with its topics and the rights to commit for its groups."""
    every = replications()
    wanted = {name: every[name] for name in dict.fromkeys(shape.replication for shape in shapes)}
    write_edited(folder, STACK, lambda topology: topology.update(replications=wanted))
    for alias, region in endpoints.regions.items():
        for shape in shapes:
            if alias == "useast" or shape.back:
                create_topics(region, dict.fromkeys(shape.topics, PARTITIONS))
        rights = [Acl(alias, "User:mirror", "group", "prefixed", each.prefix, ("READ",)) for each in shapes]
        apply_acls(region, rights)
    return Deployed(read_settings(STACK, folder), endpoints)
