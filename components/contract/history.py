"""The newest verdicts of a flow, which the job stores with the latest one. Their number and size are limited.

May be imported by anything; of ours it imports only what the report needs.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationError

from components.contract.clusters import Model
from components.contract.compressed import compressed, uncompressed
from components.contract.depth import Depth
from components.contract.report import Verdict
from components.contract.times import Time
from components.contract.wording import numbered

#: The entry of the ConfigMap, in its binaryData.
HISTORY = "history.json.gz"
VERSION = 1
#: This many verdicts are kept, and fewer if they take more bytes.
KEPT, MOST_BYTES = 200, 48 * 1024
#: This many codes of a verdict, and this many sentences about losses, are kept.
MOST_CODES, _MOST_LOST = 10, 5


_Number: TypeAlias = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]


class PastCheck(Model):
    """A check's verdict and its counts."""

    verdict: Verdict
    counts: dict[StrictStr, _Number] = Field(default_factory=dict)


class PastVerdict(Model):
    """One verdict. `time` is in ISO 8601; `digest` is that of the deployed model.

    A failover at that time would have lost `loses` seconds; groups would have read `reads_again` records again and
    skipped `skips` records. They are None if they were not proven. `codes` are those of the findings that decided the
    verdict.
    """

    time: Time
    depth: Depth
    digest: StrictStr
    verdict: Verdict
    loses: _Number | None = None
    reads_again: _Number | None = None
    skips: _Number | None = None
    codes: tuple[StrictStr, ...] = ()
    checks: dict[StrictStr, PastCheck] = Field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Seconds since 1970."""
        return datetime.fromisoformat(self.time).timestamp()

    def count(self, check: str, name: str) -> float | None:
        """What a check counted; None if it did not count that."""
        found = self.checks.get(check)
        return found.counts.get(name) if found is not None else None


@dataclass(frozen=True)
class History:
    """The verdicts that are kept, oldest first. `dropped` is how many older ones were dropped to make room.

    `lost` has sentences about verdicts lost to earlier damage; `damage` says what cannot be read now.
    """

    verdicts: tuple[PastVerdict, ...] = ()
    dropped: int = 0
    lost: tuple[str, ...] = field(default=())
    damage: str = ""

    @property
    def losses(self) -> tuple[str, ...]:
        """Sentences for the reader about missing verdicts, other than the oldest ones."""
        return (*self.lost, *([self.damage] if self.damage else []))

    def followed_by(self, verdict: PastVerdict) -> "History":
        """The history with a newer verdict; damage is noted with the time of that verdict."""
        every = (*self.verdicts, verdict)
        noted = [f"noticed at {verdict.time}: {self.damage}"] if self.damage else []
        lost = (*self.lost, *noted)[-_MOST_LOST:]
        return History(every[-KEPT:], self.dropped + max(0, len(every) - KEPT), lost)


def packed_history(history: History) -> bytes:
    """The history in the form that `read_history` reads, not yet in base64. If it is too long, the oldest verdicts are
    dropped.
    """
    packed = _packed(history)
    while len(packed) > MOST_BYTES and len(history.verdicts) > 1:
        # Judging by size, this share would fit; a tenth less is kept, because verdicts compress differently.
        share = 0.9 * MOST_BYTES / len(packed)
        keep = max(1, min(len(history.verdicts) - 1, int(len(history.verdicts) * share)))
        dropped = history.dropped + len(history.verdicts) - keep
        history = History(history.verdicts[-keep:], dropped, history.lost)
        packed = _packed(history)
    return packed


def history_entry(history: History) -> str:
    """The history as the entry of a ConfigMap."""
    return base64.b64encode(packed_history(history)).decode()


def _packed(history: History) -> bytes:
    document = {
        "version": VERSION,
        "dropped": history.dropped,
        "lost": list(history.lost),
        "verdicts": [each.document() for each in history.verdicts],
    }
    return compressed(document)


def read_history(data: Mapping[str, str]) -> History:
    """The history among the entries of a ConfigMap. `damage` names what cannot be read; the rest is returned."""
    if HISTORY not in data:
        return History()
    try:
        document = uncompressed(data[HISTORY])
    except ValueError:
        return History(damage="all earlier verdicts are lost: the history cannot be unpacked")
    if isinstance(document, dict) and document.get("version") != VERSION:
        return History(damage="all earlier verdicts are lost: another release of the job wrote the history")
    if not isinstance(document, dict) or not isinstance(document.get("verdicts"), list):
        return History(damage="all earlier verdicts are lost: the content of the history is invalid")
    return _read(document)


def _read(document: Mapping[str, Any]) -> History:
    found, unreadable = [], 0
    for each in document["verdicts"]:
        try:
            found.append(PastVerdict.model_validate(each))
        except ValidationError:
            unreadable += 1
    damage = ""
    if unreadable:
        damage = f"{numbered(unreadable, 'earlier verdict[|s] [is|are]')} lost, because the history was damaged"
    dropped, lost = document.get("dropped"), document.get("lost")
    return History(
        tuple(found[-KEPT:]),
        dropped if isinstance(dropped, int) and dropped >= 0 else 0,
        tuple(each for each in lost if isinstance(each, str)) if isinstance(lost, list) else (),
        damage,
    )
