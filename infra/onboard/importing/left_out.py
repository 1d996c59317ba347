"""What an import does not take over, each with its reason. Nothing that is read is dropped without one."""

from dataclasses import dataclass

#: Codes of things whose omission affects no record and no offset.
_HARMLESS = frozenset(
    {"stays-as-it-is", "label-of-a-tool", "operation-once", "other-connector", "no-mirror-connectors", "without-effect"}
)
#: Codes of mistakes: what runs does not work, whether it is taken over or not.
_MISTAKES = frozenset({"connectors-disagree"})


@dataclass(frozen=True, order=True)
class LeftOut:
    """A part of the input that the topology does not express.

    `file` is what was read, `obj` the object in it such as `KafkaConnect kafka/repl`, `field` the path in the object,
    "" for all of it. No field may hold a credential.
    """

    file: str
    obj: str
    field: str
    code: str
    why: str
    remedy: str

    @property
    def harmless(self) -> bool:
        """Whether replication is the same without it."""
        return self.code in _HARMLESS

    @property
    def mistake(self) -> bool:
        """Whether replication does not work as it is."""
        return self.code in _MISTAKES

    def __str__(self) -> str:
        where = ", ".join(each for each in (self.file, self.obj, self.field) if each)
        return f"{self.code}: {where}. {self.why} Remedy: {self.remedy}"
