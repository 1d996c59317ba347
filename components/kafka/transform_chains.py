"""Whether records pass the transforms and converters of a source connector, which records its filters drop, and which
headers its transforms change.

A chain is read from a connector's configuration and followed with records of the given topics. A finding is reported
only if it is certain for such a record. Source: KIP-66, KIP-585, AbstractWorkerSourceTask.convertTransformedRecord,
InsertHeader, DropHeaders, Filter and the predicates of Connect.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from kafka_replication.components.kafka.overlap import Disjoint, overlap_of_patterns
from kafka_replication.components.kafka.patterns import in_python, matches, pattern_error
from kafka_replication.components.kafka.plugins import (
    BYTE_ARRAY_CONVERTER,
    CONVERTER_KEYS,
    HAS_HEADER_KEY,
    JSON_CONVERTER,
    RECORD_IS_TOMBSTONE,
    SIMPLE_HEADER_CONVERTER,
    STRING_CONVERTER,
    TOPIC_NAME_MATCHES,
    TYPED_CONVERTERS,
    below,
)
from kafka_replication.components.kafka.record_forms import (
    BYTES,
    NULL,
    Form,
    Forms,
    Properties,
    RecordForms,
    Step,
    StepRefusal,
    applied,
    writable,
)
from kafka_replication.components.kafka.topic_names import is_name

KEY, VALUE, HEADER = CONVERTER_KEYS
#: How many predicates are followed for both answers; further ones are assumed to answer no.
_VARIED = 6
#: Converters that write anything, bytes as Base64 or as the name of a Java object.
_WRITE_ANYTHING = {JSON_CONVERTER, STRING_CONVERTER}


@dataclass(frozen=True)
class Predicate:
    """When a transform is applied: name, class and properties of a predicate, and whether its answer is negated."""

    name: str
    type: str
    config: Properties
    negate: bool


@dataclass(frozen=True)
class Chain:
    """The transforms of a connector in order, each with its predicate; and its converters by property."""

    steps: tuple[tuple[Step, Predicate | None], ...]
    converters: Mapping[str, str]
    converter_config: Mapping[str, Properties]


@dataclass(frozen=True)
class TransformFails:
    """A transform that fails every task at a record of this topic; `predicate` decides whether it is applied."""

    step: Step
    refusal: StepRefusal
    topic: str
    heartbeat: bool


@dataclass(frozen=True)
class ConverterFails:
    """A converter that fails every task: `part` is `key`, `value` or the name of a header, `name` its class."""

    converter: str
    name: str
    part: str
    found: Forms
    topic: str
    heartbeat: bool


@dataclass(frozen=True)
class BytesBecomeText:
    """A converter that writes bytes as Base64 or worse; `part` is `key`, `value` or `headers` (the record's own)."""

    converter: str
    part: str
    topic: str
    heartbeat: bool


@dataclass(frozen=True)
class JsonEnvelope:
    """JsonConverter without `schemas.enable: false`: it expects or adds an envelope of `schema` and `payload`."""

    at: str
    part: str
    reading: bool
    topic: str
    heartbeat: bool


Finding = TransformFails | ConverterFails | BytesBecomeText | JsonEnvelope


def chain_of(config: Mapping[str, object]) -> Chain:
    """Return the chain in a connector's configuration."""
    steps = tuple(_step(name, config) for name in str(config.get("transforms", "")).split(",") if name)
    converters = {name: str(config.get(name, BYTE_ARRAY_CONVERTER)) for name in CONVERTER_KEYS}
    return Chain(steps, converters, {name: below(f"{name}.", config) for name in CONVERTER_KEYS})


@dataclass(frozen=True)
class HeaderUse:
    """A header that a transform drops or writes; `is_listed` if its property lists several."""

    header: str
    writes: bool
    is_listed: bool


def headers_used(step: Step) -> list[HeaderUse]:
    """Return the headers that one of Kafka's transforms touches. Source: DropHeaders, HeaderFrom, InsertHeader."""
    match step.kind:
        case "InsertHeader":
            return [HeaderUse(step.text("header"), True, False)]
        case "DropHeaders" | "HeaderFrom":
            return [HeaderUse(header, step.kind == "HeaderFrom", True) for header in step.listed("headers")]
    return []


def _step(name: str, config: Mapping[str, object]) -> tuple[Step, Predicate | None]:
    own = below(f"transforms.{name}.", config)
    step = Step(name, str(own.get("type", "")), {key: value for key, value in own.items() if key not in _OF_STAGE})
    if "predicate" not in own:
        return step, None
    asked = str(own["predicate"])
    of_predicate = below(f"predicates.{asked}.", config)
    negate = str(own.get("negate", "false")).lower() == "true"
    return step, Predicate(asked, str(of_predicate.get("type", "")), of_predicate, negate)


_OF_STAGE = {"type", "predicate", "negate"}


def findings(chain: Chain, topics: Iterable[str], heartbeats: Iterable[str] = ()) -> Iterator[Finding]:
    """Yield, once each, what fails or changes records of these topics, which are named as on the target."""
    told: set[tuple[str, ...]] = set()
    opaque = [RecordForms(topic, value=BYTES, opaque=True) for topic in heartbeats]
    for record in (*map(RecordForms, topics), *opaque):
        for answers in _answers(chain, record):
            for finding in _followed(chain, record, answers):
                if (place := _place(finding)) not in told:
                    told.add(place)
                    yield finding


def _place(finding: Finding) -> tuple[str, ...]:
    match finding:
        case TransformFails():
            return ("transform", finding.step.name)
        case JsonEnvelope():
            return ("envelope", finding.at, finding.part)
    return ("converter", finding.converter, finding.part)


def _answers(chain: Chain, record: RecordForms) -> Iterator[Mapping[str, bool]]:
    """Yield every combination of answers to the predicates that a record's topic does not decide."""
    asked = {predicate.name: predicate for _, predicate in chain.steps if predicate is not None}
    varied = [name for name, predicate in asked.items() if _by_topic(predicate, record) is None][:_VARIED]
    for chosen in itertools.product((False, True), repeat=len(varied)):
        yield dict(zip(varied, chosen, strict=True))


def _by_topic(predicate: Predicate, record: RecordForms) -> bool | None:
    """Return the answer that follows from the topic, or from a record being a heartbeat; None if there is none."""
    if predicate.type == TOPIC_NAME_MATCHES:
        pattern = _compiled(str(predicate.config.get("pattern", "")))
        return None if pattern is None else pattern.fullmatch(record.topic) is not None
    if record.opaque and predicate.type in (HAS_HEADER_KEY, RECORD_IS_TOMBSTONE):
        return False
    return None


@lru_cache(maxsize=1 << 10)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    return re.compile(in_python(pattern)) if pattern_error(pattern.replace(",", "")) is None else None


def _followed(chain: Chain, record: RecordForms, answers: Mapping[str, bool]) -> Iterator[Finding]:
    tombstone = any(
        answers.get(predicate.name) and predicate.type == RECORD_IS_TOMBSTONE
        for _, predicate in chain.steps
        if predicate is not None
    )
    at = replace(record, value=NULL) if tombstone else record
    for step, predicate in chain.steps:
        if predicate is not None and _holds(predicate, at, answers) is predicate.negate:
            continue
        yield from _envelope_of(step, at)
        after = applied(step, at)
        if isinstance(after, StepRefusal):
            yield TransformFails(step, after, record.topic, record.opaque)
            return
        if after is None:
            return
        at = after
    yield from _written(chain, at)


def _holds(predicate: Predicate, record: RecordForms, answers: Mapping[str, bool]) -> bool:
    if predicate.type == HAS_HEADER_KEY and predicate.config.get("name") in record.headers:
        return True
    decided = _by_topic(predicate, record)
    return answers.get(predicate.name, False) if decided is None else decided


def _envelope_of(step: Step, record: RecordForms) -> Iterator[JsonEnvelope]:
    reading, half = step.kind == "ConvertFromBytes", record.half(step.half)
    if step.config.get("converter") != JSON_CONVERTER or "converter.schemas.enable" in step.config or record.opaque:
        return
    if (reading and Form.BYTES in half) or (step.kind == "ConvertToBytes" and _has_no_schema(half)):
        yield JsonEnvelope(step.name, step.half, reading, record.topic, record.opaque)


def _has_no_schema(forms: Forms) -> bool:
    return Form.MAP in forms and Form.STRUCT not in forms


def _written(chain: Chain, record: RecordForms) -> Iterator[Finding]:
    for part, converter in (("key", KEY), ("value", VALUE)):
        yield from _half_written(chain.converters[converter], converter, part, record)
        is_default = "schemas.enable" not in chain.converter_config[converter]
        if chain.converters[converter] == JSON_CONVERTER and is_default and _has_no_schema(record.half(part)):
            yield JsonEnvelope(converter, part, False, record.topic, record.opaque)
    header = chain.converters[HEADER]
    for name, forms in record.headers.items():
        if not forms & writable(header):
            yield ConverterFails(HEADER, header, name, forms, record.topic, record.opaque)
    if header in {*_WRITE_ANYTHING, SIMPLE_HEADER_CONVERTER, *TYPED_CONVERTERS} and not record.opaque:
        yield BytesBecomeText(HEADER, "headers", record.topic, record.opaque)


def _half_written(converter: str, property_name: str, part: str, record: RecordForms) -> Iterator[Finding]:
    forms = record.half(part)
    if not forms & writable(converter):
        yield ConverterFails(property_name, converter, part, forms, record.topic, record.opaque)
    if converter in _WRITE_ANYTHING and forms <= BYTES | NULL and Form.BYTES in forms:
        yield BytesBecomeText(property_name, part, record.topic, record.opaque)


class DropsBy(StrEnum):
    """What decides whether a filter drops a record."""

    TOMBSTONE = "tombstone"
    HEADER = "header"
    TOPIC = "topic"


_ASKED: Mapping[str, tuple[DropsBy, str]] = {
    RECORD_IS_TOMBSTONE: (DropsBy.TOMBSTONE, ""),
    HAS_HEADER_KEY: (DropsBy.HEADER, "name"),
    TOPIC_NAME_MATCHES: (DropsBy.TOPIC, "pattern"),
}


@dataclass(frozen=True)
class Drops:
    """What a filter drops, or spares (`negate`): `value` is a header, or a pattern of topics as on the target."""

    by: DropsBy
    value: str = ""
    negate: bool = False


@dataclass(frozen=True)
class Effects:
    """The headers that a chain inserts or removes, and the records that it drops, if it does nothing else."""

    headers: tuple[str, ...] = ()
    drops: tuple[Drops, ...] = ()


def known_effects(steps: Iterable[tuple[Step, Predicate | None]]) -> Effects | None:
    """Return the effects of a chain; None if it may have others, or if a record does not tell what is filtered."""
    known = list(steps)
    if any(step.kind not in ("InsertHeader", "DropHeaders", "Filter") for step, _ in known):
        return None
    headers = {used.header for step, _ in known for used in headers_used(step)}
    drops = [_drops(predicate) for step, predicate in known if step.kind == "Filter"]
    certain = [drop for drop in drops if drop is not None and not (drop.by is DropsBy.HEADER and drop.value in headers)]
    if len(certain) < len(drops):
        return None
    return Effects(tuple(sorted(headers)), tuple(dict.fromkeys(certain)))


def _drops(predicate: Predicate | None) -> Drops | None:
    """Return what a filter with this predicate drops; None if a record does not tell, or if it is every record."""
    if predicate is None or predicate.type not in _ASKED:
        return None
    by, asked = _ASKED[predicate.type]
    value = str(predicate.config.get(asked, "")).strip() if asked else ""
    if (asked and not value) or (by is DropsBy.TOPIC and pattern_error(value) is not None):
        return None
    return Drops(by, value, predicate.negate)


#: How many questions are followed for both answers; with more, nothing is claimed.
_QUESTIONS = 6
#: Transforms that change neither a topic nor headers that they do not name.
_KNOWN = (
    *("Cast", "ConvertFromBytes", "ConvertToBytes", "ExtractField", "Flatten", "HoistField", "InsertField"),
    *("MaskField", "ReplaceField", "SetSchemaMetadata", "TimestampConverter", "ValueToKey"),
)
_HEADERS = ("DropHeaders", "Filter", "HeaderFrom", "InsertHeader")

#: A pattern that matches everything except what `name` matches.
_ALL_BUT = re.compile(r"\^?\(\?!(?P<name>.+?)(?P<end>\$?)\)\.\*\$?")

#: What a predicate asks: its class, its properties, and how many earlier transforms may have changed the answer.
_Question = tuple[str, str, int]


@dataclass(frozen=True)
class _Asked:
    """A step with its question, and the answer to it that follows from the topics; None if there is none."""

    step: Step
    question: _Question | None
    header: str
    negate: bool
    certain: bool | None


def filters_of_everything(chain: Chain, topics: Iterable[str], excluded: Sequence[str] = ()) -> list[str]:
    """Return the filters that drop every record that reaches them; `topics` are named as on the target."""
    reached: dict[str, bool] = {}
    for pattern in topics:
        steps = list(_asked(chain, pattern, excluded))
        open_questions = sorted({step.question for step in steps if step.question and step.certain is None})
        if len(open_questions) > _QUESTIONS:
            return []
        for answers in itertools.product((False, True), repeat=len(open_questions)):
            for name, dropped in _passed_by(steps, dict(zip(open_questions, answers, strict=True))):
                reached[name] = reached.get(name, True) and dropped
    return [name for name, always in reached.items() if always]


def _asked(chain: Chain, pattern: str, excluded: Sequence[str]) -> Iterator[_Asked]:
    changes = unknown = 0
    for step, predicate in chain.steps:
        if predicate is None:
            yield _Asked(step, None, "", False, True)
        else:
            config = str(sorted((key, str(value)) for key, value in predicate.config.items()))
            header = str(predicate.config.get("name", "")).strip() if predicate.type == HAS_HEADER_KEY else ""
            certain = None if unknown else _by_topics(predicate, pattern, excluded)
            yield _Asked(step, (predicate.type, config, changes), header, predicate.negate, certain)
        changes += step.kind not in _HEADERS
        unknown += step.kind not in (*_HEADERS, *_KNOWN)


def _by_topics(predicate: Predicate, topics: str, excluded: Sequence[str]) -> bool | None:
    """Return the answer for every topic that a name or pattern selects; None if it differs, or could."""
    if predicate.type != TOPIC_NAME_MATCHES:
        return None
    asked = str(predicate.config.get("pattern", "")).strip()
    if is_name(topics):
        return None if pattern_error(asked) else matches(asked, topics)
    if isinstance(overlap_of_patterns(topics, asked, excluded), Disjoint):
        return False
    without = _ALL_BUT.fullmatch(asked)
    if without is not None:
        overlap = overlap_of_patterns(topics, without["name"] + ("" if without["end"] else ".*"), excluded)
    else:
        overlap = overlap_of_patterns(topics, ".*", (*excluded, asked))
    return True if isinstance(overlap, Disjoint) else None


def _passed_by(steps: Sequence[_Asked], answers: Mapping[_Question, bool]) -> Iterator[tuple[str, bool]]:
    """Yield each filter that a record reaches, and whether it drops the record."""
    headers: dict[str, bool] = {}
    for step in steps:
        applies = _answer_of(step, headers, answers) is not step.negate
        if step.step.kind == "Filter":
            yield step.step.name, applies
            if applies:
                return
        elif applies:
            headers |= {used.header: used.writes for used in headers_used(step.step)}
            if step.step.kind not in (*_HEADERS, *_KNOWN):
                headers.clear()


def _answer_of(asked: _Asked, headers: Mapping[str, bool], answers: Mapping[_Question, bool]) -> bool:
    if asked.certain is not None:
        return asked.certain
    if asked.header in headers:
        return headers[asked.header]
    return asked.question is not None and answers[asked.question]
