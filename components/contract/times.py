"""A time in the form used in documents. May be imported by anything; imports nothing of ours."""

from datetime import datetime, timedelta
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, StrictStr


def _with_zone(time: str) -> str:
    if datetime.fromisoformat(time).tzinfo is None:
        raise ValueError("a time without a zone")
    return time


#: ISO 8601 with a zone; without one it could not be compared with other times.
Time: TypeAlias = Annotated[StrictStr, AfterValidator(_with_zone)]
#: How far the clocks of two machines may differ if one validates and the other validates or promotes the same flow.
CLOCKS_APART = timedelta(minutes=1)
