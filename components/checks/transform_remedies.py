"""What to do about a transform that fails on the form of a key or value that it receives."""

from components.kafka.plugins import JSON_CONVERTER, RECORD_IS_TOMBSTONE, TOPIC_NAME_MATCHES, VENDOR_TRANSFORMS
from components.kafka.record_forms import BYTES, NULL, STRUCTURED, Form, Forms, Step
from components.kafka.transform_chains import Chain, TransformFails

_NOT_HEARTBEATS = r"^(?!(.+\.)?heartbeats).*$"
#: Transforms that leave a key or a value in another form.
_CHANGING = ("Cast", "ConvertFromBytes", "ExtractField", "HoistField", "TimestampConverter", "ValueToKey")


def shown(forms: Forms) -> str:
    """The forms in words; whether a structure has a schema is mentioned only if nothing else is."""
    told = forms - NULL if forms - NULL != STRUCTURED else frozenset({Form.MAP})
    return " or ".join(sorted(form.value for form in told)) or Form.NULL.value


def transform_remedy(found: TransformFails, chain: Chain) -> str:
    """What to do about a transform that fails, given the chain that it is part of."""
    half, forms = found.refusal.half, found.refusal.found
    if forms <= NULL:
        return _of_null(half)
    if forms <= BYTES | NULL:
        return _of_bytes(found, chain)
    if found.refusal.needs <= frozenset({Form.STRUCT, Form.NULL}):
        return f"remove it; a {half} that is read with `schemas.enable: false` has no schema."
    changing = _last(_before(found, chain), half, *_CHANGING)
    if changing is None:
        return "remove it."
    if {found.step.kind, changing.kind} == {"ConvertFromBytes"}:
        return f"remove it; `{changing.name}` has already parsed the {half}."
    return f"remove it, or move it before `{changing.name}`, which leaves {shown(forms)}."


def leave_out_heartbeats(which: str) -> str:
    """How to apply transforms to everything but heartbeats; `which` names the transforms."""
    predicate = f"{{type: {TOPIC_NAME_MATCHES}, config: {{pattern: '{_NOT_HEARTBEATS}'}}}}"
    return f"add `predicate: {predicate}` to {which}, or, in a `flow`, set `replicateHeartbeats: false`."


def _of_null(half: str) -> str:
    if half == "key":
        return "remove it; the key of these records is null."
    return f"add `predicate: {{type: {RECORD_IS_TOMBSTONE}}}` and `negate: true`, to leave out tombstones."


def _of_bytes(found: TransformFails, chain: Chain) -> str:
    half, before = found.refusal.half, _before(found, chain)
    writing, parsing = _last(before, half, "ConvertToBytes"), _last(before, half, "ConvertFromBytes")
    later = _last([step for step, _ in chain.steps if step not in before], half, "ConvertFromBytes")
    if found.heartbeat and parsing is not None:
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


def _before(found: TransformFails, chain: Chain) -> list[Step]:
    steps = [step for step, _ in chain.steps]
    return steps[: steps.index(found.step)]


def _last(steps: list[Step], half: str, *kinds: str) -> Step | None:
    """The last of some steps that has one of these kinds and works on this half."""
    return next((each for each in reversed(steps) if each.kind in kinds and _result(each) == half), None)


def _result(step: Step) -> str:
    return "key" if step.kind == "ValueToKey" else step.half
