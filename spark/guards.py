"""What a loop guard and filters do to records, as column expressions: which are compared, and with which headers.

`role_of` and `compared_headers` do the same for one record in Python. Every expression except `without` uses functions
of whole arrays, which Spark compiles, instead of element-wise ones.
"""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from components.contract.parameters import DropsParameters, GuardParameters
from components.kafka.record_identity import Headers, without_mark
from components.kafka.transform_chains import DropsBy

SOURCE, TARGET = "source", "target"
#: The source again, as a read_uncommitted consumer sees it.
UNCOMMITTED = "uncommitted"
#: The roles, in this order: compared; not of this flow (dropped by the guard, or written on the target itself);
#: replicated in both directions; dropped by one of the user's own filters.
COMPARED, ASIDE, LOOPED, FILTERED = "compared", "aside", "looped", "filtered"


def role_column(side: str, guard: GuardParameters | None) -> Column:
    """The role of a record in a flow: COMPARED, ASIDE or LOOPED."""
    if guard is None:
        return F.lit(COMPARED)
    if side == SOURCE:
        return F.when(_carries(guard.filter), ASIDE).otherwise(COMPARED)
    return F.when(~_carries(guard.mark), ASIDE).when(_carries(guard.filter), LOOPED).otherwise(COMPARED)


def is_dropped(drops: Sequence[DropsParameters], remote: Column) -> Column:
    """Whether any of the user's filters drops the record; `remote` is the name of its topic on the target."""
    found = F.lit(False)
    for each in drops:
        found |= ~_met(each, remote) if each.negate else _met(each, remote)
    return found


def _met(drops: DropsParameters, remote: Column) -> Column:
    match drops.by:
        case DropsBy.TOMBSTONE:
            return F.col("value").isNull()
        case DropsBy.HEADER:
            return _carries(drops.value)
        case DropsBy.TOPIC:
            # A regular expression of Java, like that of the predicate.
            return remote.rlike(f"^(?:{drops.value})$")


def header_column(side: str, guard: GuardParameters | None) -> Column:
    """The headers to compare: without the marks that the guards of both directions appended on the way.

    A mark is the last header of its name and has no value. If the last one has a value, it is not the guard's and
    stays.
    """
    given = F.col("headers")
    if guard is None:
        return given
    newest, older = (guard.filter, guard.mark) if side == SOURCE else (guard.mark, guard.filter)
    once = F.when(_carries(newest), _without_last(given, newest)).otherwise(given)
    return F.when(_carries(newest) & _carries(older), _without_last(once, older)).otherwise(once)


def _without_last(given: Column, name: str) -> Column:
    """Headers that include `name` without the last header of that name, if it has no value."""
    before = F.size(given) - F.array_position(F.reverse(given["key"]), name).cast("int")
    unmarked = F.concat(F.slice(given, F.lit(1), before), F.slice(given, before + 2, F.size(given)))
    return F.when(F.get(given, before)["value"].isNull(), unmarked).otherwise(given)


def without_headers(names: Sequence[str], given: Column) -> Column:
    """The `given` headers without any of these `names`."""
    return F.filter(given, lambda header: ~header["key"].isin(*names)) if names else given


def compared_headers(side: str, guard: GuardParameters | None, changed: Sequence[str], given: Headers) -> Headers:
    """What `headers` and `without` leave of the `given` headers of one record."""
    names, found = {name for name, _ in given}, given
    if guard is not None:
        newest, older = (guard.filter, guard.mark) if side == SOURCE else (guard.mark, guard.filter)
        for mark in (newest, older):
            # The guard of the other direction marked the record, and this one then marked it again.
            found = without_mark(found, mark) if {newest, mark} <= names else found
    return [each for each in found if each[0] not in changed]


def role_of(side: str, guard: GuardParameters | None, given: Headers) -> str:
    """The `role` of a record with the `given` headers."""
    if guard is None:
        return COMPARED
    names = {name for name, _ in given}
    if side == TARGET and guard.mark not in names:
        return ASIDE
    if guard.filter in names:
        return ASIDE if side == SOURCE else LOOPED
    return COMPARED


def _carries(name: str) -> Column:
    """Whether a header has that name; false (not null) for a record without headers."""
    return F.coalesce(F.array_contains(F.col("headers")["key"], name), F.lit(False))
