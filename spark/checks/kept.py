"""Where each group continues on the target, from what the checks have already proven: nothing more is read. Pure."""

from collections.abc import Mapping, Sequence

from components.contract.evidence import KeptPositions, SpannedTopic, Translated
from components.contract.parameters import FlowParameters
from components.contract.report import CheckName, CheckOutcome, Verdict
from components.kafka.positions import TopicPartition
from components.kafka.proven_positions import KeptPosition, Place, Span, further, place_in
from spark.checks.evidence import TopicNow, by_records, why_never
from spark.checks.first_pass import FirstPass


def kept_positions(digest: str, time: str, checks: Sequence[CheckOutcome]) -> KeptPositions | None:
    """The positions to keep from these outcomes; None if `parity` or `offsets-translate` did not run, or parity did not
    pass. Without parity, it is not known that the target holds the records in the same order.
    """
    found = {each.name: each for each in checks}
    parity, offsets = found.get(CheckName.PARITY), found.get(CheckName.OFFSETS)
    if offsets is None or parity is None or parity.verdict is not Verdict.PASS or parity.accepted:
        return None
    if not parity.spans:
        # For example, the topics' ids cannot be read: that is no reason to discard what is known.
        return None
    positions = {}
    for each in offsets.translated:
        topic = parity.spans.get(each.topic)
        span = topic.spans.get(each.partition) if topic is not None else None
        place = _place(each, span)
        if span is not None and place is not None:
            positions[each.group, each.topic, each.partition] = KeptPosition(each.committed, *place)
    return KeptPositions(digest, time, parity.spans, positions, len(offsets.translated) - len(positions))


def _place(each: Translated, span: Span | None) -> Place | None:
    translated = Place(each.offset, each.read_again) if each.offset is not None else None
    return further(place_in(span, each.committed) if span is not None else None, translated)


def spans(
    flow: FlowParameters,
    first_pass: FirstPass,
    reached: Mapping[TopicPartition, tuple[int, int, int]],
    kinds: Mapping[TopicPartition, Mapping[str, int]],
    topics: Mapping[str, TopicNow],
) -> dict[str, SpannedTopic]:
    """The spans of the partitions that this comparison found equal, as far as the topics' ids are known."""
    if why_never(flow):
        return {}
    differ, found = set(first_pass.disagreeing), dict[str, dict[int, Span]]()
    for each in first_pass.source_logs:
        if each.topic not in topics or each in first_pass.unread:
            continue
        if each not in differ:
            found.setdefault(each.topic, {})[each.partition] = _equal(first_pass, each)
        elif each in reached:
            source, target = first_pass.source_logs[each], first_pass.target_logs[each]
            compacted = topics[each.topic].compacted
            proven = by_records((source, target), reached[each], kinds.get(each, {}), 0, compacted=compacted)
            if proven is not None:
                span = Span(proven.source_start, proven.source, proven.target_start, proven.target, dense=False)
                found.setdefault(each.topic, {})[each.partition] = span
    return {name: SpannedTopic(topics[name].source_id, topics[name].target_id, every) for name, every in found.items()}


def _equal(first_pass: FirstPass, partition: TopicPartition) -> Span:
    """The span of a partition whose sums are equal, now and in what earlier validations have proven about it."""
    before = first_pass.proven.get(partition)
    target = first_pass.target_logs[partition]
    source = first_pass.source_read.get(partition, first_pass.source_logs[partition])
    begin = (source.start, target.start)
    read_on_target, dense = target, True
    if before is not None:
        begin = (before.source_start, before.target_start)
        read_on_target = target.after(before.target)
        dense = before.dense and before.records == before.target - before.target_start
    here, there = first_pass.source[partition].records, first_pass.target[partition].records
    dense = dense and (here, there) == (source.size, read_on_target.size)
    return Span(begin[0], max(begin[0], source.end), begin[1], max(begin[1], target.end), dense)
