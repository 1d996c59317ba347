"""A change as a whole: deployments of before and after, and what continues between them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from components.effects.matching import Matching, matched
from components.effects.running import Connector, Deployed


@dataclass(frozen=True)
class Change:
    """What differs between two states of a stack; deployments that are equal may be left out."""

    before: tuple[Deployed, ...]
    after: tuple[Deployed, ...]
    matching: Matching = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "matching", matched(self.before, self.after))

    @cached_property
    def added(self) -> frozenset[str]:
        """Flows that replicate nothing that was replicated before."""
        going_on = {pair.after.flow for pair in self.matching.continued}
        return frozenset(_flows(self.after) - _flows(self.before) - going_on)

    @cached_property
    def removed(self) -> frozenset[str]:
        """Flows of which nothing is replicated any more."""
        going_on = {pair.before.flow for pair in self.matching.continued}
        return frozenset(_flows(self.before) - _flows(self.after) - going_on)

    @cached_property
    def pairs(self) -> tuple[tuple[Connector | None, Connector | None], ...]:
        """Connectors of before and after that do the same for the same flow, with those that only one side has.

        A flow that has another name after the change is known by the topics that go on in it.
        """
        there = _flows(self.after)
        renamed: dict[str, str] = {}
        for pair in self.matching.continued:
            if pair.before.flow not in there:
                renamed.setdefault(pair.before.flow, pair.after.flow)
        old: dict[tuple[str, str, str], Connector] = {}
        for each in _connectors(self.before):
            old.setdefault((renamed.get(each.flow, each.flow), each.role, each.part), each)
        new = {(each.flow, each.role, each.part): each for each in _connectors(self.after)}
        return tuple((old.get(key), new.get(key)) for key in {**new, **old})

    @cached_property
    def _new(self) -> frozenset[str]:
        known = {after.flow for before, after in self.pairs if before is not None and after is not None}
        return frozenset(_flows(self.after) - known)

    def of_role(self, role: str) -> Iterator[tuple[Connector | None, Connector | None]]:
        """Pairs of one kind of connector, of flows that are there before and after.

        What only a flow has that took topics over from another is no beginning.
        """
        for before, after in self.pairs:
            one = after or before
            gone = self._new if before is None else self.removed if after is None else frozenset()
            if one is not None and one.role == role and one.flow not in gone:
                yield before, after

    def groups(self, flow: str, deployments: Iterable[Deployed]) -> tuple[str, ...]:
        """Consumer groups whose offsets a flow translates."""
        checkpoints = (each for each in _connectors(deployments) if (each.flow, each.role) == (flow, "checkpoint"))
        checkpoint = next((each for each in checkpoints if each.emits), None)
        return checkpoint.names("groups") if checkpoint is not None else ()


def _connectors(deployments: Iterable[Deployed]) -> Iterator[Connector]:
    return (connector for deployment in deployments for connector in deployment.connectors)


def _flows(deployments: Iterable[Deployed]) -> set[str]:
    return {connector.flow for connector in _connectors(deployments)}
