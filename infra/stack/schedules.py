"""When a CronJob runs: schedules and time zones as Kubernetes reads them. Stdlib only."""

import re
from zoneinfo import available_timezones

#: Source: robfig/cron ParseStandard, which the API server calls.
NAMED = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = re.compile(r"@every (\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
#: Each field with its smallest and largest value, and the names of values.
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of the week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_RANGE = re.compile(r"(?P<all>[*?])|(?P<first>\w+)(-(?P<last>\w+))?")


def why_no_schedule(schedule: str) -> str | None:
    """Why Kubernetes refuses a schedule, as a clause; None if it accepts it."""
    if "TZ=" in schedule:
        return "the time zone has its own key"
    if _EVERY.fullmatch(schedule):
        return None
    if schedule.startswith("@"):
        return None if schedule in NAMED else f"the named schedules are {', '.join(f'`{each}`' for each in NAMED)}"
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields instead of five: {', '.join(name for name, *_ in _FIELDS)}"
    for given, (name, least, most, names) in zip(fields, _FIELDS, strict=True):
        for part in filter(None, given.split(",")):
            if why := _why_no_part(part, least, most, names):
                return f"`{given}` is not a valid {name}: {why}"
    return None


def _why_no_part(part: str, least: int, most: int, names: dict[str, int]) -> str | None:
    span, slash, step = part.partition("/")
    if slash and not (step.isdecimal() and int(step) > 0):
        return "a step must be a whole number from 1"
    found = _RANGE.fullmatch(span)
    if found is None:
        return f"`{span}` is neither a value nor a range"
    if found["all"]:
        return None
    ends = [_value(each, names) for each in (found["first"], found["last"]) if each is not None]
    if any(each is None or not least <= each <= most for each in ends):
        return f"values are {least} to {most}{', or names of three letters' if names else ''}"
    return "the range ends before it begins" if ends[0] > ends[-1] else None  # type: ignore[operator]


def _value(text: str, names: dict[str, int]) -> int | None:
    return int(text) if text.isdecimal() else names.get(text.lower())


def known_time_zones() -> frozenset[str]:
    """The names in this machine's IANA database; empty if it has none. Kubernetes has a database of its own."""
    return frozenset(available_timezones())
