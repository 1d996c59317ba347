"""topics-divided, and which part is behind. A part is a source connector of a flow, or a flow of a split. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_replication.components.contract.parameters import FlowParameters, PartParameters
from kafka_replication.components.contract.report import SAMPLES, CheckName, CheckOutcome, Coverage, Finding, fail, note
from kafka_replication.components.contract.wording import agreeing, numbered
from kafka_replication.components.kafka.patterns import Selection


@dataclass(frozen=True)
class Part:
    """A source connector and the topics that only it replicates. `connector` is None if the flow has only one."""

    flow: FlowParameters
    connector: PartParameters | None = None

    def selects(self, topic: str) -> bool:
        if self.connector is None:
            return topic in self.flow.topic_selection
        return topic in self.flow.part_selection(self.connector)

    def leaves_out(self, topic: str) -> bool:
        """Return whether the connector would replicate the topic without its own exclusions."""
        return self.connector is not None and topic in Selection(self.connector.topics) and not self.selects(topic)

    def __str__(self) -> str:
        if self.connector is None:
            return f"part {self.flow.name} (namespace {self.flow.namespace})"
        inside = f"of {self.flow.name}, " if self.flow.shape == "split" else ""
        return f"part {self.connector.name} ({inside}connector {self.connector.connector})"


def parts_of(flow: FlowParameters) -> list[Part]:
    """Return the parts of a flow, or the flow itself if it is part of a split; none for an undivided flow."""
    if flow.parts:
        return [Part(flow, part) for part in flow.parts]
    return [Part(flow)] if flow.shape == "split" else []


def labels(flow: FlowParameters, topics: Iterable[str]) -> dict[str, str]:
    """Return how findings name each topic: with the connector that replicates it, if the flow has several."""
    if not flow.parts:
        return {}
    parts = parts_of(flow)
    return {
        topic: f"{topic} ({', '.join(owners)})"
        for topic in topics
        if (owners := [str(part) for part in parts if part.selects(topic)])
    }


def behind(flow: FlowParameters, lags: Mapping[str, int]) -> Iterator[Finding]:
    """Yield one finding per part that is behind. `lags` is by topic, in records. None for an undivided flow."""
    for part in parts_of(flow):
        theirs = {topic: records for topic, records in lags.items() if records and part.selects(topic)}
        if theirs:
            worst = sorted(theirs, key=lambda topic: (-theirs[topic], topic))
            named = ", ".join(f"{topic} by {theirs[topic]}" for topic in worst[:SAMPLES])
            records = sum(theirs.values())
            text = (
                f"{part} is {numbered(records, 'record[|s]')} behind in {numbered(len(theirs), 'topic[|s]')}: {named}"
            )
            yield fail("part-behind", text, records)


def check_division(flow: FlowParameters, flows: Sequence[FlowParameters], existing: Iterable[str]) -> CheckOutcome:
    """Return whether each topic that this flow's parts select belongs to exactly one part of the replication.

    `flows` are all flows of the document, `existing` the topics of the source.
    """
    own = parts_of(flow)
    others = [
        part for other in flows if other.name != flow.name and _way(other) == _way(flow) for part in parts_of(other)
    ]
    topics = [topic for topic in sorted(existing) if any(part.selects(topic) for part in (Part(flow), *own))]
    findings: list[Finding] = []
    for topic in topics:
        owners = [str(part) for part in (*own, *others) if part.selects(topic)]
        if len(owners) > 1:
            what = f"{topic} belongs to {' and '.join(owners)}: each replicates it, so records arrive twice"
            findings.append(fail("topic-in-two-parts", what))
        elif not owners and not any(part.leaves_out(topic) for part in own):
            what = f"{topic} is a topic of {flow.name}, but belongs to none of its parts: no connector replicates it"
            findings.append(fail("topic-in-no-part", what))
    for part in own:
        if not any(part.selects(topic) for topic in topics):
            findings.append(note("part-without-topic", f"{part}: no topic of the source matches its list"))
    counts = {
        "parts": len(own) + len(others),
        "topics": len(topics),
        "inTwoParts": sum(finding.code == "topic-in-two-parts" for finding in findings),
        "inNoPart": sum(finding.code == "topic-in-no-part" for finding in findings),
    }
    divided = counts["topics"] - counts["inTwoParts"] - counts["inNoPart"]
    summary = (
        f"{divided} of {numbered(counts['topics'], 'topic[|s]')} {agreeing(divided, '[belongs|belong]')} to "
        f"exactly one of {numbered(counts['parts'], 'part[|s]')}"
    )
    coverage = Coverage("topics", len(topics), {})
    return CheckOutcome(CheckName.DIVISION, summary, counts, tuple(findings), coverage=coverage)


def _way(flow: FlowParameters) -> tuple[str | None, str, str]:
    return flow.replication, flow.source.alias, flow.target.alias
