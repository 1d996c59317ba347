"""Whether a filter in a chain drops every record that reaches it. A finding is a proof for all records of the topics.
Source: Filter, and the predicates of Connect (KIP-585).
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from components.kafka.overlap import Disjoint, overlap_of_patterns
from components.kafka.patterns import matches, pattern_error
from components.kafka.plugins import HAS_HEADER_KEY, TOPIC_NAME_MATCHES
from components.kafka.record_forms import Step
from components.kafka.topic_names import is_name
from components.kafka.transform_chains import Chain, Predicate

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
    """Names of the filters that drop every record that reaches them.

    `topics` are names and patterns of the topics as they are named on the target, where transforms see them.
    """
    reached: dict[str, bool] = {}
    for pattern in topics:
        steps = list(_asked(chain, pattern, excluded))
        open_questions = sorted({each.question for each in steps if each.question and each.certain is None})
        if len(open_questions) > _QUESTIONS:
            return []
        for answers in itertools.product((False, True), repeat=len(open_questions)):
            for name, dropped in _followed(steps, dict(zip(open_questions, answers, strict=True))):
                reached[name] = reached.get(name, True) and dropped
    return [name for name, always in reached.items() if always]


def _asked(chain: Chain, pattern: str, excluded: Sequence[str]) -> Iterator[_Asked]:
    changes = unknown = 0
    for step, predicate in chain.steps:
        if predicate is None:
            yield _Asked(step, None, "", False, True)
        else:
            said = str(sorted((key, str(value)) for key, value in predicate.config.items()))
            header = str(predicate.config.get("name", "")).strip() if predicate.type == HAS_HEADER_KEY else ""
            certain = None if unknown else _by_topics(predicate, pattern, excluded)
            yield _Asked(step, (predicate.type, said, changes), header, predicate.negate, certain)
        changes += step.kind not in _HEADERS
        unknown += step.kind not in (*_HEADERS, *_KNOWN)


def _by_topics(predicate: Predicate, topics: str, excluded: Sequence[str]) -> bool | None:
    """The answer for every topic that a name or pattern selects; None if it differs, or could."""
    if predicate.type != TOPIC_NAME_MATCHES:
        return None
    asked = str(predicate.config.get("pattern", "")).strip()
    if is_name(topics):
        return None if pattern_error(asked) else matches(asked, topics)
    if isinstance(overlap_of_patterns(topics, asked, excluded), Disjoint):
        return False
    without = _ALL_BUT.fullmatch(asked)
    if without is not None:
        found = overlap_of_patterns(topics, without["name"] + ("" if without["end"] else ".*"), excluded)
    else:
        found = overlap_of_patterns(topics, ".*", (*excluded, asked))
    return True if isinstance(found, Disjoint) else None


def _followed(steps: Sequence[_Asked], answers: Mapping[_Question, bool]) -> Iterator[tuple[str, bool]]:
    """Each filter that a record reaches, and whether it drops the record; `headers` are those known to be present."""
    headers: dict[str, bool] = {}
    for each in steps:
        applies = _answer(each, headers, answers) is not each.negate
        if each.step.kind == "Filter":
            yield each.step.name, applies
            if applies:
                return
        elif applies:
            headers |= _known_headers(each.step)
            if each.step.kind not in (*_HEADERS, *_KNOWN):
                headers.clear()


def _answer(asked: _Asked, headers: Mapping[str, bool], answers: Mapping[_Question, bool]) -> bool:
    if asked.certain is not None:
        return asked.certain
    if asked.header in headers:
        return headers[asked.header]
    return asked.question is not None and answers[asked.question]


def _known_headers(step: Step) -> dict[str, bool]:
    """Headers that a record certainly has, or certainly lacks, after a transform."""
    match step.kind:
        case "InsertHeader":
            return {step.text("header"): True}
        case "HeaderFrom":
            return dict.fromkeys(step.listed("headers"), True)
        case "DropHeaders":
            return dict.fromkeys(step.listed("headers"), False)
    return {}
