"""Names of replications: valid in Kubernetes, unique, and as close as possible to the input."""

import re
from dataclasses import dataclass, field

from components.topology.clusters import is_label


@dataclass
class Names:
    """The names that replications have so far."""

    taken: set[str] = field(default_factory=set)

    def free(self, given: str, namespace: str = "", kind: str = "mm2") -> str:
        """Take a name that no other replication has; `namespace` and `kind` distinguish it from another of the same
        name.
        """
        plain = plain_name(given, kind)
        wanted = [plain, *([f"{namespace}-{plain}", f"{namespace}-{plain}-{kind}"] if namespace else [])]
        numbered = (f"{plain}-{number}" for number in range(2, len(self.taken) + 3))
        name = next(each for each in (*wanted, *numbered) if each not in self.taken)
        self.taken.add(name)
        return name


def plain_name(given: str, kind: str = "mm2") -> str:
    """The text as a Kubernetes name, if it is not too long; the kind if no part of it can be in a name."""
    return given if is_label(given) else re.sub("[^a-z0-9-]+", "-", given.lower()).strip("-") or kind


def why_named(name: str, wanted: str, what: str, aliases: list[str]) -> str:
    """Say why a replication does not have the name that the input suggests; `what` is what was read."""
    plain = plain_name(wanted)
    reasons = [
        *([] if is_label(wanted) else [f"`{wanted}` is not a valid name in Kubernetes"]),
        *([] if plain == name else [f"`{plain}` is the name of another replication"]),
    ]
    return f"{name}: {what}. {', and '.join(reasons)}.{_kept([each for each in aliases if not is_label(each)])}"


def _kept(aliases: list[str]) -> str:
    names = ", ".join(f"`{each}`" for each in aliases)
    if len(aliases) > 1:
        return f" The aliases {names} stay: MirrorMaker names topics after them."
    return f" The alias {names} stays: MirrorMaker names topics after it." if aliases else ""
