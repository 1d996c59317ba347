"""The user's transforms: names that are theirs to take, and topics left as they are."""

from collections.abc import Iterator

from components.checks.properties import check_credentials
from components.expansion import NamedFlow
from components.problems import Problem
from components.specs.transforms import RESERVED_NAMES

#: Transforms that give a record another topic.
_ROUTERS = ("RegexRouter", "TimestampRouter", "ByLogicalTableRouter")


def check_transforms(named: NamedFlow) -> Iterator[Problem]:
    transforms = named.flow.transforms
    taken = set(RESERVED_NAMES) if named.flow.loop_guard else set()
    for place, chain in (("before", transforms.before), ("after", transforms.after)):
        for name, transform in chain.items():
            where = named.where(f"transforms.{place}.{name}")
            if name in taken:
                yield Problem(
                    where,
                    "transform-name-taken",
                    f"the name `{name}` is taken",
                    "Two transforms of one name are one to Connect: the loop guard, or the other, would be lost.",
                    "choose another name.",
                )
            taken.add(name)
            yield from check_credentials(f"{where}.config", transform.config)
            if transform.predicate is not None:
                yield from check_credentials(f"{where}.predicate.config", transform.predicate.config)
            if transform.type.rsplit(".", 1)[-1] in _ROUTERS:
                yield Problem(
                    where,
                    "transform-moves-topic",
                    f"`{transform.type}` gives records another topic",
                    "The replication policy would not know the topic again: offsets would not translate, and loops "
                    "would not be told.",
                    "remove it; a topic's name on the target is the policy's.",
                )
