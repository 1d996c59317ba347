"""Transforms: free names, no credential as text, no other topic, and a chain that Connect can run to its end."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.checks.property_values import check_credentials
from components.contract.problems import Problem, Severity
from components.flows.expansion import ExpandedFlow
from components.flows.heartbeats import EVERYTHING, Heartbeats
from components.flows.naming import replication_policy
from components.flows.selections import topic_selection
from components.flows.sources import each_source, source_key
from components.kafka.overlap import SharedName, overlap_of_patterns
from components.kafka.patterns import pattern_error
from components.kafka.record_forms import (
    BYTES,
    JSON_CONVERTER,
    KAFKA_TRANSFORMS,
    NULL,
    SIMPLE_HEADER_CONVERTER,
    STRUCTURED,
    VENDOR_TRANSFORMS,
    Form,
    Forms,
)
from components.kafka.topic_names import is_name
from components.kafka.transform_chains import (
    HEADER,
    BytesBecomeText,
    ConverterFails,
    Finding,
    JsonEnvelope,
    TransformFails,
    chain_of,
    findings,
)
from components.render.transforms import RESERVED_NAMES, converter_properties, transform_properties
from components.topology.model import Flow
from components.topology.transforms import Transform

#: Transforms that move a record to another topic.
_ROUTERS = ("RegexRouter", "TimestampRouter", "ByLogicalTableRouter")
_NOT_HEARTBEATS = r"^(?!(.+\.)?heartbeats).*$"
_JSON = f"{{type: {JSON_CONVERTER}, config: {{schemas.enable: false}}}}"


@dataclass(frozen=True)
class _Source:
    """One source connector of a flow, with its settings and the paths of its keys."""

    flow: ExpandedFlow
    part: str
    settings: Flow

    def where(self, key: str) -> str:
        return self.flow.where(source_key(self.flow.settings, self.part, key))


def check_transforms(flow: ExpandedFlow, heartbeats: Heartbeats) -> Iterator[Problem]:
    """The user's transforms have free names and no credential as text, keep a record's topic, and can run."""
    told: set[tuple[str, str]] = set()
    for part, settings in each_source(flow.settings):
        for problem in _check_source(_Source(flow, part, settings), heartbeats):
            if (problem.where, problem.code) not in told:
                told.add((problem.where, problem.code))
                yield problem


def _check_source(source: _Source, heartbeats: Heartbeats) -> Iterator[Problem]:
    transforms = source.settings.transforms
    taken = set(RESERVED_NAMES) if source.settings.loop_guard else set()
    for place, chain in (("before", transforms.before), ("after", transforms.after)):
        for name, transform in chain.items():
            where = source.where(f"transforms.{place}.{name}")
            if name in taken:
                yield Problem(
                    where,
                    "transform-name-taken",
                    f"the name `{name}` is taken",
                    "Connect keeps only one transform of each name, so the loop guard or the other one would be lost.",
                    "choose another name.",
                )
            taken.add(name)
            yield from _check_transform(where, transform)
    if transforms.change_records:
        yield from _check_chain(source, heartbeats)


def _check_transform(where: str, transform: Transform) -> Iterator[Problem]:
    yield from check_credentials(f"{where}.config", transform.config)
    if transform.predicate is not None:
        yield from check_credentials(f"{where}.predicate.config", transform.predicate.config)
    if transform.type.rsplit(".", 1)[-1] in _ROUTERS:
        yield Problem(
            where,
            "transform-moves-topic",
            f"`{transform.type}` moves records to another topic",
            "The replication policy would not recognize the topic. Offsets would not translate, and loops "
            "would not be found.",
            "remove it; only the replication policy names topics on the target.",
        )


def _check_chain(source: _Source, heartbeats: Heartbeats) -> Iterator[Problem]:
    settings = source.settings
    chain = chain_of(transform_properties(settings) | converter_properties(settings.transforms))
    passing = _heartbeats(settings, heartbeats) if settings.replicate_heartbeats else []
    for found in findings(chain, _topics(settings), passing):
        yield _problem(source, found)


def _topics(flow: Flow) -> list[str]:
    """Topics on the target: one for each name and one that each pattern selects."""
    excluded = topic_selection(flow, ()).excluded
    names = []
    for entry in flow.topics:
        if is_name(entry):
            names.append(entry)
        elif pattern_error(entry) is None:
            example = overlap_of_patterns(entry, ".*", excluded)
            names += [example.example] if isinstance(example, SharedName) else []
    return [replication_policy(flow).remote(name) for name in names]


def _heartbeats(flow: Flow, heartbeats: Heartbeats) -> list[str]:
    held = sorted(topic for topic in heartbeats.on(flow.source) if not topic.endswith(EVERYTHING))
    return [replication_policy(flow).remote(topic) for topic in held]


def _problem(source: _Source, found: Finding) -> Problem:
    match found:
        case TransformFails():
            return _transform_fails(source, found)
        case ConverterFails():
            return _header_refused(source, found) if found.converter == HEADER else _half_refused(source, found)
        case JsonEnvelope():
            return _json_envelope(source, found)
        case BytesBecomeText():
            return _headers_become_text(source) if found.converter == HEADER else _bytes_become_text(source, found)


def _where(source: _Source, name: str) -> str:
    place = "before" if name in source.settings.transforms.before else "after"
    return source.where(f"transforms.{place}.{name}")


def _shown(forms: Forms) -> str:
    """The forms in words; whether a structure has a schema matters only where nothing else is told."""
    told = forms - NULL if forms - NULL != STRUCTURED else frozenset({Form.MAP})
    return " or ".join(sorted(form.value for form in told)) or Form.NULL.value


def _transform_fails(source: _Source, found: TransformFails) -> Problem:
    step, refusal = found.step, found.refusal
    where = _where(source, step.name)
    if not refusal.needs:
        return Problem(
            where,
            "heartbeats-not-parsed",
            f"`{step.name}` cannot parse heartbeats, such as the records of `{found.topic}`",
            "The source connector also replicates heartbeats, which the converter cannot read. Its tasks would fail at "
            "the first one.",
            _leave_out_heartbeats("this transform and to those that need its result"),
        )
    return Problem(
        where,
        "transform-fails",
        f"the {refusal.half} of `{found.topic}` is {_shown(refusal.found)} when it reaches `{step.name}`, which needs "
        f"{_shown(refusal.needs)}",
        "MirrorMaker reads keys and values as bytes, and they stay bytes until a transform parses them. Every task "
        "would fail at its first such record.",
        _transform_remedy(found),
    )


def _transform_remedy(found: TransformFails) -> str:
    if found.refusal.found != BYTES and found.refusal.found != BYTES | NULL:
        return "remove it, or move it before the transform that changes the form."
    if found.heartbeat:
        return _leave_out_heartbeats("this transform, too")
    half = found.refusal.half.capitalize()
    return (
        f"put `{VENDOR_TRANSFORMS}ConvertFromBytes${half}` before it and `{VENDOR_TRANSFORMS}ConvertToBytes${half}` "
        f"after it, each with `config: {{converter: {JSON_CONVERTER}, converter.schemas.enable: false}}`, all with one "
        "predicate that leaves out heartbeats. Kafka has no such transforms, so the workers need an image that has."
    )


def _leave_out_heartbeats(which: str) -> str:
    predicate = f"{{type: {KAFKA_TRANSFORMS}predicates.TopicNameMatches, config: {{pattern: '{_NOT_HEARTBEATS}'}}}}"
    return f"add `predicate: {predicate}` to {which}, or set `replicateHeartbeats: false`."


def _header_refused(source: _Source, found: ConverterFails) -> Problem:
    return Problem(
        _adding(source, found.part),
        "header-refused",
        f"the header `{found.part}` is {_shown(found.found)}, but the header converter writes only bytes",
        "The default, ByteArrayConverter, is the only converter of Kafka that keeps the records' own headers as they "
        "are. It refuses this one, so every task would fail at its first record.",
        f"set `transforms.converters.header: {{type: {SIMPLE_HEADER_CONVERTER}}}` if the records have no headers of "
        "their own, which it would write as Base64; or set `value.literal: 'null'` if the header's name says enough.",
    )


def _adding(source: _Source, header: str) -> str:
    """The path of the last transform that adds a header."""
    named: Mapping[str, Transform] = {**source.settings.transforms.before, **source.settings.transforms.after}
    adding = [
        name
        for name, transform in named.items()
        if header in {str(transform.config.get("header")), *str(transform.config.get("headers", "")).split(",")}
    ]
    return _where(source, adding[-1]) if adding else source.where("transforms")


def _half_refused(source: _Source, found: ConverterFails) -> Problem:
    half = found.part
    return Problem(
        source.where("transforms"),
        "converter-refuses",
        f"the {half} of `{found.topic}` is {_shown(found.found)} after the transforms, but the {half} converter writes "
        "only bytes",
        "Every task would fail at its first record.",
        f"end the chain with a transform that writes bytes, such as `{VENDOR_TRANSFORMS}ConvertToBytes"
        f"${half.capitalize()}`, with the same predicate; or, if the flow has `replicateHeartbeats: false`, set "
        f"`transforms.converters.{half}: {_JSON}`.",
    )


def _bytes_become_text(source: _Source, found: BytesBecomeText) -> Problem:
    half = found.part
    whose = "heartbeats" if found.heartbeat else "records"
    return Problem(
        source.where(f"transforms.converters.{half}"),
        "bytes-become-text",
        f"the {half} of `{found.topic}` is still bytes after the transforms, but the {half} converter writes text",
        f"No transform parses the {half} of these {whose}, so the converter would write the bytes as Base64 or as the "
        "name of a Java object, without an error.",
        f"remove `transforms.converters.{half}`, and end the chain for parsed records with a transform that writes "
        f"bytes, such as `{VENDOR_TRANSFORMS}ConvertToBytes${half.capitalize()}`.",
    )


def _json_envelope(source: _Source, found: JsonEnvelope) -> Problem:
    by_converter = found.at.endswith(".converter")
    where = source.where(f"transforms.converters.{found.part}") if by_converter else _where(source, found.at)
    key = "schemas.enable" if by_converter else "converter.schemas.enable"
    why = f'Without `{key}: false`, every {found.part} becomes `{{"schema":null,"payload":…}}`.'
    if found.reading:
        why = f"A {found.part} without one, such as plain JSON, fails the task."
    return Problem(
        where,
        "json-envelope",
        f"JsonConverter {'expects' if found.reading else 'adds'} an envelope of `schema` and `payload`",
        why,
        f"set `{key}: false`, or `true` if that is what you mean.",
        Severity.WARNING,
    )


def _headers_become_text(source: _Source) -> Problem:
    return Problem(
        source.where("transforms.converters.header"),
        "headers-become-text",
        "the records' own headers do not stay as they are",
        "MirrorMaker reads headers as bytes. This converter writes them as Base64 (SimpleHeaderConverter, "
        "JsonConverter) or as the name of a Java object (StringConverter).",
        "make sure that the records have no headers, or remove it and add only headers with `value.literal: 'null'`.",
        Severity.WARNING,
    )
