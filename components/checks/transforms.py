"""Transforms: free names, no plain-text credential, no other topic, and a chain that Connect can run to its end."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka_replication.components.checks.property_values import check_credentials
from kafka_replication.components.contract.problems import Problem, warning
from kafka_replication.components.flows.expansion import ExpandedFlow, FlowShape
from kafka_replication.components.flows.heartbeats import EVERYTHING, Heartbeats
from kafka_replication.components.flows.naming import replication_policy
from kafka_replication.components.flows.selections import each_source, source_key, topic_selection
from kafka_replication.components.kafka.overlap import SharedName, overlap_of_patterns
from kafka_replication.components.kafka.patterns import pattern_error
from kafka_replication.components.kafka.plugins import (
    CLASSES,
    CONVERTER_KEYS,
    JSON_CONVERTER,
    RECORD_IS_TOMBSTONE,
    SCHEMA_CONVERTERS,
    SIMPLE_HEADER_CONVERTER,
    TOPIC_NAME_MATCHES,
    TYPED_CONVERTERS,
    VENDOR_TRANSFORMS,
    Role,
    full_class_name,
    simple_name,
)
from kafka_replication.components.kafka.record_forms import BYTES, NULL, STRUCTURED, Form, Forms, Step
from kafka_replication.components.kafka.topic_names import is_name
from kafka_replication.components.kafka.transform_chains import (
    HEADER,
    BytesBecomeText,
    Chain,
    ConverterFails,
    Finding,
    JsonEnvelope,
    TransformFails,
    chain_of,
    findings,
)
from kafka_replication.components.render.connector_config import (
    RESERVED_NAMES,
    converter_properties,
    transform_properties,
)
from kafka_replication.components.topology.connectors import Transform
from kafka_replication.components.topology.model import Flow

_NOT_HEARTBEATS = r"^(?!(.+\.)?heartbeats).*$"
#: Transforms that leave a key or a value in another form.
_CHANGING = ("Cast", "ConvertFromBytes", "ExtractField", "HoistField", "TimestampConverter", "ValueToKey")


def shown(forms: Forms) -> str:
    """Return the forms in words; whether a structure has a schema is mentioned only if nothing else is."""
    told = forms - NULL if forms - NULL != STRUCTURED else frozenset({Form.MAP})
    return " or ".join(sorted(form.value for form in told)) or Form.NULL.value


def transform_remedy(failure: TransformFails, chain: Chain) -> str:
    """Return what to do about a transform that fails, given the chain that it is part of."""
    half, forms = failure.refusal.half, failure.refusal.found
    if forms <= NULL:
        if half == "key":
            return "remove it; the key of these records is null."
        return f"add `predicate: {{type: {RECORD_IS_TOMBSTONE}}}` and `negate: true`, to leave out tombstones."
    if forms <= BYTES | NULL:
        return _of_bytes(failure, chain)
    if failure.refusal.needs <= frozenset({Form.STRUCT, Form.NULL}):
        return f"remove it; a {half} that is read with `schemas.enable: false` has no schema."
    changing = _last(_before(failure, chain), half, *_CHANGING)
    if changing is None:
        return "remove it."
    if {failure.step.kind, changing.kind} == {"ConvertFromBytes"}:
        return f"remove it; `{changing.name}` has already parsed the {half}."
    return f"remove it, or move it before `{changing.name}`, which leaves {shown(forms)}."


def leave_out_heartbeats(which: str, besides: str = "") -> str:
    """Return how to apply transforms to everything but heartbeats; `which` names the transforms, `besides` what else
    has to change.
    """
    predicate = f"{{type: {TOPIC_NAME_MATCHES}, config: {{pattern: '{_NOT_HEARTBEATS}'}}}}"
    return f"add `predicate: {predicate}` to {which}{besides}, or, in a `flow`, set `replicateHeartbeats: false`."


def _of_bytes(failure: TransformFails, chain: Chain) -> str:
    half, before = failure.refusal.half, _before(failure, chain)
    writing, parsing = _last(before, half, "ConvertToBytes"), _last(before, half, "ConvertFromBytes")
    later = _last([step for step, _ in chain.steps if step not in before], half, "ConvertFromBytes")
    if failure.heartbeat and parsing is not None:
        return leave_out_heartbeats("this transform, too")
    if writing is not None:
        return f"move it before `{writing.name}`, which turns the {half} into bytes."
    if parsing is not None:
        return f"give it the predicate of `{parsing.name}`, which does not parse the {half} of every record."
    if later is not None:
        return f"move it after `{later.name}`, which parses the {half}."
    of_half = half.capitalize()
    return (
        f"put `{VENDOR_TRANSFORMS}ConvertFromBytes${of_half}` before it and "
        f"`{VENDOR_TRANSFORMS}ConvertToBytes${of_half}` after it, each with `config: {{converter: {JSON_CONVERTER}, "
        "converter.schemas.enable: false}`, all with one predicate that leaves out heartbeats. Kafka has no such "
        "transforms, so the workers need an image that has them."
    )


def _before(failure: TransformFails, chain: Chain) -> list[Step]:
    steps = [step for step, _ in chain.steps]
    return steps[: steps.index(failure.step)]


def _last(steps: list[Step], half: str, *kinds: str) -> Step | None:
    """Return the last of some steps that has one of these kinds and works on this half."""
    return next((step for step in reversed(steps) if step.kind in kinds and _result(step) == half), None)


def _result(step: Step) -> str:
    return "key" if step.kind == "ValueToKey" else step.half


#: Transforms that move a record to another topic.
_ROUTERS = ("RegexRouter", "TimestampRouter", "ByLogicalTableRouter")
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
    """The user's transforms have free names and no plain-text credential, keep a record's topic, and can run."""
    told: set[tuple[str, str]] = set()
    for part, settings in each_source(flow.settings):
        for problem in _check_source(_Source(flow, part, settings), heartbeats):
            if (problem.where, problem.code) not in told:
                told.add((problem.where, problem.code))
                yield problem


def _check_source(source: _Source, heartbeats: Heartbeats) -> Iterator[Problem]:
    transforms = source.settings.transforms
    taken = set(RESERVED_NAMES) if source.settings.loop_guard else set()
    for place, name, transform in transforms.in_order():
        where = source.where(f"transforms.{place}.{name}")
        if name != name.strip() or not name or "," in name:
            yield Problem(
                where,
                "transform-name-in-list",
                f"the transform's name is `{name}`",
                "Connect reads the names of transforms from a list. It splits the list at every comma and strips "
                "blanks around each name, so it would not find the properties of this transform.",
                f"rename it, for example to `{re.sub('[^A-Za-z0-9_-]+', '-', name).strip('-') or 'first'}`.",
            )
        if name in taken:
            yield Problem(
                where,
                "transform-name-taken",
                f"the name `{name}` is taken",
                "Connect keeps only one transform of each name, so the loop guard or the other transform would be "
                "lost.",
                "choose another name.",
            )
        taken.add(name)
        yield from _check_transform(where, transform)
    if transforms.change_records:
        yield from _check_chain(source, heartbeats)
    if not (transforms.before or transforms.after):
        yield from _check_own_converters(source)


def _check_own_converters(source: _Source) -> Iterator[Problem]:
    """A converter that is not Kafka's changes records that no transform has parsed."""
    for key, given in converter_properties(source.settings.transforms).items():
        name = full_class_name(str(given))
        if (
            key not in CONVERTER_KEYS
            or name in CLASSES[Role.HEADER_CONVERTER]
            or "." not in name
            or name.startswith(("org.apache.kafka.", "${"))
        ):
            continue
        half = key.partition(".")[0]
        where = source.where(f"transforms.converters.{half}")
        remedy = f"remove `transforms.converters.{half}`, unless a transform parses the {half} before."
        if name in SCHEMA_CONVERTERS:
            what = f"{simple_name(name)} changes the {half} of every record"
            why = f"MirrorMaker hands it the bytes that the producer wrote. It writes {SCHEMA_CONVERTERS[name]}."
            yield Problem(where, "converter-changes-bytes", what, why, remedy)
        else:
            what = f"the checks do not know what `{name}` writes"
            why = f"MirrorMaker hands it the {half} as bytes. All known converters but ByteArrayConverter change it."
            yield warning(where, "converter-not-known", what, why, remedy)


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
    for finding in findings(chain, _topics(settings, source.flow.kafka), passing):
        yield _problem(source, finding, chain)


def _topics(flow: Flow, kafka: str) -> list[str]:
    """Example topics on the target: one for each name, and one for each pattern."""
    excluded = topic_selection(flow, kafka, ()).excluded
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


def _problem(source: _Source, finding: Finding, chain: Chain) -> Problem:
    match finding:
        case TransformFails():
            return _transform_fails(source, finding, chain)
        case ConverterFails():
            return _header_refused(source, finding) if finding.converter == HEADER else _half_refused(source, finding)
        case JsonEnvelope():
            return _json_envelope(source, finding)
        case BytesBecomeText():
            return _headers_become_text(source) if finding.converter == HEADER else _bytes_become_text(source, finding)


def _where(source: _Source, name: str) -> str:
    place = "before" if name in source.settings.transforms.before else "after"
    return source.where(f"transforms.{place}.{name}")


def _transform_fails(source: _Source, failure: TransformFails, chain: Chain) -> Problem:
    step, refusal = failure.step, failure.refusal
    where = _where(source, step.name)
    if not refusal.needs:
        half, converters = refusal.half, source.settings.transforms.converters
        converted = converters is not None and getattr(converters, half) is not None
        besides = (
            f", and replace `transforms.converters.{half}` with a last transform "
            f"`{VENDOR_TRANSFORMS}ConvertToBytes${half.capitalize()}` with the same predicate"
        )
        return Problem(
            where,
            "heartbeats-not-parsed",
            f"`{step.name}` cannot parse heartbeats, such as the records of `{failure.topic}`",
            "The source connector also replicates heartbeats, which the converter cannot read. Its tasks would fail at "
            "the first one.",
            leave_out_heartbeats("this transform and to those that need its result", besides if converted else ""),
        )
    return Problem(
        where,
        "transform-fails",
        f"the {refusal.half} of `{failure.topic}` is {shown(refusal.found)} when it reaches `{step.name}`, which needs "
        f"{shown(refusal.needs)}",
        f"{_why_form(failure)} Every task would fail at its first such record.",
        transform_remedy(failure, chain),
    )


def _why_form(failure: TransformFails) -> str:
    if failure.refusal.found <= NULL:
        return "A tombstone has a key and no value."
    if failure.refusal.found <= BYTES | NULL:
        return "MirrorMaker reads keys and values as bytes, and they stay bytes until a transform parses them."
    return f"An earlier transform leaves the {failure.refusal.half} in that form."


def _header_refused(source: _Source, failure: ConverterFails) -> Problem:
    return Problem(
        _adding(source, failure.part),
        "header-refused",
        f"the header `{failure.part}` is {shown(failure.found)}, but the header converter writes only bytes",
        "The default, ByteArrayConverter, is Kafka's only converter that keeps the records' own headers as they "
        "are. It refuses this header, so every task would fail at its first record.",
        "set `value.literal: 'null'` if the header's name is enough. If the records have no headers of their own, "
        f"`transforms.converters.header: {{type: {SIMPLE_HEADER_CONVERTER}}}` is possible; it would write those as "
        "Base64, and the warning `headers-become-text` says so.",
    )


def _adding(source: _Source, header: str) -> str:
    """Return the path of the last transform that adds a header."""
    named: Mapping[str, Transform] = {**source.settings.transforms.before, **source.settings.transforms.after}
    adding = [
        name
        for name, transform in named.items()
        if header in {str(transform.config.get("header")), *str(transform.config.get("headers", "")).split(",")}
    ]
    return _where(source, adding[-1]) if adding else source.where("transforms")


def _half_refused(source: _Source, failure: ConverterFails) -> Problem:
    half = failure.part
    where, writes = source.where("transforms"), f"the {half} converter writes only bytes"
    remedy = (
        f"end the chain with a transform that writes bytes, such as `{VENDOR_TRANSFORMS}ConvertToBytes"
        f"${half.capitalize()}`, with the same predicate"
    )
    if source.flow.shape is FlowShape.FLOW:
        remedy += f"; or, if the flow has `replicateHeartbeats: false`, set `transforms.converters.{half}: {_JSON}`"
    remedy += "."
    if failure.name in TYPED_CONVERTERS:
        where = source.where(f"transforms.converters.{half}")
        writes = f"{simple_name(failure.name)} writes only {'truth values' if 'Boolean' in failure.name else 'numbers'}"
        remedy = f"remove `transforms.converters.{half}`; by default the {half} stays as it is."
    return Problem(
        where,
        "converter-refuses",
        f"the {half} of `{failure.topic}` is {shown(failure.found)} after the transforms, but {writes}",
        "Every task would fail at its first record.",
        remedy,
    )


def _bytes_become_text(source: _Source, finding: BytesBecomeText) -> Problem:
    half = finding.part
    whose = "heartbeats" if finding.heartbeat else "records"
    return Problem(
        source.where(f"transforms.converters.{half}"),
        "bytes-become-text",
        f"the {half} of `{finding.topic}` is still bytes after the transforms, but the {half} converter writes text",
        f"No transform parses the {half} of these {whose}, so the converter would write the bytes as Base64 or as the "
        "name of a Java object, without an error.",
        f"remove `transforms.converters.{half}`, and end the chain for parsed records with a transform that writes "
        f"bytes, such as `{VENDOR_TRANSFORMS}ConvertToBytes${half.capitalize()}`.",
    )


def _json_envelope(source: _Source, finding: JsonEnvelope) -> Problem:
    by_converter = finding.at.endswith(".converter")
    where = source.where(f"transforms.converters.{finding.part}") if by_converter else _where(source, finding.at)
    key = "schemas.enable" if by_converter else "converter.schemas.enable"
    why = f'Without `{key}: false`, every {finding.part} becomes `{{"schema":null,"payload":…}}`.'
    if finding.reading:
        why = f"A {finding.part} without one, such as plain JSON, fails the task."
    return warning(
        where,
        "json-envelope",
        f"JsonConverter {'expects' if finding.reading else 'adds'} an envelope of `schema` and `payload`",
        why,
        f"set `{key}: false`, or `true` if that is what you mean.",
    )


def _headers_become_text(source: _Source) -> Problem:
    return warning(
        source.where("transforms.converters.header"),
        "headers-become-text",
        "the records' own headers are changed",
        "MirrorMaker reads headers as bytes. This converter writes them as Base64 (SimpleHeaderConverter, "
        "JsonConverter) or as the name of a Java object (StringConverter). One for numbers, such as IntegerConverter, "
        "fails the task.",
        "make sure that the records have no headers, or remove it and add only headers with `value.literal: 'null'`.",
    )
