"""The document that `replicate status` prints as JSON."""

from enum import StrEnum

from kafka_replication.components.contract.parameters import DocumentPart, Shape
from kafka_replication.components.contract.report import Verdict
from kafka_replication.infra.operate.status.facts import LoginFacts


class Kind(StrEnum):
    """Why a flow could not fail over: something is wrong, something is unknown, or the flow does not support it."""

    PROBLEM = "problem"
    UNASKED = "unasked"
    DESIGN = "design"


class Reason(DocumentPart):
    kind: Kind
    text: str


class ConnectorStatus(DocumentPart):
    """`state` is what Connect reported when the operator last asked, and empty if it reported nothing."""

    name: str
    role: str
    resource: str
    wanted: str
    state: str
    tasks: int
    running_tasks: int
    failures: tuple[str, ...] = ()
    problem: str = ""
    temporary: str = ""


class PartitionStatus(DocumentPart):
    """`position` is the source offset below which everything is on the target."""

    partition: str
    records: int
    seconds: float | None = None
    position: int = 0


class LagStatus(DocumentPart):
    """`records` is an upper bound, `seconds` the age of the oldest one, and `ends` the sum of all end offsets."""

    records: int
    seconds: float | None
    partitions: int
    behind: int
    most: tuple[PartitionStatus, ...]
    missing_topics: tuple[str, ...]
    ends: int = 0


class DeletionStatus(DocumentPart):
    """`seconds` until the source may delete the first record that has not crossed. `near`: most of its retention is
    over.
    """

    partition: str
    seconds: float
    near: bool


class GapStatus(DocumentPart):
    """How many offsets the source has deleted before they crossed."""

    partition: str
    at_least: int
    at_most: int


class StopStatus(DocumentPart):
    """The offset at which the source connector has stopped, and those that the source's log has, from `start` to before
    `end`. If not `certain`, it may have stored no later offset yet.
    """

    partition: str
    position: int
    start: int
    end: int
    certain: bool


class ReplacedStatus(DocumentPart):
    """Topics of a cluster that were created again, and partitions whose log lost its end."""

    cluster: str
    recreated: tuple[str, ...]
    cut: tuple[str, ...]


class LossesStatus(DocumentPart):
    """`near` counts the partitions near a deletion. `deletions` begins with the soonest, `gaps` with the largest.
    `stopped` and `unstarted` name partitions that replicate nothing until somebody says where to continue.
    """

    near: int
    at_least: int
    at_most: int
    deletions: tuple[DeletionStatus, ...]
    gaps: tuple[GapStatus, ...]
    replaced: tuple[ReplacedStatus, ...] = ()
    stopped: tuple[StopStatus, ...] = ()
    unstarted: tuple[str, ...] = ()


class GroupStatus(DocumentPart):
    """`records` is an upper bound; `without_position` lists source partitions without a position on the target."""

    name: str
    records: int
    without_position: tuple[str, ...] = ()


class GroupsStatus(DocumentPart):
    groups: int
    records: int
    most: tuple[GroupStatus, ...]


class VerdictStatus(DocumentPart):
    verdict: Verdict
    time: str
    age_seconds: float
    current: bool
    failed_checks: tuple[str, ...] = ()


class ApplicationsStatus(DocumentPart):
    """What the applications lack on the target, and what was not judged. Quotas are never judged."""

    summary: str
    missing: tuple[str, ...]
    not_judged: tuple[str, ...]
    age_seconds: float


class FlowStatus(DocumentPart):
    """The status of one flow. What could not be asked is null and named in `unasked`; `reasons` say why. A failover
    does not need the connectors' logins, so a login that could not be tried is no reason; it has its own explanation.
    A failover also moves groups whose applications lack something, so `applications` are no reason either; null if
    nobody asked.
    """

    name: str
    replication: str
    shape: Shape
    source: str
    target: str
    could_fail_over: bool
    reasons: tuple[Reason, ...]
    connectors: tuple[ConnectorStatus, ...] | None
    heartbeat_seconds: float | None
    lag: LagStatus | None
    read_again: GroupsStatus | None
    verdict: VerdictStatus | None
    losses: LossesStatus | None = None
    logins: tuple[LoginFacts, ...] = ()
    kept_seconds: float | None = None
    applications: ApplicationsStatus | None = None
    unasked: tuple[str, ...]

    @property
    def by_design(self) -> bool:
        """Return whether the flow translates no offsets, by design."""
        return any(reason.kind is Kind.DESIGN for reason in self.reasons)


class StackStatus(DocumentPart):
    """The flows of one stack."""

    stack: str
    flows: tuple[FlowStatus, ...]


class StatusDocument(DocumentPart):
    """Version 1 of the document. `asked_at` is in ISO 8601."""

    version: int = 1
    asked_at: str
    stacks: tuple[StackStatus, ...]

    @property
    def exit_code(self) -> int:
        """Return 1 if something is wrong, else 2 if something could not be asked, else 0."""
        kinds = {reason.kind for stack in self.stacks for flow in stack.flows for reason in flow.reasons}
        return 1 if Kind.PROBLEM in kinds else 2 if Kind.UNASKED in kinds else 0
