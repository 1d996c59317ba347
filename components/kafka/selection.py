"""Which topics or groups a connector selects, by the rules of MirrorMaker's filters."""

from collections.abc import Iterable
from dataclasses import dataclass

from components.kafka.patterns import matches, matches_any

#: Source: DefaultGroupFilter.GROUPS_EXCLUDE_DEFAULT.
DEFAULT_GROUPS_EXCLUDE = ("console-consumer-.*", "connect-.*", "__.*")
#: A name that only a catch-all pattern matches.
_ANY_NAME = "zq7x1-any-name-at-all"


def is_for_everything(pattern: str) -> bool:
    """Whether a pattern was written to select every name."""
    return matches(pattern, _ANY_NAME)


@dataclass(frozen=True)
class Selection:
    """Names and patterns that are selected, and those that are excluded from them; each matches whole names.

    Source: DefaultTopicFilter, DefaultGroupFilter.
    """

    patterns: tuple[str, ...]
    excluded: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return matches_any(self.patterns, name) and not matches_any(self.excluded, name)

    def of(self, names: Iterable[str]) -> list[str]:
        """The names that are selected, sorted."""
        return sorted(name for name in names if name in self)

    def excluded_of(self, names: Iterable[str]) -> list[str]:
        """The names that a pattern selects and an exclusion removes, sorted."""
        return sorted(name for name in names if matches_any(self.patterns, name) and name not in self)
