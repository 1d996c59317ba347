"""Objects that stand for what was read as properties and not as a Kubernetes object."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from infra.importing.left_out import LeftOut
from infra.importing.reading import ReadObject

_IN_OBJECT = "spec.", "config."


@dataclass(frozen=True)
class ReadProperties(ReadObject):
    """Workers or a connector whose logins are client properties; `origins` has the key of the file for each property.

    `part` is the part of the file that they stand for, "" for all of it.
    """

    part: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.part

    def left_out(self, where: str, code: str, why: str, remedy: str) -> LeftOut:
        key = where
        for prefix in _IN_OBJECT:
            key = key.removeprefix(prefix)
        below = (origin for name, origin in self.origins.items() if name.startswith(f"{key}."))
        return LeftOut(self.file, self.part, self.origins.get(key) or next(below, key), code, why, remedy)
